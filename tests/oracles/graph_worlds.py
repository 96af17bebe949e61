"""Records with gaps by a known graph, and what the check says of it or of a wrong one."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from frugal.core.context import Context
from frugal.core.streams import Streams
from frugal.core.table import Panel, Table, random_folds
from frugal.data.tables import panel_columns, table_to_frames
from frugal.judge.case import Records
from frugal.learn.nuisance_choice import fit_probabilities
from frugal.missing.graphs import parse_graph
from frugal.missing.identification import identify
from frugal.studies.afape.stages.records import check_graph

from tests.defaults import DEFAULT

ODDS = np.log(3.0)
PLAIN = DEFAULT["afape"]["nuisance"]
NUISANCE: dict[str, Any] = {**PLAIN, "method": "logistic", "logistic": {"C": 0.1}}  # of few rows

# What the graph says of each panel. `overlap`: A and B hold s, and B follows from C, so that the
# law of C is that of records with A; `tube`: A and B are always missing together.
GRAPHS: Mapping[str, Mapping[str, Any]] = {
    "plain": {"A": {"values": ["x0"]}, "B": {}},
    "R → R": {
        "A": {"values": ["x0"]},
        "B": {"values": ["x1"], "indicators": ["A"]},
        "C": {"indicators": ["B"]},
    },
    "overlap": {"A": {"values": ["x0"]}, "B": {"indicators": ["C"]}, "C": {"values": ["s"]}},
    "tube": {"A": {"values": ["x0"]}, "B": {"values": ["x0"], "indicators": ["A"]}},
}
DOUBLED = 60  # rows that stand twice in the world "doubled"


def _logit(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def records(
    rng: np.random.Generator,
    n: int,
    kind: str = "plain",
    *,
    edge: float = 0.0,
    column: float = 0.0,
    label: float = 0.0,
    shift: tuple[float, float] = (0.3, 0.0),
) -> tuple[Table, np.ndarray]:
    """A table, and which of the panels A, B and C each row has. (n, 3)

    Args:
        rng: of all draws.
        n: rows.
        kind: of the graph, or "doubled": "plain" with rows that stand twice.
        edge: log-odds of an edge R → R that the graph lacks: A → B, of "R → R" A → C.
        column: log-odds of x1 as a cause of A, which the graph lacks.
        label: the same of the label.
        shift: log-odds that A and B are recorded, all else being average.
    """
    x = rng.normal(size=(n, 7))  # x0, x1, x2, a, b, c, s
    x[:, 2] += 0.5 * x[:, 0]
    x[:, 6] += 0.5 * x[:, 1]
    ill = rng.random(n) < _logit(x[:, 0] + x[:, 2])
    uniform = rng.random((n, 3))
    a = uniform[:, 0] < _logit(shift[0] + x[:, 0] + column * x[:, 1] + label * ill)
    c = uniform[:, 2] < _logit(x[:, 6]) if kind == "overlap" else np.ones(n, dtype=bool)
    logit = shift[1] + {
        "R → R": 2 * ODDS * (a - 0.5) + x[:, 1],
        "overlap": 2 * ODDS * (c - 0.5),
    }.get(kind, np.zeros(n))
    b = uniform[:, 1] < _logit(logit + edge * (kind != "R → R") * (a - 0.5))
    if kind == "tube":
        b = a
    if kind == "R → R":
        c = uniform[:, 2] < _logit(2 * ODDS * (b - 0.5) + edge * (a - 0.5))
    shared = ("s",) if kind == "overlap" else ()
    last = Panel("free", ("x0", "x1", "x2", *(() if shared else ("s",))), 0.0, True)
    panels = [
        Panel(name, (name.lower(), *(shared if name < "C" else ())), 1.0, False) for name in "ABC"
    ]
    table = Table(
        row_id=np.arange(n),
        values=x,
        columns=("x0", "x1", "x2", "a", "b", "c", "s"),
        onehot=(),
        label=ill.astype(np.int64),
        classes=("no", "ill"),
        panels=(last, *panels),
        misclassification_cost=1.0 - np.eye(2),
    )
    rows = np.arange(n)
    if kind == "doubled":
        rows = np.append(rows[DOUBLED:], rng.choice(rows[DOUBLED:], DOUBLED, replace=False))
    table = table.take(rows)
    table.row_id[:] = np.arange(n)
    return table, np.stack([a, b, c], axis=1)[rows]


def checked(
    rng: np.random.Generator, n: int = 500, kind: str = "plain", **wrong: Any
) -> dict[str, Any]:
    """What the stage says of records, whose probabilities are fitted by `NUISANCE`.

    Returns:
        `refuted`, `sentence` and `contrasts`, the largest score first.
    """
    table, observed = records(rng, n, kind, **wrong)
    return checked_graph(table, observed, GRAPHS.get(kind, GRAPHS["plain"]), rng)


def checked_graph(
    table: Table, observed: np.ndarray, causes: Mapping[str, Any], rng: np.random.Generator
) -> dict[str, Any]:
    """The same of a table, its gaps and a graph: panel → `values` and `indicators`."""
    graph = parse_graph("own", {"source": "own", "panels": causes}, table)
    known = identify(graph, table, s=None).to_dict()
    parents = {panel: set(law.indicators) for panel, law in graph.indicators.items()}
    given = Records(table, observed, known, parents, {})
    heads = [given.factor_head(factor) for factor in known["factors"]]
    rule = {"fold": random_folds(None, len(table), NUISANCE["folds"], rng)}
    fits = fit_probabilities(
        heads, rule=rule, method=NUISANCE["method"], settings=NUISANCE, rng=rng
    )
    factors = {f["panel"]: fit.values for f, fit in zip(known["factors"], fits, strict=True)}
    names = [panel.name for panel in table.actions]
    fitted = pd.DataFrame(
        dict(zip(panel_columns("factor", table), (factors.get(p, 1.0) for p in names), strict=True))
        | {"row_id": table.row_id, "seed": 0}
    )
    masks = pd.DataFrame(observed, columns=panel_columns("observed", table))
    frame, catalogue = table_to_frames(table, np.full(len(table), "test"))
    made = check_graph(
        table=frame,
        catalogue=catalogue,
        masks=masks.assign(row_id=table.row_id, seed=0),
        identification=known,
        propensities=fitted,
        context=Context({}, Streams(int(rng.integers(2**31)), "check_graph", {})),
    )
    (row,) = made["graph_check"].to_dict("records")
    return {
        "refuted": bool(row["graph_refuted"]),
        "sentence": row["sentence"],
        "contrasts": made["contrasts"],
    }
