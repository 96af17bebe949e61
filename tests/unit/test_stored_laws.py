"""A spoilt graph, identification or mask is one sentence before a stage of `afape` uses it."""

import json
from typing import Any

import numpy as np
import pytest
from frugal.core.errors import DataError, FrugalError
from frugal.core.table import Panel, Table
from frugal.data.tables import table_from_frames, table_to_frames
from frugal.missing.graphs import MissingnessGraph, parse_graph
from frugal.missing.identification import identify
from frugal.studies.afape.stored import require_law

from tests.unit.spoiling import DELETE, NASTY, places, sentence_of, spoilt

N = 40


def table() -> Table:
    rng = np.random.default_rng(0)
    panels = (
        Panel("free", ("a",), 0.0, True),
        Panel("p", ("b",), 1.0, False),
        Panel("q", ("c",), 2.0, False),
    )
    return Table(
        np.arange(N),
        rng.normal(size=(N, 3)),
        ("a", "b", "c"),
        (),
        np.arange(N) % 2,
        ("no", "yes"),
        panels,
        np.array([[0.0, 1.0], [2.0, 0.0]]),
    )


def stored() -> tuple[Any, Any, Any]:
    import pandas as pd

    data = table()
    law = {
        "panels": {
            "p": {"intercept": 1.0, "values": {"a": 0.5}},
            "q": {"intercept": 0.5, "indicators": {"p": 1.0}},
        },
        "standardise": False,
    }
    graph = parse_graph("m", law, data)
    known = identify(graph, data, s=None).to_dict()
    masks = pd.DataFrame({"seed": np.repeat([0, 1], N), "row_id": np.tile(data.row_id, 2)})
    rng = np.random.default_rng(1)
    for panel in ("p", "q"):
        masks[f"observed:{panel}"] = rng.random(2 * N) < 0.7
        masks[f"probability:{panel}"] = 0.7
    document = json.loads(json.dumps(graph.to_dict() | {"source": "induced"}))
    return document, json.loads(json.dumps(known)), masks


def test_what_is_stored_is_accepted():
    require_law(*stored(), table())


@pytest.mark.parametrize("which", [0, 1])
def test_spoilt_documents_are_one_sentence_or_read(which):
    good, data = stored(), table()
    for place in places(good[which]):
        for value in (*NASTY, DELETE):
            wrong = list(good)
            wrong[which] = spoilt(good[which], place, value)

            def work(wrong: list[Any] = wrong) -> None:
                require_law(wrong[0], wrong[1], wrong[2], data)
                MissingnessGraph.from_dict(wrong[0])

            said = sentence_of(work)
            if value is DELETE and isinstance(place[-1], str) and len(place) == 1:
                assert said is not None, place


@pytest.mark.parametrize(
    ("place", "value", "words"),
    [
        (("indicators", "p", "intercept"), float("nan"), "at indicators.p.intercept is 'nan'"),
        (("indicators", "p", "values"), {"z": 1.0}, "column that causes missingness 'z'"),
        (("indicators", "p", "indicators"), {"q": 1.0}, "has the cycle"),
        (("source",), "guessed", "has the source 'guessed'; allowed are induced, own"),
    ],
)
def test_the_sentence_says_where(place, value, words):
    graph, known, masks = stored()
    with pytest.raises(FrugalError, match=words):
        require_law(spoilt(graph, place, value), known, masks, table())


def test_spoilt_masks_are_one_sentence():
    graph, known, masks = stored()
    wrong = {
        "lack the column 'observed:p'": masks.drop(columns="observed:p"),
        "is of type float64": masks.assign(**{"observed:p": 1.0}),
        "'probability:q' of the stored masks leaves": masks.assign(**{"probability:q": np.nan}),
        "'probability:p' of the stored masks leaves": masks.assign(**{"probability:p": 1.5}),
        "seed 1 of the stored masks has 39 rows": masks.iloc[:-1],
        "seed 1 of the stored masks has 40 rows": masks.iloc[::-1],
    }
    for words, frame in wrong.items():
        with pytest.raises(DataError, match=words):
            require_law(graph, known, frame, table())


def _frames() -> tuple[Any, Any]:
    frame, catalogue = table_to_frames(table(), np.full(N, "test"))
    return frame, json.loads(json.dumps(catalogue))


def test_spoilt_catalogues_are_one_sentence_or_read():
    frame, catalogue = _frames()
    for place in places(catalogue):
        for value in (*NASTY, DELETE):
            wrong = spoilt(catalogue, place, value)
            sentence_of(lambda wrong=wrong: table_from_frames(frame, wrong))


def test_spoilt_tables_are_one_sentence():
    frame, catalogue = _frames()
    wrong = {
        "'label' of the stored table is of type float64": frame.assign(label=0.5),
        "labels of the stored table run from 0 to 2": frame.assign(label=np.arange(N) % 3),
        "labels of the stored table run from -2 to 0": frame.assign(label=-2 * (np.arange(N) % 2)),
        "20 of 40 rows have no label": frame.assign(label=-(np.arange(N) % 2)),
        "has a row_id twice": frame.assign(row_id=1),
        "column 'b' of the stored table": frame.assign(b=np.inf),
        "column 'c' of the stored table": frame.assign(c="x"),
        "lacks column 'a'": frame.drop(columns="a"),
    }
    for words, spoilt_frame in wrong.items():
        with pytest.raises(DataError, match=words):
            table_from_frames(spoilt_frame, catalogue)
