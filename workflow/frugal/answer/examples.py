"""Cases of the records, step by step under the policy that is handed out; numbers are rounded."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from frugal.core.episodes import REFERRED
from frugal.core.table import Table
from frugal.judge.semi_offline import Paths

MOST = 3


def examples_of(paths: Paths, data: Table) -> list[list[list[str]]]:
    """Steps of a case of each of the most frequent ways through the panels, at most `MOST`.

    Of each way it is the case of the middle probability at the start.

    Args:
        paths: of the policy, within the missingness model.
        data: the records.

    Returns:
        For each case its steps: what is known, the probability of the last class, what follows.
    """
    ended, order = paths.complete, data.content_order
    by_order: dict[bytes, list[int]] = {}
    for row in order[ended[order]].tolist():
        steps = np.append(paths.order[row], paths.verdict[row])
        by_order.setdefault(steps.tobytes(), []).append(row)
    cases = []
    for rows in sorted(by_order.values(), key=len, reverse=True)[:MOST]:  # stable: ties by content
        rows.sort(key=lambda row: float(paths.belief[row, 0, -1]))
        cases.append(_steps(paths, data, rows[len(rows) // 2]))
    return cases


def _steps(paths: Paths, data: Table, row: int) -> list[list[str]]:
    columns = [name for panel in data.panels if panel.free for name in panel.columns]
    steps, risk, ordered = [], paths.belief[row, 0, -1], []
    for step in range(paths.held[row]):
        ordered.append(data.actions[int(paths.order[row, step])])
        after = paths.belief[row, step + 1, -1]
        if np.isfinite(after):
            names = " and ".join(panel.name for panel in ordered)
            steps.append([_known(data, row, columns), _share(risk), f"order {names}"])
            columns, risk, ordered = [n for panel in ordered for n in panel.columns], after, []
    decided = (*data.classes, REFERRED)[int(paths.verdict[row])]
    end = "hand over to a person" if decided == REFERRED else f"stop, decide {decided!r}"
    return [*steps, [_known(data, row, columns), _share(risk), end]]


def _share(risk: float) -> str:
    return f"{float(f'{100 * risk:.2g}'):g} %" if np.isfinite(risk) else ""


def _known(data: Table, row: int, columns: Sequence[str]) -> str:
    """Values of columns: levels by name, numbers in three figures."""
    at = {name: k for k, name in enumerate(data.columns)}
    of_category = {k for group in data.onehot for k in group}
    texts = []
    for name in dict.fromkeys(columns):
        value = data.values[row, at[name]]
        if at[name] in of_category:
            texts += [" ".join(name.rsplit("=", 1))] if value == 1 else []
        elif np.isfinite(value):
            texts.append(f"{name} {float(f'{value:.3g}'):,g}")
    return ", ".join(texts) or "nothing"


def example_tables(choice: Mapping[str, Any], classes: Sequence[str]) -> dict[str, pd.DataFrame]:
    """Line on a case → its steps, as the page shows them."""
    risk = "risk" if len(classes) == 2 else f"probability of {classes[-1]}"
    return {
        f"A case with {case[0][0]}": pd.DataFrame(case, columns=["known", risk, "next"])
        for case in choice["examples"]
    }
