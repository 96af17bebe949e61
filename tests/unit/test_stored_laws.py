"""A spoilt graph, identification or mask is one sentence before a stage of `afape` uses it."""

import json
from typing import Any

import numpy as np
import pytest
from frugal.answer.stored import require_graph, require_masks
from frugal.core.table import Panel, Table
from frugal.data.tables import table_from_frames, table_to_frames
from frugal.missing.graphs import MissingnessGraph, parse_graph
from frugal.missing.identification import identify

from tests.unit.spoiling import DELETE, NASTY, places, sentence_of, spoilt

N = 40

LAW = {"source": "induced", "unsupported": [], "fewest_recorded": []}


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
    document = json.loads(json.dumps(graph.to_dict() | LAW))
    return document, json.loads(json.dumps(known)), masks


def test_what_is_stored_is_accepted():
    graph, known, masks = stored()
    require_graph(graph, known, table())
    require_masks(masks, table())


@pytest.mark.parametrize("which", [0, 1])
def test_spoilt_documents_are_one_sentence_or_read(which):
    good, data = stored(), table()
    for place in places(good[which]):
        for value in (*NASTY, DELETE):
            wrong = list(good)
            wrong[which] = spoilt(good[which], place, value)

            def work(wrong: list[Any] = wrong) -> None:
                require_graph(wrong[0], wrong[1], data)
                MissingnessGraph.from_dict(wrong[0])

            said = sentence_of(work)
            if value is DELETE and isinstance(place[-1], str) and len(place) == 1:
                assert said is not None, place


def _frames() -> tuple[Any, Any]:
    frame, catalogue = table_to_frames(table(), np.full(N, "test"))
    return frame, json.loads(json.dumps(catalogue))


def test_spoilt_catalogues_are_one_sentence_or_read():
    frame, catalogue = _frames()
    for place in places(catalogue):
        for value in (*NASTY, DELETE):
            wrong = spoilt(catalogue, place, value)
            sentence_of(lambda wrong=wrong: table_from_frames(frame, wrong))
