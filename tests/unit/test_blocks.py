"""Rows in blocks: the same as without, whatever the number of blocks."""

import gc
import warnings
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest
from frugal.core import blocks
from frugal.core.blocks import BlockDraws, TreeSum, block_slices, sample_of, tree_sum
from frugal.core.columns import describe_columns
from frugal.core.context import Context
from frugal.core.errors import DataError
from frugal.core.rows import FrameRows, ScratchFile, open_rows, slices_of
from frugal.core.streams import Streams
from frugal.core.table import Belonging
from frugal.judge import comparisons
from frugal.judge.estimator import Terms
from frugal.results.files import payload_bytes
from frugal.results.replacing import collected, growing_files
from frugal.studies.afape import by_group, columns
from frugal.studies.afape.stages.records import check_graph, impute_features

from tests.unit.afape_chain import NO_IMPUTATION, NUISANCE, Chain, frames, run_chain, small_table
from tests.unit.in_blocks import term_blocks

pytestmark = pytest.mark.trains
N = 2000
LAW = {
    "P2": {"intercept": 1.0, "values": {"X1": -0.5}},
    "P3": {"intercept": 0.5, "values": {"X2": -0.5}},
}
CAUSES = {"P2": {"values": ["X1"]}, "P3": {"values": ["X1"]}}
AGENTS = {
    "half": {"kind": "random", "probability": 0.5},
    "always": {"kind": "fixed", "panels": "all"},
    "never": {"kind": "fixed", "panels": "none"},
    "rule": {
        "kind": "rule",
        "steps": [{"panel": "P2"}, {"panel": "P3", "when": {"column": "X2", "above": 0.0}}],
    },
}
RANDOM = ("resample_sd", "resample_low", "resample_high", "warning")  # of other subsamples
LOOSE = {"atol": 1e-8, "rtol": 1e-8}  # simultaneous intervals: the root of a covariance


def belonging(kind: str) -> Belonging | None:
    rng = np.random.default_rng(0)
    group, number = rng.integers(0, 3, N), rng.integers(0, 700, N)
    own = Belonging(group, ("a", "b", "c"), number if kind == "clusters" else None)
    return None if kind == "plain" else own


def turned_by_nothing(covariance: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Gaussian draws by the symmetric root, which rounding changes by no more than rounding.

    Eigenvectors of equal eigenvalues turn with the last digit, and the draws of `gaussian` with
    them: other draws of the same law, which no two orders of a sum have in common.
    """
    values, vectors = np.linalg.eigh(covariance)
    values = np.where(values > 1e-12 * values.max(), values, 0.0)
    root = (vectors * np.sqrt(values)) @ vectors.T
    return rng.standard_normal((comparisons.DRAWS, len(root))) @ root


def chain(rows: int, source: str, kind: str = "plain", **more) -> Chain:
    """All stages, in blocks of so many rows."""
    own = belonging(kind)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(blocks, "BLOCK_ROWS", rows)
        for module in (comparisons, by_group):
            patched.setattr(module, "gaussian", turned_by_nothing)
        gaps = None if source == "induced" else {"P2": 0.2, "P3": 0.3}
        law = LAW if source == "induced" else CAUSES
        return run_chain(
            small_table(N, gaps=gaps), law, source=source, agents=AGENTS, belonging=own, **more
        )


@cache
def whole_chain(source: str, kind: str = "plain") -> Chain:
    """All stages in one block; made once for all tests."""
    return chain(1 << 16, source, kind)


@cache
def cut_chain(source: str, kind: str = "plain") -> Chain:
    """The same in four blocks, of which the last has fewer rows."""
    return chain(600, source, kind)


def same(one: pd.DataFrame, other: pd.DataFrame, *, atol: float = 1e-9, rtol: float = 1e-9) -> None:
    """Equal but for rounding, in all columns that no other draw of rows moves."""
    kept = [name for name in one if name not in RANDOM]
    pd.testing.assert_frame_equal(one[kept], other[kept], check_exact=False, atol=atol, rtol=rtol)


@pytest.mark.parametrize(
    ("source", "kind"),  # clusters have groups, too
    [("induced", "plain"), ("own", "plain"), ("own", "groups"), ("induced", "clusters")],
)
def test_blocks_of_rows_are_judged_as_one(source, kind):
    whole, cut = whole_chain(source, kind), cut_chain(source, kind)
    for name in ("estimates", "frequencies", "efficiency", "sensitivity", "tipping"):
        same(whole.estimates[name], cut.estimates[name])
    for name in ("comparisons", "groups"):
        same(whole.estimates[name], cut.estimates[name], **LOOSE)
    for name in ("calibration", "overlap", "losses"):
        same(whole.nuisances[name], cut.nuisances[name])
    drawn, told = (one.estimates["resamples"] for one in (whole, cut))
    by = ["agent", "estimator"]
    spread, others = (one.groupby(by)["estimate"].std() for one in (drawn, told))
    assert (spread / others).between(0.5, 2.0).all()  # of 20 subsamples each


def test_the_rows_of_every_table_are_the_same():
    whole, cut = whole_chain("induced"), cut_chain("induced")
    order = ["seed", "row_id"]
    drawn = whole.drawn["masks"], cut.drawn["masks"]
    fitted = whole.nuisances["propensities"], cut.nuisances["propensities"]
    for one, other in (drawn, fitted):
        same(one.sort_values(order), other.sort_values(order))
    order = ["agent", "world", "draw", *order]
    for one, other in ((whole.blocked, cut.blocked), (whole.worlds, cut.worlds)):
        one, other = (f.sort_values(order).reset_index(drop=True) for f in (one, other))
        pd.testing.assert_frame_equal(one, other)  # decisions do not depend on the block


def test_the_graph_is_checked_as_one(monkeypatch):
    for kind in ("plain", "clusters"):
        made = whole_chain("induced", kind)
        frame, catalogue = frames(small_table(N), belonging=belonging(kind))
        found = []
        for rows in (1 << 16, 400):
            monkeypatch.setattr(blocks, "BLOCK_ROWS", rows)
            found.append(
                check_graph(
                    table=frame,
                    catalogue=catalogue,
                    masks=made.drawn["masks"],
                    identification=made.drawn["identification"],
                    propensities=made.nuisances["propensities"],
                    context=Context({}, Streams(1, "check_graph", {})),
                )
            )
        pd.testing.assert_frame_equal(found[0]["contrasts"], found[1]["contrasts"], rtol=1e-9)
        pd.testing.assert_frame_equal(found[0]["graph_check"], found[1]["graph_check"], rtol=0.02)


def test_nuisances_of_a_sample_say_which_rows_they_learned_from():
    asked = NUISANCE | {"rows": 600}
    whole, cut = (chain(rows, "own", nuisance=asked) for rows in (1 << 16, 500))
    learned = whole.nuisances["propensities"]["learned_from"]
    assert learned.sum() == 600
    names = {one["name"] for one in describe_columns(whole.nuisances["propensities"], {}, columns)}
    assert "learned_from" in names  # a file without its description is not written
    assert whole.nuisances["propensities"]["propensity"].notna().all()
    same(whole.estimates["estimates"], cut.estimates["estimates"])
    every = whole_chain("own")
    assert "learned_from" not in every.nuisances["propensities"]
    row = {"agent": "always", "estimator": "stabilised_ipw"}
    errors: list[Any] = [
        one.estimates["estimates"].set_index(list(row)).loc[tuple(row.values()), "std_error"]
        for one in (whole, every)
    ]
    assert errors[0] > errors[1]


def test_imputed_copies_of_blocks_are_whole(monkeypatch):
    trees: dict[str, Any] = {"rounds": 2, "trees": 5, "leaves": 4, "learning_rate": 0.3}
    trees |= {"min_leaf": 5, "linear_penalty": 1.0}
    settings = NO_IMPUTATION | {"chained_trees": trees, "multiple": {"draws": 2, **trees}}
    made = whole_chain("induced")
    frame, catalogue = frames(small_table(N))
    monkeypatch.setattr(blocks, "BLOCK_ROWS", 600)
    found = collected(
        impute_features(
            table=frame,
            catalogue=catalogue,
            masks=made.drawn["masks"],
            context=Context(settings, Streams(1, "impute_features", {})),
        )
    )
    masks = made.drawn["masks"].merge(frame[["row_id", "part"]])
    gaps = masks[(masks["part"] == "test") & ~masks[["observed:P2", "observed:P3"]].all(axis=1)]
    for _, copy in found["imputed"].groupby(["method", "draw"]):
        assert copy["row_id"].tolist() == gaps["row_id"].tolist()
        assert copy.notna().all(axis=None)
    assert len(found["rounds"]) == 5


def test_sums_are_joined_in_pairs_by_number():
    said = tree_sum("abcdefg", lambda a, b: f"({a}{b})")
    assert said == "(((ab)(cd))((ef)g))"
    assert tree_sum(["a"]) == "a"
    with pytest.raises(AssertionError, match="no block"):
        _ = TreeSum().total


def test_a_block_draws_what_all_rows_would(monkeypatch):
    monkeypatch.setattr(blocks, "BLOCK_ROWS", 7)
    whole = np.random.default_rng(3).random((20, 4))
    draws = BlockDraws(np.random.default_rng(3), 4)
    np.testing.assert_array_equal(np.vstack([draws.of(s) for s in block_slices(20)]), whole)
    assert [s.stop for s in block_slices(20)] == [7, 14, 20]
    assert block_slices(0) == [slice(0, 0)]


def test_a_sample_is_all_rows_where_they_are_few():
    rng = np.random.default_rng(0)
    before = rng.bit_generator.state
    assert sample_of(5, 5, rng).tolist() == [0, 1, 2, 3, 4]
    assert rng.bit_generator.state == before
    some = sample_of(1000, 100, rng)
    assert len(some) == 100
    assert (np.diff(some) > 0).all()


def table(rows: int) -> pd.DataFrame:
    rng = np.random.default_rng(rows)
    kinds = pd.Categorical.from_codes(
        rng.integers(0, 2, rows), categories=pd.Index(["a", "b", "c"])
    )
    return pd.DataFrame(
        {
            "x": rng.normal(size=rows),
            "kind": kinds,
            "text": np.where(rng.random(rows) < 0.5, "u", "v"),
            "known": rng.random(rows) < 0.5,
        }
    )


def grow(frame: pd.DataFrame, rows: int):
    for start in range(0, len(frame), rows):
        yield {"table": frame.iloc[start : start + rows].reset_index(drop=True)}
    return {"rest": {"a": 1}}


def test_a_table_of_one_block_has_the_bytes_of_the_table(tmp_path):
    frame, path = table(3000), tmp_path / "t.parquet"
    with growing_files({"table": path}) as write:
        made = write(grow(frame, 3000))
        assert made["table"].path.read_bytes() == payload_bytes(path, frame)
        assert (len(made["table"]), made["rest"]) == (3000, {"a": 1})
    with growing_files({"table": path}) as write:
        made = write(grow(frame, 700))
        pd.testing.assert_frame_equal(pd.read_parquet(made["table"].path), frame)
        rows = open_rows(made["table"].path)
        wanted = ["known", "kind"]
        for some in (slice(0, 700), slice(650, 1500), slice(2999, 3000), slice(10, 10)):
            pd.testing.assert_frame_equal(
                rows.read(some, wanted), frame[wanted].iloc[some].reset_index(drop=True)
            )
    assert list(tmp_path.iterdir()) == []  # nothing was put in place
    pd.testing.assert_frame_equal(collected(grow(frame, 700))["table"], frame)


def test_blocks_of_other_columns_are_a_bug(tmp_path):
    def made():
        yield {"table": table(5)}
        yield {"table": table(5).drop(columns="x")}
        return {}

    with (
        pytest.raises((AssertionError, ValueError)),
        growing_files({"table": tmp_path / "t.parquet"}) as write,
    ):
        write(made())
    assert list(tmp_path.iterdir()) == []


def test_a_table_that_lists_units_of_blocks_is_cut_where_they_end():
    rows = FrameRows(pd.DataFrame({"row_id": np.arange(30)}))
    assert slices_of(rows, [4, 0, 6], "masks") == [slice(0, 12), slice(12, 12), slice(12, 30)]
    with pytest.raises(DataError, match="no multiple of the 11 rows"):
        slices_of(rows, [5, 6], "masks")
    assert slices_of(rows, [11], "masks") == [slice(0, 30)]  # one block: who reads it checks


def test_what_was_set_aside_comes_back():
    with ScratchFile() as kept:
        parts = [np.arange(6.0).reshape(3, 2), np.zeros((0, 2)), np.ones((2, 2))]
        for part in parts:
            kept.put("a", part)
        kept.put("b", np.array([True, False]))
        np.testing.assert_array_equal(kept.column("a"), np.concatenate(parts))
        assert kept.block("b", 0).tolist() == [True, False]
        assert kept.blocks("a") == 3
        kept.forget("a")
        assert "a" not in kept


def test_a_scratch_file_that_nobody_holds_is_closed_without_a_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        kept = ScratchFile()
        file = kept._file
        del kept
        gc.collect()
    assert file.closed


@pytest.mark.parametrize("denominator", [1.0, 0.5, "weight", "mixed"])
def test_terms_are_read_back_as_they_were_put(denominator):
    rng = np.random.default_rng(0)
    weight = rng.random(60)
    each = {"weight": weight, "mixed": rng.random(60) + 0.5}.get(denominator)
    terms = Terms(
        rng.normal(size=(60, 2)), np.full(60, denominator) if each is None else each, weight
    )
    with ScratchFile() as scratch:
        made = term_blocks(scratch, terms, blocks=3)
        for part in ("numerator", "denominator", "weight"):
            read = [getattr(made.first("e", k), part) for k in range(3)]
            expected = getattr(terms, part)
            np.testing.assert_array_equal(
                np.concatenate(read), expected[:, :1] if part == "numerator" else expected
            )
