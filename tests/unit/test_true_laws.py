"""Laws that need no fit, and imputed copies as a case has them."""

import numpy as np
import pandas as pd
import pytest
from frugal.acquire.policies.fixed import FixedPolicy
from frugal.core.episodes import Episodes
from frugal.judge.case import COSTS, _imputed
from frugal.judge.true_laws import TrueLaws

from tests.unit.afape_chain import draw, small_table

pytestmark = pytest.mark.trains

LAW = {"P2": {"intercept": 1.0, "values": {"X1": 0.5}}, "P3": {"intercept": 0.5}}


def test_episodes_in_the_order_of_the_records_are_stated():
    """Nobody's panel; one; both in the order of the records; both the other way round."""
    table = small_table()
    laws = TrueLaws(
        policy=FixedPolicy(np.ones(2, dtype=bool)),
        table=table,
        rows=np.arange(4),
        graph=draw(table, LAW, source="induced", seeds=(0,))["graph"],
        s=np.zeros(2, dtype=bool),
    )
    acquired = np.array([[[False, False], [True, False], [True, True], [True, True]]])
    episodes = Episodes(
        acquired=acquired,
        verdict=None,
        cost=np.zeros((1, 4)),
        member=np.zeros(9, dtype=np.int64),
        row=np.array([0, 1, 1, 2, 2, 2, 3, 3, 3]),
        step=np.array([0, 0, 1, 0, 1, 2, 0, 1, 2]),
        action=np.array([2, 0, 2, 0, 1, 2, 1, 0, 2]),
        price=np.zeros(9),
        probability=np.ones(9),
        belief=None,
    )
    assert laws.in_record_order(episodes).tolist() == [1, 1, 1, 0]


def test_imputed_copies_are_stated_by_method_and_draw():
    table = small_table(3)
    head = {"world": ["multiple"] * 6 + ["missforest"] * 3 + ["full"] * 3}
    costs = {name: np.arange(12.0) + 100 * k for k, name in enumerate(COSTS)}
    sets = {"acquired:P2": np.arange(12) % 2 == 0, "acquired:P3": np.arange(12) % 3 == 0}
    found = _imputed(pd.DataFrame(head | costs | sets), table)
    assert sorted(found) == ["missforest", "multiple"]
    assert found["multiple"].shape == (2, 3, 5)
    assert found["multiple"][1, 2].tolist() == [5, 105, 205, 0, 0]
    assert found["missforest"][0, 0].tolist() == [6, 106, 206, 1, 1]
