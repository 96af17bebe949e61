"""Rows that belong together: they fall in one part, and count as one in every interval."""

from pathlib import Path

import numpy as np
import pytest
from frugal.core.rows import ScratchFile
from frugal.core.table import Belonging, random_folds
from frugal.data.prepare import prepare
from frugal.judge.estimator import Terms
from frugal.judge.intervals import influence
from frugal.studies.afape.cost_intervals import CostRange, unseen_errors
from frugal.studies.afape.graph_check import GraphRows, Indicators, check_graph

from tests.unit.afape_chain import run_chain, small_table
from tests.unit.dataset_documents import CSV, document, load
from tests.unit.in_blocks import influence_terms, resample, summarise, term_blocks

pytestmark = pytest.mark.trains

GAPS = {
    "P2": {"intercept": 1.0, "values": {"X1": 0.5}, "indicators": {}},
    "P3": {"intercept": 1.0, "values": {}, "indicators": {}},
}


def _weighted(n: int, seed: int = 0) -> Terms:
    rng = np.random.default_rng(seed)
    weight = rng.exponential(size=n) * (rng.random(n) < 0.6)
    return Terms(weight[:, None] * rng.normal(3, 1, size=(n, 2)), weight, weight)


def _times(terms: Terms, k: int) -> Terms:
    parts = (terms.numerator, terms.denominator, terms.weight)
    return Terms(*(np.concatenate([part] * k) for part in parts))


@pytest.mark.parametrize("blocks", [1, 3])
@pytest.mark.parametrize("k", [2, 7])
def test_rows_that_stand_k_times_state_no_more_than_once(k, blocks):
    terms = _weighted(80)
    cluster = np.tile(np.random.default_rng(1).permutation(80), k)
    once = summarise(terms)
    found = summarise(_times(terms, k), cluster=cluster, blocks=blocks)
    for name in ("estimate", "std_error", "ci_low", "ci_high", "ess", "largest_weight_share"):
        np.testing.assert_allclose(getattr(found, name), getattr(once, name), rtol=1e-12)
    assert (found.n, found.usable_rows) == (k * once.n, k * once.usable_rows)
    blind = summarise(_times(terms, k))
    assert (blind.std_error < 0.8 * once.std_error).all()  # what it would be without


@pytest.mark.parametrize("blocks", [1, 4])
def test_pairs_and_resamples_count_clusters_too(blocks):
    terms = _weighted(60)
    often, cluster = _times(terms, 3), np.tile(np.arange(60), 3)
    psi = influence_terms(often, cluster, blocks=blocks)
    np.testing.assert_allclose(psi, influence(terms)[:, 0], rtol=1e-10, atol=1e-12)
    with ScratchFile() as scratch:
        units = term_blocks(scratch, often, cluster, blocks=blocks).units("e").first("e", 0)
    drawn = [
        resample(
            one.numerator[:, :1],
            one.denominator[:, None],
            resamples=40,
            share=0.7,
            rng=np.random.default_rng(5),
        )
        for one in (terms, units)
    ]
    np.testing.assert_allclose(drawn[1], drawn[0], rtol=1e-5)


def test_cases_without_an_error_are_counted_by_clusters():
    weight, cost = np.ones(50), np.full((50, 1), 0.0)
    once, within = Terms(cost, weight, weight), CostRange(0.0, 9.0, 0.0, 5.0)
    with ScratchFile() as scratch:
        found = []
        for terms, cluster in ((once, None), (_times(once, 4), np.tile(np.arange(50), 4))):
            units = term_blocks(scratch, terms, cluster, blocks=2).units("e")
            found.append(unseen_errors(units.error_costs("e"), units.tally("e").weight, within))
    assert found[0].above == found[1].above > 0


def test_a_graph_is_not_refuted_by_rows_that_stand_often():
    rng = np.random.default_rng(3)
    n, k = 60, 12
    x = rng.normal(size=n)
    observed = rng.random((n, 1)) < 0.5

    def checked(times, cluster):
        given_ = Indicators(
            ["A"],
            np.tile(observed, (times, 1)),
            np.full((n * times, 1), observed.mean()),
            [np.empty((n * times, 0))],
            np.zeros((1, 1), dtype=bool),
            cluster,
        )
        block = GraphRows(given_, {"x": np.tile(x, times)}, {})
        return check_graph([block], 0 if cluster is None else n, np.random.default_rng(0))

    once, often = checked(1, None), checked(k, np.tile(np.arange(n), k))
    assert often.contrasts[0].score == pytest.approx(once.contrasts[0].score)
    assert abs(checked(k, None).contrasts[0].score) == pytest.approx(
        abs(once.contrasts[0].score) * np.sqrt(k)
    )


def test_folds_keep_clusters_whole():
    cluster = np.repeat(np.arange(10), 3)
    fold = random_folds(cluster, 30, 3, np.random.default_rng(0))
    assert all(len(set(fold[cluster == c])) == 1 for c in range(10))
    assert len(set(fold)) == 3


def test_estimates_of_rows_for_themselves_are_as_ever_and_of_pairs_are_wider():
    """Each row of the test part stands twice, in both an own cluster and one of two."""
    table = small_table(240, seed=3)
    twin = 80 + np.arange(160) // 2
    table = table.take(np.append(np.arange(80), twin))
    table.row_id[:] = np.arange(240)
    runs = [
        run_chain(table, GAPS, source="induced", belonging=Belonging(None, (), cluster))
        for cluster in (None, np.arange(240), np.append(np.arange(80), twin))
    ]
    alone, same, pairs = (run.rows("ground_truth").set_index("agent") for run in runs)
    for name in ("estimate", "std_error", "ci_low", "ci_high", "resample_sd", "ess"):
        np.testing.assert_allclose(same[name], alone[name], rtol=1e-6)
    always = list(
        pairs.loc["always", ["std_error", "ess", "n"]]
    )  # what a policy without chance pays is the same in both of two
    row_by_row = float(str(alone.loc["always", "std_error"]))
    assert always == pytest.approx([row_by_row * np.sqrt(159 / 79), 80, 160], rel=1e-10)


def _prepared(tmp_path: Path, csv: str, **keys):
    described = load(tmp_path, document() | keys)
    (tmp_path / "small.csv").write_text(csv)
    return prepare(described, {"small.csv": tmp_path / "small.csv"}, 0)


def test_a_column_of_the_file_identifies_rows_of_one_unit(tmp_path):
    lines = CSV.strip().splitlines()
    csv = "\n".join(
        [lines[0] + ",patient"] + [f"{line},p{k // 2}" for k, line in enumerate(lines[1:])]
    )
    found = _prepared(tmp_path, csv, cluster="patient")
    assert found.belonging.cluster is not None
    assert found.belonging.cluster.tolist() == [0, 0, 1, 1, 2, 2]
    assert found.report["columns_left_out"] == []
    for c in range(3):
        assert len(set(found.split[found.belonging.cluster == c])) == 1
