"""Stages that do some seeds, or some rows: together they make what one job makes, to the byte."""

from collections.abc import Mapping
from io import BytesIO
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from frugal.answer.stages.agents import roll_out
from frugal.answer.stages.data import fit_classifier
from frugal.core import blocks
from frugal.core.blocks import FULL_PORTION, Portion
from frugal.core.context import Context
from frugal.core.errors import DataError
from frugal.core.rows import FrameRows, Partitions
from frugal.core.streams import Streams
from frugal.results.files import payload_bytes
from frugal.results.replacing import collected
from frugal.studies.afape.stages.estimates import estimate_costs, fit_nuisances, join_seeds
from frugal.studies.afape.stages.records import check_graph, impute_features

from tests.unit.afape_chain import CLASSIFIER, EVALUATION, NUISANCE, draw, frames, small_table
from tests.unit.test_blocks import AGENTS as EVERY
from tests.unit.test_blocks import CAUSES, LAW, N, belonging

ROOT = Path(__file__).parents[3]
AGENTS = {name: EVERY[name] for name in ("half", "rule")}
SEEDS = (3, 0, 7)
CHAINED: dict[str, Any] = {"rounds": 1, "trees": 3, "leaves": 4, "learning_rate": 0.3}
CHAINED |= {"min_leaf": 20, "linear_penalty": 1.0}
IMPUTATION = {"chained_trees": CHAINED, "missforest": None, "multiple": None}
BLOCK = 700  # rows; there are three blocks
ROWS = ("0-699", "700-on")


class _Scenario:
    """A table with masks, judged by one job or by several."""

    def __init__(self, source: str, own: Any) -> None:
        gaps = None if source == "induced" else {"P2": 0.2, "P3": 0.3}
        law = LAW if source == "induced" else CAUSES
        table = small_table(N, gaps=gaps)
        frame, catalogue = frames(table, belonging=own)
        self.stored: dict[str, Any] = {"table": frame, "catalogue": catalogue}
        self.drawn = draw(table, law, source=source, seeds=SEEDS)
        self.classifier = fit_classifier(
            **self.stored, context=self.common("fit_classifier", CLASSIFIER)
        )["classifier"]

    def common(self, stage: str, settings: Any, **more: str) -> Context:
        streams = Streams(1, stage, {"dataset": "d", "mechanism": "m", **more})
        return Context(settings, streams)

    def imputed(self, portion: Portion) -> dict[str, pd.DataFrame]:
        return collected(
            impute_features(
                **self.stored,
                masks=self.drawn["masks"],
                portion=portion,
                context=self.common("impute_features", IMPUTATION),
            )
        )

    def played(self, agent: str, imputed: Mapping[str, Any], portion: Portion) -> dict[str, Any]:
        return collected(
            roll_out(
                **self.stored,
                **self.drawn,
                **imputed,
                classifier=self.classifier,
                portion=portion,
                context=self.common("roll_out", AGENTS[agent], agent=agent),
            )
        )

    def of_seeds(self, name: str | None, rows: tuple[str | None, ...]) -> dict[str, Any]:
        """All that one portion of the seeds makes; its roll-outs in portions of the rows."""
        keys = {} if name is None else {"seeds": name}
        portion = Portion.of(keys)
        imputed = self.imputed(portion)
        folders, blocked, worlds, decisions = [], [], [], []
        for agent in AGENTS:
            for some in rows:
                here = keys | ({} if some is None else {"rows": some})
                made = self.played(agent, imputed, Portion.of(here))
                folders.append({**here, "agent": agent})
                blocked.append(made["blocked"])
                worlds.append(made["worlds"])
                decisions.append(made["decisions"].assign(agent=agent))
        episodes = _partitions(folders, blocked), _partitions(folders, worlds)
        given = {**self.stored, **self.drawn, "portion": portion}
        settings = {**NUISANCE, "agents": AGENTS, "filed": []}
        nuisances = collected(
            fit_nuisances(
                **given, blocked=episodes[0], context=self.common("fit_nuisances", settings)
            )
        )
        known = {k: v for k, v in given.items() if k != "graph"}
        checked = check_graph(
            **known, propensities=nuisances["propensities"], context=self.common("check_graph", {})
        )
        estimated = estimate_costs(
            **given,
            blocked=episodes[0],
            worlds=episodes[1],
            propensities=nuisances["propensities"],
            agents=nuisances["agents"],
            context=self.common("estimate_costs", EVALUATION),
        )
        return {
            "blocked": episodes[0],
            "worlds": episodes[1],
            "decisions": pd.concat(decisions),
            "tables": {**nuisances, **checked, **estimated},
            "keys": keys,
        }

    def joined(self, parts: list[dict[str, Any]]) -> dict[str, pd.DataFrame]:
        folders = [part["keys"] for part in parts]
        tables: dict[str, Any] = {
            name: _partitions(folders, [part["tables"][name] for part in parts])
            for name in parts[0]["tables"]
        }
        episodes = {name: _chained([p[name] for p in parts]) for name in ("blocked", "worlds")}
        fitted = {name: tables.pop(name) for name in ("propensities", "agents")}
        del tables["efficiency"]
        return join_seeds(
            **self.stored,
            **self.drawn,
            **episodes,
            **fitted,
            context=self.common("join_seeds", EVALUATION),
            **tables,
        )


def _partitions(folders: list[dict[str, str]], tables: list[pd.DataFrame]) -> Partitions:
    """Tables as a stage reads them that others have written."""
    stored = [pd.read_parquet(BytesIO(_bytes(table))) for table in tables]
    return Partitions(folders, lambda k: FrameRows(stored[k]))


def _bytes(table: pd.DataFrame) -> bytes:
    return payload_bytes(Path("table.parquet"), table)


def _chained(parts: list[Partitions]) -> Partitions:
    every = [(part, k) for part in parts for k in range(len(part.folders))]
    return Partitions(
        [part.folders[k] for part, k in every], lambda n: every[n][0].open(every[n][1])
    )


@pytest.mark.trains
@pytest.mark.parametrize(
    ("source", "kind", "rows"),
    [("induced", "plain", BLOCK), ("own", "clusters", BLOCK), ("own", "plain", N)],
)
def test_all_portions_are_what_one_job_makes(monkeypatch, source, kind, rows):
    monkeypatch.setattr(blocks, "BLOCK_ROWS", rows)
    scenario = _Scenario(source, belonging(kind))
    one = scenario.of_seeds(None, (None,))["tables"]
    some_rows = ROWS if rows == BLOCK else (None,)
    parts = [scenario.of_seeds(name, some_rows) for name in ("3+0", "7")]
    joined = scenario.joined(parts)
    assert set(joined) == set(one) - {"propensities", "agents"}
    for name, frame in joined.items():
        pd.testing.assert_frame_equal(frame, one[name], check_exact=True)
        assert _bytes(frame) == _bytes(one[name]), name
    with pytest.raises(DataError, match=r"portions of seeds \[3, 0\] were given; allowed are"):
        scenario.joined(parts[:1])


@pytest.mark.trains
def test_portions_of_rows_play_what_one_job_plays(monkeypatch):
    monkeypatch.setattr(blocks, "BLOCK_ROWS", BLOCK)
    scenario = _Scenario("induced", None)
    imputed = scenario.imputed(FULL_PORTION)
    for agent in AGENTS:
        every = scenario.played(agent, imputed, FULL_PORTION)
        parts = [scenario.played(agent, imputed, Portion.of({"rows": rows})) for rows in ROWS]
        beyond = scenario.played(agent, imputed, Portion.of({"rows": "5000-on"}))
        for name, frame in every.items():
            found = pd.concat([part[name] for part in parts], ignore_index=True)
            pd.testing.assert_frame_equal(found, frame, check_exact=True)
            assert len(beyond[name]) == 0
            assert list(beyond[name].columns) == list(frame.columns)


@pytest.mark.trains
def test_a_seed_without_a_contrast_has_columns_of_their_types():
    never = {"P2": {"intercept": 90.0}, "P3": {"intercept": 90.0}}
    table = small_table(400)
    frame, catalogue = frames(table)
    drawn = draw(table, never, source="induced", seeds=(0,))
    factors = pd.DataFrame({"factor:P2": 1.0, "factor:P3": 1.0, "row_id": range(80, 400)})
    made = check_graph(
        table=frame,
        catalogue=catalogue,
        masks=drawn["masks"],
        identification=drawn["identification"],
        propensities=factors.assign(seed=0),
        context=Context({}, Streams(1, "check_graph", {})),
    )["contrasts"]
    assert made.empty
    kinds = {name: one.kind for name, one in made.dtypes.items()}
    assert kinds == {
        "kind": "O",
        "panel": "O",
        "other": "O",
        "score": "f",
        "rows": "i",
        "share": "f",
        "expected": "f",
        "seed": "i",
    }


@pytest.mark.trains
def test_a_seed_that_no_mask_was_drawn_for_is_refused():
    scenario = _Scenario("induced", None)
    with pytest.raises(DataError, match=r"masks were drawn for seeds \[3\] of \[3, 9\] alone"):
        scenario.imputed(Portion(seeds=(3, 9)))
