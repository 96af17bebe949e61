"""Labels of three classes: kinds of agents, paths of sets, and estimates in an enumerated world."""

import itertools
from dataclasses import replace

import numpy as np
import onnxruntime
import pytest
from frugal.acquire.advice import advise_next
from frugal.acquire.bundles import CaseBundle, export_policy
from frugal.acquire.kinds import Ground, build_policy, kind_of
from frugal.acquire.policies.cascade import ClassPath
from frugal.acquire.rollouts import roll_out
from frugal.acquire.train.class_paths import ClassSets
from frugal.answer.requirements import require_known_agent
from frugal.core.errors import ConfigError, DataError
from frugal.core.layout import Layout
from frugal.core.streams import Streams
from frugal.core.table import Panel, Table
from frugal.core.world import World
from frugal.data.cases import Cases
from frugal.judge import recorded_labels as recorded
from frugal.judge.choice import enough, judged
from frugal.judge.semi_offline import Paths
from frugal.learn.record_law import Causes, RecordedLabels, RecordLaw
from frugal.learn.trees import fit_forest
from frugal.studies.field.policies.panel_networks import NetworkPolicies

from tests.unit.dataset_documents import document, load
from tests.unit.test_agent_kinds import SETTINGS
from tests.unit.tree_agent_cases import BOOSTING

pytestmark = pytest.mark.trains

CLASSES = ("well", "ill", "severe")
ERRORS = np.array([[0.0, 3.0, 6.0], [8.0, 0.0, 2.0], [12.0, 4.0, 0.0]])
PRICE = np.array([1.0, 1.0])
UNTRAINED = {
    "fixed": {"kind": "fixed", "panels": ["A"]},
    "random": {"kind": "random", "probability": 0.5},
    "rule": {"kind": "rule", "steps": [{"panel": "A", "when": {"column": "x", "above": 0}}]},
}


def table(n=600, seed=0):
    """A free column that leaves the label open where it is 1; panel A tells it, B tells nothing."""
    rng = np.random.default_rng(seed)
    group = rng.choice(3, size=n, p=[0.5, 0.4, 0.1])
    sure = np.where(group == 0, 0, 2)
    label = np.where(group == 1, rng.integers(3, size=n), sure)
    a = np.where(group == 1, label, rng.integers(3, size=n))
    values = np.column_stack([group, a, rng.integers(2, size=n)]).astype(np.float64)
    return Table(
        row_id=np.arange(n),
        values=values,
        columns=("x", "a", "b"),
        onehot=(),
        label=label,
        classes=CLASSES,
        panels=(
            Panel("known", ("x",), 0.0, True),
            Panel("A", ("a",), 1.0, False),
            Panel("B", ("b",), 1.0, False),
        ),
        misclassification_cost=ERRORS,
    )


def ground(data):
    seen = np.ones_like(data.values, dtype=bool)
    forest = fit_forest(
        data.values,
        seen,
        data.label,
        classes=3,
        trees=10,
        min_leaf=20,
        rng=np.random.default_rng(0),
    )
    recorded = np.ones((len(data), 2), dtype=bool)
    group = np.arange(len(data)) % 2
    return Ground(data, recorded, group, forest, Streams(0, "train_agent", {}))


@pytest.fixture(scope="module")
def data():
    return table()


@pytest.mark.parametrize("name", sorted({*SETTINGS, *UNTRAINED}))
def test_a_kind_predicts_three_classes_or_names_those_that_do(data, name):
    settings = SETTINGS.get(name) or UNTRAINED[name]
    kind = kind_of(settings)
    if kind.two_classes:
        assert kind.fit is not None
        with pytest.raises(DataError, match=r"kinds cascade, .*permutation.*the table has 3: well"):
            kind.fit(ground(data), settings)
        return
    arrays = None if kind.fit is None else kind.fit(ground(data), settings).arrays
    policy = build_policy(settings, table=data, stored=arrays)
    episodes = roll_out(policy, World.of_table(data), uniforms=np.full((len(data), 3), 0.4))
    if episodes.verdict is not None:
        assert episodes.verdict.shape == (1, len(data), 3)
        np.testing.assert_allclose(episodes.verdict.sum(axis=2), 1, atol=1e-12)


def settings_of(name):
    """With trees or networks that learn so small a table."""
    if name in ("dime", "gdfs"):
        return SETTINGS[name] | {"updates": 1500, "learning_rate": 3e-3, "batch": 64}
    return SETTINGS[name] | {"boosting": BOOSTING, "linear": False}


def learned(data, settings):
    """The arrays and the curve of an agent, and its policy."""
    fit = kind_of(settings).fit
    assert fit is not None
    made = fit(ground(data), settings)
    policy = build_policy(settings, table=data, stored=made.arrays)
    return policy, made.curve


@pytest.mark.parametrize("name", ["cascade", "permutation", "dime", "gdfs"])
def test_agents_buy_what_states_the_open_units_alone(data, name):
    """The best rule: A where x is 1, and nothing elsewhere; then no unit is misclassified."""
    is_path = name in ("cascade", "permutation")
    policy, curve = learned(data, settings_of(name))
    assert isinstance(policy, ClassPath if is_path else NetworkPolicies)
    fresh = table(4000, 1)
    episodes = roll_out(policy, World.of_table(fresh), uniforms=np.zeros((len(fresh), 3)))
    cost = episodes.cost[0] + ERRORS[fresh.label, np.asarray(episodes.verdict)[0].argmax(axis=1)]
    best = (fresh.values[:, 0] == 1).mean()
    assert best <= cost.mean() < 1.05 * best
    assert -curve["mean_return"][0] == pytest.approx(best, abs=0.1)
    (sentence,) = policy.sentences(["A", "B"])
    assert sentence.startswith("A if the best decision costs " if is_path else "a panel w")
    assert sentence.endswith("; then the class of least expected cost")


def test_a_path_costs_what_its_units_pay_one_by_one(data):
    sets = ClassSets.of(ground(data), SETTINGS["cascade"])
    none, a, both = frozenset(), frozenset({0}), frozenset({0, 1})
    path = sets.judged([none, a, both], [0.1, 0.05], [np.inf, 0.2])
    cost = []
    for i in range(len(data)):
        paid, held = 0.0, none
        for larger, low, high in ((a, 0.1, np.inf), (both, 0.05, 0.2)):
            if not low <= round(float((sets.probability(held)[i] @ ERRORS).min() / 12), 9) < high:
                break
            paid, held = paid + 1.0, larger
        decided = int((sets.probability(held)[i] @ ERRORS).argmin())
        cost.append(paid + ERRORS[data.label[i], decided])
    assert path.cost == pytest.approx(np.mean(cost), abs=1e-12)


@pytest.mark.parametrize("name", ["dime", "gdfs"])
def test_a_stored_policy_of_classes_is_refused_with_errors_of_others(data, name):
    policy, _ = learned(data, settings_of(name))
    assert isinstance(policy, NetworkPolicies)
    arrays = policy.to_arrays() | {"errors": ERRORS[:2, :2]}
    with pytest.raises(DataError, match="'errors'"):
        build_policy(settings_of(name), table=data, stored=arrays)


def test_a_policy_of_classes_in_onnx_decides_as_it_does_here(data):
    name = "cascade"
    policy, _ = learned(data, settings_of(name))
    assert isinstance(policy, ClassPath)
    again = build_policy(settings_of(name), table=data, stored=policy.to_arrays())
    rng, n = np.random.default_rng(2), 300
    values = rng.integers(3, size=(n, 3)).astype(np.float64)
    acquired = rng.random((n, 2)) < 0.4
    available = acquired | (rng.random((n, 2)) < 0.8)
    cases = Cases("line", [str(k) for k in range(n)], values, acquired, [""] * n)
    bundle = CaseBundle(
        again, 0, name, Layout.of(data), None, ERRORS, "EUR", Streams(0, "roll_out", {}), {}
    )
    advice = advise_next(bundle, cases, available=available, uniforms=np.zeros((n, 3)))
    session = onnxruntime.InferenceSession(
        export_policy(bundle), providers=["CPUExecutionProvider"]
    )
    states = {"values": values, "acquired": acquired, "available": available}
    law, belief = map(np.asarray, session.run(["probabilities", "belief"], states))
    np.testing.assert_allclose(law, advice.states.action_probability, atol=1e-5)
    np.testing.assert_allclose(belief, advice.probability, atol=1e-5)
    assert len(np.unique(law.round(6), axis=0)) > 1
    arrays, layout = policy.to_arrays() | {"errors": ERRORS[:2, :2]}, Layout.of(data)
    with pytest.raises(DataError, match="has 3 members; allowed are the same sets for each of 2"):
        ClassPath.from_arrays(arrays, replace(layout, classes=CLASSES[:2]))


def test_a_config_is_refused_before_it_runs_an_agent_of_two_classes(tmp_path):
    content = document()
    content["label"]["classes"] = [{"name": name, "values": [k]} for k, name in enumerate(CLASSES)]
    content["misclassification_cost"] = ERRORS.tolist()
    described = load(tmp_path, content)
    with pytest.raises(
        ConfigError, match=r"'cwcf', which predicts one of two.*cwcf: null to leave"
    ):
        require_known_agent("config: afape.agents.cwcf", SETTINGS["cwcf"], described)


# The enumerated world: every row of a population, as often as its probability says.
FOLDS = 2
LABEL_COUNTS = {0: (2, 1, 1), 1: (1, 2, 1), 2: (1, 1, 2), 3: (4, 0, 0)}
BELIEFS = np.array([[0.5, 0.3, 0.2], [0.1, 0.6, 0.3], [0.2, 0.2, 0.6], [0.8, 0.1, 0.1]])
RECORDED = {0: (2, 3), 1: (3, 1)}  # of 4 records, how many hold A and B, by the free column
LABELLED = {(0, 0): 1, (0, 1): 3, (1, 0): 2, (1, 1): 3}  # of 4, by the free column and A


def population():
    """Columns x, y, recorded panels, whether labelled, and the law of the two; a row for each."""
    rows = []
    for x in itertools.product((0, 1), repeat=3):
        for y, times in enumerate(LABEL_COUNTS[(x[0] + 2 * x[1] + x[2]) % 4]):
            for r in itertools.product((0, 1), repeat=2):
                pairs = zip(r, RECORDED[x[0]], strict=True)
                copies = int(np.prod([held if one else 4 - held for one, held in pairs]))
                for labelled in (0, 1):
                    each = LABELLED[x[0], r[0]] if labelled else 4 - LABELLED[x[0], r[0]]
                    rows += [(*x, y, *r, labelled)] * (times * copies * each)
    return np.array(rows * FOLDS), np.repeat(np.arange(FOLDS), len(rows))


class TrueLaw(RecordLaw):
    """The law by which the population lacks panels."""

    def probability(self, panels):
        held = np.array([RECORDED[int(x)] for x in self.values[:, 0]]) / 4
        return np.prod(np.where(panels, held, 1.0), axis=1)


def belief(x, shown):
    code = x[:, 0] + 2 * x[:, 1] * shown[:, 0] + x[:, 2] * shown[:, 1]
    return BELIEFS[code.astype(int) % 4]


def play(name, x, observed):
    """`never`, `both`, and `second`: B after A where A is 1; by the same beliefs."""
    n = len(x)
    order, acquired = np.full((n, 2), -1), np.zeros((n, 2), dtype=bool)
    seen, held, going = np.full((n, 3, 3), np.nan), np.zeros(n, int), np.ones(n, dtype=bool)
    for step in range(3):
        seen[going, step] = belief(x, acquired)[going]
        wants = going & (name != "never") & (step < 2)
        if step == 1 and name == "second":
            wants &= x[:, 1] == 1
        going = wants
        if not going.any():
            break
        order[going, step] = step
        going = going & observed[:, step]
        acquired[going, step] = True
        held[going] += 1
    verdict = (seen[np.arange(n), held] @ ERRORS).argmin(axis=1)
    return Paths(order, held, (order >= 0).sum(axis=1) == held, acquired, seen, verdict)


def as_recorded(x, observed):
    """What the records show was done."""
    n = len(x)
    seen = np.full((n, 3, 3), np.nan)
    seen[:, 0] = belief(x, observed)
    nothing, verdict = np.zeros(n, dtype=int), (seen[:, 0] @ ERRORS).argmin(axis=1)
    return Paths(np.full((n, 2), -1), nothing, nothing == 0, observed, seen, verdict)


def cost_of(paths, y):
    return float((paths.acquired @ PRICE + ERRORS[y, paths.verdict]).mean())


def enumerated():
    """Columns of the population, and the true cost of each policy."""
    rows, fold = population()
    x, y, observed = rows[:, :3], rows[:, 3], rows[:, 4:6] == 1
    every = np.ones_like(observed)
    truth = {name: cost_of(play(name, x, every), y) for name in ("never", "both", "second")}
    truth["practice"] = cost_of(as_recorded(x, observed), y)
    return x, y, observed, rows[:, 6] == 1, fold, truth


def law_of(x, y, observed, fold, **more):
    provides = np.eye(3, dtype=bool)[1:]
    shown = np.where(np.column_stack([np.ones(len(y), dtype=bool), observed]), x, np.nan)
    return TrueLaw(observed, shown, y, fold, [Causes((0,))] * 2, provides, **more)


@pytest.mark.parametrize(("second", "holds"), [(0.2, False), (0.5, True), (1.0, True)])
def test_weights_are_of_enough_rows_of_every_class(second, holds):
    label = np.arange(1000) % 2
    weight, asks = np.where(label == 1, second, 1.0), np.arange(1000) < 900
    assert enough(weight, label, asks) == holds
    assert enough(np.where(asks, weight, 5.0), label, asks) == holds  # the others count nothing


def test_costs_of_three_classes_are_exact_in_an_enumerated_world():
    x, y, observed, _, fold, truth = enumerated()
    paths = {name: play(name, x, observed) for name in ("never", "both", "second")}
    paths["practice"] = as_recorded(x, observed)
    found = judged(
        paths,
        law_of(x, y, observed, fold),
        x[:, :1].astype(float),
        PRICE,
        ERRORS,
        practice="practice",
    )
    assert {name: found.cost(name) for name in truth} == pytest.approx(truth, abs=1e-12)


@pytest.mark.parametrize("right", ["the law", "the regression"])
def test_costs_with_missing_labels_are_exact_if_the_law_or_the_regression_is(monkeypatch, right):
    x, y, observed, labelled, fold, truth = enumerated()
    pairs = zip(x[:, 0].astype(int), observed[:, 0].astype(int), strict=True)
    chance = np.array([LABELLED[pair] for pair in pairs]) / 4
    known = x[:, :1].astype(float)
    if right == "the regression":  # which knows all values; the law is wrong
        shares = np.array([LABEL_COUNTS[k] for k in range(4)]) / 4
        code = (x[:, 0] + 2 * x[:, 1] + x[:, 2]).astype(int) % 4
        monkeypatch.setattr(recorded, "_guess", lambda *_: shares[code])
        chance = 0.3 + 0.4 * (x[:, 1] == x[:, 2])
    law = law_of(
        x, np.where(labelled, y, -1), observed, fold, labels=RecordedLabels(labelled, chance, known)
    )
    paths = {name: play(name, x, observed) for name in ("never", "both", "second")}
    paths["practice"] = as_recorded(x, observed)
    found = judged(paths, law, known, PRICE, ERRORS, practice="practice")
    assert {name: found.cost(name) for name in truth} == pytest.approx(truth, abs=1e-12)
    dropped = law_of(x[labelled], y[labelled], observed[labelled], fold[labelled])
    kept = {name: play(name, x[labelled], observed[labelled]) for name in paths}
    kept["practice"] = as_recorded(x[labelled], observed[labelled])
    without = judged(kept, dropped, known[labelled], PRICE, ERRORS, practice="practice")
    assert max(abs(without.cost(name) - cost) for name, cost in truth.items()) > 0.05
