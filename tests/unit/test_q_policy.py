import numpy as np
import pytest
import torch
from frugal.acquire.encoders import ValuesEncoder
from frugal.acquire.policies.dqn import QPolicy
from frugal.acquire.train.lockstep_dqn import QNetworks, fresh_weights
from frugal.core.episodes import Policy
from frugal.core.errors import DataError

from tests.oracles.acquisition_worlds import world_of
from tests.oracles.policies import law_of_one

pytestmark = pytest.mark.trains

D, A = 5, 3
PROVIDES = np.array([[0, 1, 1, 0, 0], [0, 0, 1, 1, 0], [0, 0, 0, 0, 1]], dtype=bool)
FREE = np.array([1, 0, 0, 0, 0], dtype=bool)


def policy(dueling: bool, column_bits: bool) -> QPolicy:
    width = D * (1 + column_bits) + A
    rng = np.random.default_rng(4)
    weights = fresh_weights(width, A + 1, hidden=(8, 8), dueling=dueling, rngs=[rng])
    return QPolicy(
        {name: array[0] for name, array in weights.items()},
        rng.normal(size=D),
        rng.uniform(0.5, 2, size=D),
        column_bits,
    )


@pytest.mark.parametrize("dueling", [False, True])
@pytest.mark.parametrize("column_bits", [False, True])
def test_decisions_are_the_best_allowed_by_the_trained_network(dueling, column_bits):
    chosen = policy(dueling, column_bits)
    rng = np.random.default_rng(0)
    n = 200
    values = rng.normal(size=(n, D))
    if column_bits:
        values[rng.random((n, D)) < 0.2] = np.nan
    acquired, available = rng.random((n, A)) < 0.4, rng.random((n, A)) < 0.8
    scaled = (values - chosen.centre) / chosen.scale
    encoder = ValuesEncoder(world_of(scaled, PROVIDES, FREE), column_bits)
    networks = QNetworks({name: array[None] for name, array in chosen.weights.items()})
    seen = encoder.encode(np.arange(n), acquired)
    score = networks.values(torch.from_numpy(seen[None])).numpy()[0]
    allowed = np.hstack([available & ~acquired, np.ones((n, 1), dtype=bool)])
    known = FREE | (acquired.astype(float) @ PROVIDES > 0)
    law = law_of_one(chosen, np.where(known, values, np.nan), acquired, available)
    assert isinstance(chosen, Policy)
    np.testing.assert_array_equal(law.sum(axis=1), 1.0)
    np.testing.assert_array_equal(law.argmax(axis=1), np.where(allowed, score, -np.inf).argmax(1))
    np.testing.assert_allclose(chosen.action_values(seen), score, rtol=1e-4, atol=1e-5)


def test_a_batch_and_its_rows_get_the_same_answers():
    chosen = policy(True, False)
    values = np.random.default_rng(1).normal(size=(64, D))
    acquired, available = np.ones((64, A), dtype=bool), np.ones((64, A), dtype=bool)
    acquired[:, 0] = False
    together = law_of_one(chosen, values, acquired, available)
    for i in range(64):
        one = slice(i, i + 1)
        alone = law_of_one(chosen, values[one], acquired[one], available[one])
        np.testing.assert_array_equal(together[one], alone)


def test_stored_arrays_are_the_policy():
    chosen = policy(True, True)
    again = QPolicy.from_arrays(chosen.to_arrays())
    assert again.to_arrays().keys() == chosen.to_arrays().keys()
    for name, array in chosen.to_arrays().items():
        np.testing.assert_array_equal(again.to_arrays()[name], array)
    with pytest.raises(DataError, match="lacks the array 'scale'"):
        QPolicy.from_arrays({k: v for k, v in chosen.to_arrays().items() if k != "scale"})
