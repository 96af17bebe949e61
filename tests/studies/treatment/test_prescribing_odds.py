"""The simulated prescriptions choose with the odds that their rule states."""

import numpy as np
import pytest
from frugal.studies.treatment.data.prescribing import simulate_prescriptions
from frugal.studies.treatment.data.susceptibility import Contexts, SusceptibilityTable

RULE = {
    "susceptible_share_weight": 2.0,
    "hidden_weight": 1.5,
    "stop_after_best": 0.9,
    "stop_otherwise": 0.1,
}


@pytest.mark.statistical
def test_first_choice_has_the_stated_odds():
    """One context, two drugs: log-odds of the first choice are w (s₁ − s₀) + c (z₁ − z₀).

    Four cells of results; z-scores of 20,000 draws each, |z| < 4 with false-alarm rate 2.5e-4.
    """
    outcome = np.repeat([[0, 0], [0, 2], [2, 0], [2, 2]], 20_000, axis=0)
    n = len(outcome)
    table = SusceptibilityTable(
        row_id=np.arange(n),
        patient=np.arange(n),
        context=np.zeros(n, dtype=np.int64),
        contexts=Contexts(("all",), np.zeros((1, 0))),
        outcome=outcome,
        actions=("a", "b"),
        results=("R", "I", "S"),
        report={},
    )
    nobody = np.zeros(n, dtype=bool)
    records = simulate_prescriptions(table, is_test=nobody, **RULE, rng=np.random.default_rng(7))
    for cell, log_odds in zip(range(4), (0.0, 1.5, -1.5, 0.0), strict=True):
        rows = slice(20_000 * cell, 20_000 * (cell + 1))
        chance = 1 / (1 + np.exp(-log_odds))  # shares of susceptible units are equal here
        found = (records.action[rows, 0] == 1).mean()
        assert abs(found - chance) / np.sqrt(chance * (1 - chance) / 20_000) < 4
