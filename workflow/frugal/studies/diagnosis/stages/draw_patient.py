"""Stage `draw_patient`: one patient on demand, under the policy that a budget leads to.

Which panel was ordered after which value, and how the belief moved. Also run by hand; the page of
the study shows the command.
"""

from collections.abc import Callable, Mapping
from typing import Any

import pandas as pd

from frugal.core.errors import DataError
from frugal.core.streams import Streams
from frugal.data.tables import table_from_frames
from frugal.draw.figures import outputs_of
from frugal.studies.diagnosis.choice import chosen_solution
from frugal.studies.diagnosis.figures.patients import patients_figure
from frugal.studies.diagnosis.frames import JUDGED
from frugal.studies.diagnosis.patient_frames import patient_steps


def draw_patient(
    *,
    table: pd.DataFrame,
    catalogue: Mapping[str, Any],
    scores: pd.DataFrame,
    outcomes: pd.DataFrame,
    decisions: pd.DataFrame,
    settings: Mapping[str, Any],
    streams: Streams,
    progress: Callable[..., Any],
) -> dict[str, Any]:
    """Draw the unit `row_id` of the settings; `budget` and `score` choose the policy.

    Raises:
        DataError: the unit is not among those that policies were judged on.
        ConfigError: nothing fits the budget.
    """
    del streams, progress
    data, _ = table_from_frames(table, catalogue)
    policy = chosen_solution(scores, budget=float(settings["budget"]), score=settings["score"])
    row_id = int(settings["row_id"])
    mine, log = (
        frame[
            (frame["row_id"] == row_id)
            & (frame["member"] == policy["pair"])
            & (frame["policy"] == policy["method"])
        ]
        for frame in (outcomes, decisions)
    )
    if mine.empty:
        judged = outcomes["row_id"].drop_duplicates()
        raise DataError(
            f"row_id {row_id} is not among the {len(judged)} units of the parts "
            f"{' and '.join(JUDGED)}, on which policies are judged; such are "
            f"{', '.join(str(v) for v in judged.head(5))}"
        )
    units = {c["name"]: c["unit"] or "" for c in catalogue["columns"]}
    steps = patient_steps(data, units, mine, log, [row_id])
    report = catalogue["report"]
    title = f"{report['title']}: policy {int(policy['pair'])} of {policy['method']}"
    figure = patients_figure(steps, cost_unit=report["cost_unit"], title=title)
    return outputs_of("patient", figure, steps)
