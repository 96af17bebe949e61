"""Generators where training tells little: a group never met in it, and hardly any units."""

import numpy as np
import pytest
from frugal.core.errors import DataError
from frugal.studies.recourse.accuracy import judge_answers
from frugal.studies.recourse.generator import KINDS, fit_generator
from frugal.studies.recourse.instance import CoverInstance, LabelledUnits

from tests.studies.recourse.test_recourse_generators import settings_of

pytestmark = pytest.mark.trains

STEPS = {"epochs": 2, "batch": 8, "learning_rate": 0.01, "weight_decay": 0.0}
STEPS |= {"held_out_share": 0.05, "patience": 2, "hidden": 8, "layers": 1, "dropout": 0.0}
STEPS |= {"loss_weight": 0.1, "sparsity": 0.05, "neighbours": 3}
BY_EXPLANATION = ("seen_cover", "named", "named_action", "full_action")
INSTANCE = CoverInstance(
    np.array([1.0, 2.0, 2.5]),
    np.array([[1, 0], [0, 1], [1, 1]], dtype=bool),
    np.ones(2, dtype=np.int64),
    np.array([[1, 1, 0], [1, 1, 0], [0, 0, 1]], dtype=bool),  # group 2 has an action of its own
)


def _units(group: list[int]) -> LabelledUnits:
    """Units that lack the first, the second, or both features, in turn."""
    lacks = np.array([[1, 0], [0, 1], [1, 1]], dtype=bool)[np.arange(len(group)) % 3]
    sets = np.array([[0, -1], [1, -1], [0, 1]])[np.arange(len(group)) % 3]
    own = np.asarray(group) == 2
    sets[own] = [2, -1]
    cost = np.where(sets >= 0, INSTANCE.cost[sets], 0.0).sum(axis=1)
    return LabelledUnits(
        ~lacks, sets, cost, np.ones(len(group), dtype=np.int64), np.asarray(group), INSTANCE
    )


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_a_group_that_training_never_met_is_answered_and_repaired(kind):
    fitted = fit_generator(
        settings_of(kind) | STEPS | {"kind": kind},
        _units([0, 0, 0, 1, 1, 1] * 2),
        rng=np.random.default_rng(0),
    )
    test = _units([2, 2, 2, 0])
    answers = fitted.answer(test.features, test.group)
    assert np.isfinite(answers.confidence).all()
    assert ((answers.confidence >= 0) & (answers.confidence <= 1 + 1e-6)).all()
    if kind in BY_EXPLANATION:
        assert (answers.action_set[:3] == -1).all()
        assert (answers.confidence[:3] == 0).all()
        assert (answers.action_set[3] >= 0).any()
    judged = judge_answers(
        test, answers.action_set, answers.confidence, test.action_set, max_nodes=1000
    )
    assert not judged.feasible[:3].any()
    assert (judged.repaired_cost[:3] == 2.5).all()  # the one action that is open to the group


@pytest.mark.parametrize(
    ("kind", "units", "needed"),
    [(kind, 2, 3) for kind in sorted(KINDS) if KINDS[kind].least == 2]
    + [(kind, 1, 2) for kind in ("named", "full_action", "sequence_full_action")],
)
def test_too_few_units_to_train_on_are_refused_by_name(kind, units, needed):
    """Two units leave one to train on, over which nothing can be normalised."""
    settings, rng = STEPS | {"kind": kind}, np.random.default_rng(0)
    sentence = f"generator '{kind}' has {units} training units.* needs at least {needed}$"
    with pytest.raises(DataError, match=sentence):
        fit_generator(settings, _units([0] * units), rng=rng)
    fit_generator(settings, _units([0] * needed), rng=rng)


def test_what_is_needed_grows_with_the_held_out_share():
    settings = STEPS | {"kind": "dense_named", "held_out_share": 0.8}
    with pytest.raises(DataError, match=r"5 training units, 1 of them to train on.* at least 8$"):
        fit_generator(settings, _units([0] * 5), rng=np.random.default_rng(0))
    fit_generator(settings, _units([0] * 8), rng=np.random.default_rng(0))
