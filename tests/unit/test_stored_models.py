"""A stored model that was spoilt is refused in one sentence, or works; none crashes or hangs."""

from typing import Any

import numpy as np
import pytest
import torch
from frugal.acquire.policies.dqn import QPolicy
from frugal.acquire.train.lockstep_dqn import fresh_weights
from frugal.core.errors import DataError
from frugal.core.scaling import Scaling
from frugal.core.stored import StoredArrays
from frugal.learn.imputers.mean import MeanImputer
from frugal.learn.tree_scoring import predict_proba, predict_proba_all_sets
from frugal.learn.trees import TreeEnsemble, fit_boosting, fit_forest
from frugal.studies.dadi.networks import DadiPolicies
from frugal.studies.diagnosis.conditional_gaussian import Gaussian
from frugal.studies.diagnosis.flows import AffineFlow, EmFlow
from frugal.studies.diagnosis.lockstep_ppo import ActorCritic
from frugal.studies.diagnosis.policies.fronts import DiagnosisPolicies
from frugal.studies.recourse.frames import catalogue_of, instance_arrays, instance_of
from frugal.studies.recourse.generator import KINDS, answerer, fit_generator
from frugal.studies.recourse.learned.stored import StoredGenerator

from tests.oracles.acquisition_worlds import world_of
from tests.oracles.policies import law_of_one
from tests.studies.dadi import dadi_cases
from tests.studies.recourse.test_recourse_generators import SETTINGS, SMALL
from tests.unit.partly_observed import draw
from tests.unit.spoiling import NASTY, places, sentence_of, spoilt
from tests.unit.spoilt_arrays import Arrays, outcomes_of

pytestmark = pytest.mark.trains

D, A, K = 4, 3, 2  # columns, panels, learners
PROVIDES = np.eye(D, dtype=bool)[1:]
FREE = np.eye(D, dtype=bool)[0]
VALUES, OBSERVED, LABEL = draw(n=120, d=D, classes=3, share=0.7, seed=3)


def _refused(outcomes: dict[str, str | None], *parts: str) -> None:
    """Each of these is refused, among others that may be."""
    for part in parts:
        found = {what: words for what, words in outcomes.items() if part in what}
        assert found, part
        assert all(found.values()), [what for what, words in found.items() if words is None]


ALWAYS = ("nan", "inf", "no ", "one array too many", "empty", "one more axis", "as complex64")
ALWAYS += ("as >f", "as U1", "as float16")


def _use_trees(arrays: Arrays) -> list[np.ndarray]:
    ensemble = TreeEnsemble.from_arrays(arrays)
    if ensemble.classes != 3:
        raise DataError("other classes: `require_table` says so")
    everywhere = predict_proba_all_sets(ensemble, VALUES, PROVIDES, FREE)
    return [predict_proba(ensemble, VALUES, OBSERVED), everywhere]


@pytest.mark.parametrize("kind", ["forest", "boosting"])
def test_spoilt_trees_are_refused_or_predict(kind):
    rng = np.random.default_rng(0)
    if kind == "forest":
        fitted = fit_forest(VALUES, OBSERVED, LABEL, classes=3, trees=2, min_leaf=9, rng=rng)
    else:
        fitted = fit_boosting(
            VALUES,
            OBSERVED,
            LABEL,
            classes=3,
            trees=2,
            leaves=4,
            learning_rate=0.3,
            min_leaf=9,
            rng=rng,
        )
    outcomes = outcomes_of(fitted.to_arrays(), _use_trees)
    _refused(
        outcomes,
        *ALWAYS,
        "right: 100000000",
        "right: 0 at 0",
        "right: its own",
        "right: -1",
        "feature: axis",
        "byte of 2",
    )


def test_a_walk_of_a_stored_tree_cannot_loop_leave_its_tree_or_miss_a_leaf():
    arrays = fit_forest(
        VALUES, OBSERVED, LABEL, classes=3, trees=3, min_leaf=20, rng=np.random.default_rng(0)
    ).to_arrays()
    right, inner = arrays["right"], np.flatnonzero(arrays["feature"] >= 0)
    for node in inner:
        for child in range(-2, len(right) + 3):
            if child == right[node]:
                continue
            wrong = right.copy()
            wrong[node] = child
            outcomes = sentence_of(
                lambda wrong=wrong: TreeEnsemble.from_arrays(arrays | {"right": wrong})
            )
            assert outcomes is not None, (node, child)


def test_a_million_nodes_are_checked_in_a_moment():
    rng = np.random.default_rng(0)
    depth, trees = 15, 16  # complete trees: 2¹⁵ leaves each
    one = np.array([0], dtype=np.int64)  # right children of a complete tree, relative
    for level in range(1, depth + 1):
        below = 2**level - 1
        one = np.concatenate([[below + 1], one + 1, one + below + 1])
    size, leaf = len(one), np.zeros(len(one), dtype=bool)
    heights = np.array([0])
    for level in range(1, depth + 1):
        heights = np.concatenate([[level], heights, heights])
    leaf = heights == 0
    root = np.arange(trees, dtype=np.int32) * size
    right = (one[None] + root[:, None]).astype(np.int32)
    leaves = int(leaf.sum()) * trees
    right[:, leaf] = np.arange(leaves, dtype=np.int32).reshape(trees, -1)
    nodes = trees * size
    arrays = {
        "root": root,
        "right": right.reshape(-1),
        "feature": np.where(np.tile(leaf, trees), -1, 2).astype(np.int16),
        "threshold": rng.normal(size=nodes).astype(np.float32),
        "missing_left": rng.random(nodes) < 0.5,
        "leaf_value": rng.normal(size=(leaves, 2)),
        "link": np.array([1], dtype=np.uint8),
        "columns": np.array([D]),
    }
    assert nodes > 10**6
    import time

    took = []
    for _ in range(3):
        start = time.process_time()
        TreeEnsemble.from_arrays(arrays)
        took.append(time.process_time() - start)
    assert min(took) < 0.5  # 0.05 s on a quiet core


@pytest.mark.parametrize("dueling", [False, True])
def test_spoilt_q_networks_are_refused_or_decide(dueling):
    rng = np.random.default_rng(4)
    width = D * (1 + dueling) + A
    weights = fresh_weights(width, A + 1, hidden=(5, 5), dueling=dueling, rngs=[rng])
    own = {name: array[0] for name, array in weights.items()}
    policy = QPolicy(own, np.zeros(D), np.ones(D), dueling)
    acquired = rng.random((len(VALUES), A)) < 0.5

    def use(arrays: Arrays) -> list[np.ndarray]:
        stored = QPolicy.from_arrays(arrays)
        if (len(stored.centre), stored.weights["2.weight"].shape[1]) != (D, A + 1):
            raise DataError("another table: `require_table` says so")
        law = law_of_one(stored, VALUES, acquired, ~acquired)
        np.testing.assert_array_equal(law.sum(axis=1), 1)
        return [law]

    outcomes = outcomes_of(policy.to_arrays(), use)
    _refused(outcomes, *ALWAYS, "axis", "scale: 0.0", "scale: -1.0", "column_bits: 2")


def _flow() -> EmFlow:
    rng = np.random.default_rng(0)
    flow = AffineFlow(D, couplings=2, hidden=(3,), generator=torch.Generator().manual_seed(1))
    root = rng.normal(size=(D, D))
    gaussian = Gaussian(rng.normal(size=D), root @ root.T + np.eye(D))
    return EmFlow(Scaling(np.zeros(D), np.ones(D)), flow, gaussian, 2, (3,), ())


@pytest.mark.parametrize("model", [_flow(), MeanImputer(Scaling(np.zeros(D), np.ones(D)))])
def test_spoilt_encoders_are_refused_or_impute(model):
    shown = np.where(OBSERVED, VALUES, np.nan)

    def use(arrays: Arrays) -> list[np.ndarray]:
        return [type(model).from_arrays(arrays).impute(shown)]

    outcomes = outcomes_of(model.to_arrays(), use)
    _refused(outcomes, *ALWAYS, "axis", "scale: 0.0", "scale: -1.0")
    if isinstance(model, EmFlow):
        _refused(
            outcomes,
            "passes: 100000000",
            "couplings: 100000000",
            "hidden: 100000000",
            "covariance: -1.0 at 0",
        )


def _diagnosis_weights() -> Arrays:
    rng, classes = np.random.default_rng(5), 2
    arrays = ActorCritic.fresh(
        K, classes + D + A, A + classes, hidden=(6, 5), activation="tanh", rng=rng
    ).export()
    sizes = (D, 7, classes)
    for i in range(2):
        weight = rng.normal(size=(K, sizes[i], sizes[i + 1])).astype(np.float32)
        arrays |= {f"classifier.{i}.weight": weight, f"classifier.{i}.bias": weight[:, 0].copy()}
    return arrays


def test_spoilt_diagnosis_policies_are_refused_or_decide():
    acquired = np.random.default_rng(0).random((len(VALUES), A)) < 0.5
    task = world_of(VALUES, PROVIDES, FREE, available=~acquired, label=LABEL, terminals=2)
    rows = np.repeat(np.nan_to_num(VALUES).astype(np.float32)[None], K, axis=0)
    taken = np.repeat(acquired[None], K, axis=0)
    settings: dict[str, Any] = {
        "ppo": {"activation": "tanh"},
        "classifier": {"activation": "silu"},
        "input_bound": 5.0,
        "verdict": "actor",
    }

    def use(arrays: Arrays) -> list[np.ndarray]:
        policies = DiagnosisPolicies(arrays, settings, adds=PROVIDES & ~FREE)
        policies.require_task(task, columns=D, count=K)
        return [policies.actor_law(rows, taken, ~taken), policies.decide(rows, taken, ~taken)]

    _refused(outcomes_of(_diagnosis_weights(), use), *ALWAYS, "axis")


@pytest.fixture(scope="module")
def dadi() -> dict[str, Any]:
    """A trained DADI agent, and its last checkpoint."""
    states: list[Arrays] = []
    made = dadi_cases.table(np.random.default_rng(0), 60)
    result = dadi_cases.fit(*made, save=lambda state: states.append(dict(state)))
    return {"table": made, "weights": result.weights, "state": states[-1], "result": result}


def test_spoilt_dadi_agents_are_refused_or_acquire(dadi):
    values = dadi["table"][0][:6].astype(np.float64)

    def use(arrays: Arrays) -> list[np.ndarray]:
        policies = DadiPolicies(arrays, dadi_cases.settings(), dadi_cases.PANEL, scaling=None)
        rolled = dadi_cases.acquired_by(policies, values)
        assert rolled.verdict is not None
        told = policies.predict_from_sets(values, rolled.acquired, label=None)
        return [rolled.acquired, rolled.verdict, *told]

    _refused(outcomes_of(dadi["weights"], use, every=7), *ALWAYS[:-1], "axis")


def test_spoilt_checkpoints_are_refused_or_taken_up(dadi):
    def use(arrays: Arrays) -> list[np.ndarray]:
        result = dadi_cases.fit(*dadi["table"], state=arrays)
        return [result.weights[name] for name in sorted(result.weights)]

    outcomes = outcomes_of(dadi["state"], use, every=4)
    _refused(outcomes, "nan", "no ", "inf", "one array too many", "as complex64")
    for wrong in (-1, 10**8):
        row = np.full_like(dadi["state"]["row"], wrong)
        with pytest.raises(DataError, match=r"'row' .*; remove it, and the training starts anew"):
            use(dadi["state"] | {"row": row})


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_spoilt_generators_are_refused_or_answer(kind):
    settings = {"kind": kind} | SETTINGS[kind]
    settings |= {key: value for key, value in (("epochs", 1), ("hidden", 5)) if key in settings}
    fitted = fit_generator(settings, SMALL, rng=np.random.default_rng(1))
    features, group = SMALL.features[:30], SMALL.group[:30]
    actions = len(SMALL.instance.cost)

    def use(arrays: Arrays) -> list[np.ndarray]:
        answers = answerer(kind, arrays, SMALL.instance)(features, group)
        assert ((answers.action_set >= -1) & (answers.action_set < actions)).all()
        return [answers.confidence]

    arrays = {name: np.asarray(array, order="C") for name, array in fitted.arrays.items()}
    floats = () if kind == "hamming" else ("nan", "inf")
    outcomes = outcomes_of(arrays, use, every=2 if "dense" in kind or "sequence" in kind else 1)
    _refused(outcomes, *floats, "no ", "one more axis", "as complex64", "as float16")


def test_a_decoder_of_other_inputs_is_refused():
    """It reads what the encoder says, the unit's inputs and what was provided so far."""
    settings = {"kind": "sequence_full_action"} | SETTINGS["sequence_full_action"]
    fitted = fit_generator(
        settings | {"epochs": 1, "hidden": 5}, SMALL, rng=np.random.default_rng(1)
    )
    name = next(name for name in fitted.arrays if name.endswith("move.weight"))
    read = 5 + 2 * SMALL.features.shape[1]
    wide = dict(fitted.arrays) | {name: np.zeros((5, read + 1), dtype=np.float32)}
    with pytest.raises(DataError, match=rf"has {read + 1} inputs of .*; allowed: {read}$"):
        answerer("sequence_full_action", wide, SMALL.instance)


@pytest.mark.parametrize(
    ("names", "fits"),
    [
        ([0, 2, -1], True),
        ([-1], True),
        ([-1, -1], False),
        ([2, 0, -1], False),
        ([1, 1, -1], False),
        ([0, 2], False),
    ],
)
def test_names_of_actions_rise_and_end_with_none(names, fits):
    stored = StoredGenerator("x", {"names": np.array(names)}, SMALL.instance)
    if fits:
        stored.require_names()
    else:
        with pytest.raises(DataError, match="not rising numbers of actions and then -1"):
            stored.require_names()


def test_a_generator_of_another_kind_or_catalogue_is_refused():
    fitted = fit_generator({"kind": "seen_cover"}, SMALL, rng=np.random.default_rng(1))
    for kind in {*KINDS, "nobody"} - {"seen_cover"}:
        assert sentence_of(lambda kind=kind: answerer(kind, fitted.arrays, SMALL.instance))


def test_a_spoilt_catalogue_of_actions_is_refused_or_read():
    def use(arrays: Arrays) -> list[np.ndarray]:
        instance = instance_of(arrays)
        return [instance.cost_units.sum(), instance.gain.sum(), instance.thresholds.sum()]

    outcomes = outcomes_of(instance_arrays(SMALL.instance), use)
    _refused(
        outcomes, *(part for part in ALWAYS if part != "as float16"), "cost: axis", "provides: axis"
    )


def test_spoilt_names_are_refused_or_read():
    a, d = SMALL.instance.gain.shape
    names = {
        "actions": [f"a{i}" for i in range(a)],
        "features": [f"x{j}" for j in range(d)],
        "groups": ["everyone"],
    }
    arrays = instance_arrays(SMALL.instance)
    for place in places(names):
        for value in NASTY:
            sentence_of(lambda p=place, v=value: catalogue_of(spoilt(names, p, v), arrays))
    with pytest.raises(DataError, match=r"11 different actions; the stored catalogue .* has 12"):
        catalogue_of(names | {"actions": names["actions"][1:]}, arrays)


def test_the_sentence_names_the_file_the_array_the_entry_and_what_is_allowed():
    arrays = fit_forest(
        VALUES, OBSERVED, LABEL, classes=3, trees=1, min_leaf=20, rng=np.random.default_rng(0)
    ).to_arrays()
    wrong = arrays["threshold"].copy()
    wrong[1] = np.nan
    with pytest.raises(DataError) as caught:
        TreeEnsemble.from_arrays(StoredArrays(arrays | {"threshold": wrong}, "results/c.arrays"))
    assert str(caught.value) == (
        "results/c.arrays: the stored tree ensemble has nan in the array 'threshold' at [1]; "
        "allowed are finite numbers"
    )
