"""Simulated prescriptions follow their rule; splits never divide a patient."""

import numpy as np
import pytest
from frugal.core.errors import ConfigError, DataError
from frugal.studies.treatment.data.patient_splits import split_patients
from frugal.studies.treatment.data.prescribing import simulate_prescriptions
from frugal.studies.treatment.data.susceptibility import Contexts, SusceptibilityTable
from hypothesis import given
from hypothesis import strategies as st

RULE = {
    "susceptible_share_weight": 2.0,
    "hidden_weight": 0.0,
    "stop_after_best": 0.9,
    "stop_otherwise": 0.1,
}


def nobody(units: int) -> np.ndarray:
    """No unit is a test unit."""
    return np.zeros(units, dtype=bool)


def _table(units: int, drugs: int, seed: int, contexts: int = 2) -> SusceptibilityTable:
    rng = np.random.default_rng(seed)
    return SusceptibilityTable(
        row_id=np.arange(units),
        patient=rng.integers(units, size=units),
        context=rng.integers(contexts, size=units),
        contexts=Contexts(tuple(f"x{i}" for i in range(contexts)), np.eye(contexts)),
        outcome=rng.choice(3, p=[0.5, 0.1, 0.4], size=(units, drugs)),
        actions=tuple(f"a{j}" for j in range(drugs)),
        results=("R", "I", "S"),
        report={},
    )


@given(st.integers(1, 5), st.integers(0, 100), st.floats(0, 4))
def test_records_are_true_and_never_repeat(drugs, seed, hidden):
    table = _table(30, drugs, seed)
    rng = np.random.default_rng(seed)
    records = simulate_prescriptions(
        table, is_test=nobody(30), **RULE | {"hidden_weight": hidden}, rng=rng
    )
    unit, step = np.nonzero(records.action >= 0)
    tried = records.action[unit, step]
    assert (records.outcome[unit, step] == table.outcome[unit, tried]).all()
    assert (records.action[:, 0] >= 0).all()  # the record itself refuses repeated actions


def test_never_stopping_tries_everything():
    table = _table(20, 4, 0)
    rule = RULE | {"stop_after_best": 0.0, "stop_otherwise": 0.0}
    records = simulate_prescriptions(
        table, is_test=nobody(20), **rule, rng=np.random.default_rng(0)
    )
    assert (np.sort(records.action, axis=1) == np.arange(4)).all()


def test_stopping_at_the_best_and_only_there():
    table = _table(300, 4, 1)
    rule = RULE | {"stop_after_best": 1.0, "stop_otherwise": 0.0}
    records = simulate_prescriptions(
        table, is_test=nobody(300), **rule, rng=np.random.default_rng(0)
    )
    tried = records.action >= 0
    last = tried.sum(axis=1) - 1
    found = records.outcome[np.arange(300), last] == 2
    assert (found == (table.outcome == 2).any(axis=1)).all()


def test_without_hidden_weight_own_results_do_not_matter():
    """Two units of one context whose results differ choose alike from the same draws."""
    table = _table(500, 3, 2, contexts=1)
    mirrored = SusceptibilityTable(**{**vars(table), "outcome": table.outcome[::-1].copy()})
    rule = RULE | {"stop_after_best": 0.0, "stop_otherwise": 0.0}
    first, second = (
        simulate_prescriptions(t, is_test=nobody(500), **rule, rng=np.random.default_rng(3))
        for t in (table, mirrored)
    )
    assert (first.action == second.action).all()


@pytest.mark.parametrize("wrong", [{"hidden_weight": -1.0}, {"stop_otherwise": 1.5}])
def test_impossible_rules_are_refused(wrong):
    with pytest.raises(ConfigError, match="allowed are values from 0"):
        simulate_prescriptions(
            _table(5, 2, 0), is_test=nobody(5), **RULE | wrong, rng=np.random.default_rng(0)
        )


def test_test_units_add_nothing_to_what_was_known():
    """Other results of test units change no choice; a context with no others has the mean."""
    table = _table(400, 3, 6)
    is_test = (np.arange(400) % 3 == 0) | (table.context == 1)
    changed = table.outcome.copy()
    changed[is_test] = 2 - changed[is_test]
    other = SusceptibilityTable(**{**vars(table), "outcome": changed})
    rule = RULE | {"stop_after_best": 0.0, "stop_otherwise": 0.0, "susceptible_share_weight": 50.0}
    first, second = (
        simulate_prescriptions(t, is_test=is_test, **rule, rng=np.random.default_rng(1))
        for t in (table, other)
    )
    assert (first.action == second.action).all()
    nearly = rule | {"susceptible_share_weight": 1e9}
    sure = simulate_prescriptions(table, is_test=is_test, **nearly, rng=np.random.default_rng(1))
    share = (table.outcome[~is_test] == 2).mean(axis=0)
    assert (sure.action == np.argsort(-share)).all()  # of context 0, and so of context 1
    with pytest.raises(ConfigError, match="every unit is a test unit"):
        simulate_prescriptions(
            table, is_test=np.ones(400, bool), **rule, rng=np.random.default_rng(1)
        )


@given(st.integers(4, 60), st.floats(0.2, 0.8), st.integers(0, 1000))
def test_no_patient_stands_on_both_sides(persons, share, seed):
    rng = np.random.default_rng(seed)
    patient = np.concatenate([np.arange(persons), rng.integers(persons, size=40)])
    is_test = split_patients(patient, test_share=share, rng=rng)
    assert set(patient[is_test]).isdisjoint(patient[~is_test])
    assert len(set(patient[is_test])) == round(share * persons)


def test_a_split_needs_patients_on_both_sides():
    with pytest.raises(DataError, match="1 patients leave 0 for testing"):
        split_patients(np.zeros(5, dtype=np.int64), test_share=0.3, rng=np.random.default_rng(0))
    with pytest.raises(ConfigError, match="test_share is 1"):
        split_patients(np.arange(5), test_share=1.0, rng=np.random.default_rng(0))
