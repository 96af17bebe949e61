"""Test units of `diagnosis` decide nothing: other ones leave all that is learned and chosen."""

import numpy as np
import pytest
from frugal.studies.shared.stages.data import prepare_data

from tests.unit import diagnosis_chain
from tests.unit.diagnosis_chain import FRONT, NAME, TinyRun, run

pytestmark = pytest.mark.trains


def altered(table):
    """The table with other values and the opposite label in every test unit."""
    rows = (table["part"] == "test").to_numpy()
    rng, changed = np.random.default_rng(0), table.copy()
    for name in [c for c in table.columns if table[c].dtype == np.float64 and "=" not in c]:
        changed.loc[rows, name] = rng.normal(scale=3.0, size=rows.sum())
    changed.loc[rows, "label"] = 1 - changed.loc[rows, "label"]
    assert not changed[rows].equals(table[rows])
    return changed


def run_altered(stage, settings, wildcards, **inputs):
    made = run(stage, settings, wildcards, **inputs)
    return made | {"table": altered(made["table"])} if stage is prepare_data else made


@pytest.fixture(scope="module")
def both(tmp_path_factory) -> list[TinyRun]:
    """The tiny study with seed 0 alone, as it is and with other test units."""
    seed = TinyRun._seed
    made = []
    for one in (run, run_altered):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(diagnosis_chain, "run", one)
            patch.setattr(TinyRun, "_seed", lambda self, s: s == "0" and seed(self, s))
            made.append(TinyRun(tmp_path_factory.mktemp("clinic")))
    return made


def test_encoder_and_policies_are_the_same(both):
    plain, other = (
        [t.encoders["0"]["encoder"], *(g["policies"].arrays for g in t.fronts["0"])] for t in both
    )
    for one, two in zip(plain, other, strict=True):
        assert all(np.array_equal(one[name], two[name]) for name in one)


@pytest.mark.parametrize("family", [FRONT, "cascade", "baselines", "selection"])
def test_validation_units_are_diagnosed_the_same_and_test_units_are_not(both, family):
    for name in ("scores", "outcomes", "decisions"):
        plain, other = (t.runs[NAME, family, "f1", "0"][name] for t in both)
        for split, same in (("validation", True), ("test", False)):
            named = "split" if name == "scores" else "part"
            one, two = (f[f[named] == split].reset_index(drop=True) for f in (plain, other))
            fixed = (family, name) == ("baselines", "decisions")  # they order the same for all
            assert one.equals(two) == (same or fixed)


def test_budgets_lead_to_the_same_solutions(both):
    columns = ["method", "score", "budget_share", "pair"]
    plain, other = (t.summary["budgets"][columns] for t in both)
    assert plain.equals(other)
