"""One transition loop, one schema each of decisions and outcomes, one class that hides values.

Read off the syntax of the package's files, so that a second one cannot come in unnoticed.
"""

import ast
from collections.abc import Iterator
from functools import cache

import pytest
from frugal.acquire import logs
from frugal.core.declarations import declared

from tests.defaults import package_trees

# Who asks policies for decisions: the rollout, and sums over sets and sequences without episodes.
ASKS = {
    "acquire.rollouts._roll_out_units",
    "acquire.rollouts.states_of",  # of new cases, each as it stands
    "acquire.set_probability.terminal_sequence_probability",
    "acquire.set_probability._decisions",
}
# Who marks a panel as acquired, beside the rollout and these sums: what trainers step through.
# (DADI's trainer keeps its states as tensors, beside the graph of its losses.)
TRAINERS = {
    "studies.field.policies.panel_networks.ChooserWalk.along",  # chooses rules by it
    "acquire.acquisition.BatchedAcquisition._advance",
    "acquire.acquisition.BatchedAcquisition._restart",
}
LOOP = {"acquire.rollouts._roll_out_units"}
SUMS = {
    "acquire.set_probability.terminal_sequence_probability",
    "acquire.set_probability._sweep_subsets",
    "acquire.set_probability._walk",  # what a sum over patterns comes to
}
# Loops that are to become `roll_out`: none is left. A new entry needs a reason.
LOOPS_OF_THEIR_OWN = {"answer.candidates.from_frame"}  # reads back what `roll_out` marked

KINDS = {  # folder or module → class of what is declared there
    "frugal.acquire.policies": "AgentKind",
    "frugal.studies.recourse.generators": "GeneratorKind",
    "frugal.judge.estimators": "Estimator",
    "frugal.studies.dadi.fair_baselines": "FairBaseline",
    "frugal.learn.imputers": "ImputerKind",
    "frugal.studies.diagnosis.tabular_baselines": "Classifier",
    "frugal.studies.treatment.planners": "SearchPlanner",
}
WORDS = {
    "dadi",
    "fixed",
    "greedy",
    "python",
    "random",
    "rule",
    "table",
}  # that mean more than kinds
NAMED = {  # file: kinds of agents that it names beside their own files, and why
    "studies/field/policies/cwcf.py": {"dqn"},  # a setting
    "studies/field/policies/opportunistic.py": {"dqn"},  # a setting
    "acquire/policies/stacked.py": {"cascade"},  # a default
    "config/afape.py": {"dqn"},  # the agent that is drawn
    "studies/diagnosis/config.py": {
        "cascade",
        "cwcf",
        "lattice",
        "permutation",
        "stacked",
    },  # names
    "studies/diagnosis/stages/fronts.py": {"sm_ddpo"},  # its trainer there
}
OTHER_KINDS = {  # comparisons with kinds of something else
    "studies/afape/figures/policies.py": {"rows['kind'] == 'named'"},  # of rows
    "studies/recourse/spec.py": {"source['kind'] == 'table'"},
    "studies/recourse/stages/tables.py": {"source['kind'] == 'table'", "kind != 'table'"},
    "learn/trees.py": {"settings['kind'] == 'forest'"},
}


@cache
def functions() -> tuple[tuple[str, ast.AST], ...]:
    """Dotted name and body of every function of the package; inner functions belong to theirs."""
    found = []
    for path, tree in package_trees().items():
        found += _functions(tree, path.removesuffix(".py").replace("/", "."))
    assert len(found) > 1000
    return tuple(found)


def _functions(node: ast.AST, name: str) -> Iterator[tuple[str, ast.AST]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef):
            yield f"{name}.{child.name}", child
        elif isinstance(child, ast.ClassDef):
            yield from _functions(child, f"{name}.{child.name}")


def name_of(node: ast.AST) -> str:
    """The last part of a name or attribute; "" for anything else."""
    return getattr(node, "attr", getattr(node, "id", ""))


def calls(body: ast.AST, name: str) -> bool:
    return any(isinstance(n, ast.Call) and name_of(n.func) == name for n in ast.walk(body))


def marks_acquired(body: ast.AST) -> bool:
    """It writes into entries of an array of acquired panels."""
    targets: list[ast.expr] = []
    for node in ast.walk(body):
        targets += node.targets if isinstance(node, ast.Assign) else []
        targets += [node.target] if isinstance(node, ast.AugAssign) else []
    return any(isinstance(t, ast.Subscript) and "acquired" in name_of(t.value) for t in targets)


def hides(node: ast.AST) -> bool:
    """`np.where(known, values, nan)` with the result of `known(...)` or an array of that name."""
    if not (isinstance(node, ast.Call) and name_of(node.func) == "where" and len(node.args) == 3):
        return False
    shown = node.args[0]
    if isinstance(shown, ast.Call):
        shown = shown.func
    return name_of(shown) in {"known", "revealed", "acquired"} and name_of(node.args[2]) == "nan"


def among(holds) -> set[str]:
    return {name for name, body in functions() if holds(body)}


def test_one_function_runs_policies():
    """Only it asks for decisions and marks panels as acquired by an episode."""
    asks = among(lambda body: calls(body, "decision_probabilities"))
    assert asks == ASKS
    marks = among(marks_acquired)
    assert marks - TRAINERS - SUMS - LOOPS_OF_THEIR_OWN == LOOP
    assert marks >= LOOPS_OF_THEIR_OWN, "an entry of the list is out of date"
    assert marks & asks - SUMS == LOOP


def test_policies_are_requested_in_one_place():
    """All others go through `decision_probabilities`, which hides values and checks the answer."""

    def asks(body: ast.AST) -> bool:
        names = {"action_probabilities", "decide", "conclude", "believe"}
        return any(isinstance(n, ast.Attribute) and n.attr in names for n in ast.walk(body))

    # policies themselves; tables and worlds of actions know none, and have other words alike
    apart = ("acquire.train.", "acquire.reading.", "acquire.siblings.")
    apart += ("data.", "studies.recourse.", "studies.dadi.networks.")
    outside = {n for n in among(asks) if not n.startswith(apart) and ".policies." not in n}
    methods = ("action_probability", "verdict", "probability")
    assert outside == {f"acquire.rollouts.PolicyStates.{name}" for name in methods}


@pytest.mark.parametrize(
    ("columns", "function"),
    [
        (set(logs.DECISIONS) - set(logs.IDENTITY), "decision_frame"),
        (set(logs.OUTCOMES) - set(logs.IDENTITY), "outcome_frame"),
        (set(logs.IDENTITY), "Scene.identity"),
    ],
)
def test_one_function_makes_each_schema(columns, function):
    """No other function of the package names all columns as keys of what it builds."""

    def builds(body: ast.AST) -> bool:
        dicts = [n for n in ast.walk(body) if isinstance(n, ast.Dict)]
        keys = {k.value for n in dicts for k in n.keys if isinstance(k, ast.Constant)}
        return columns <= keys

    assert among(builds) == {f"acquire.logs.{function}"}


def test_no_stage_renames_its_log_into_another_schema():
    """`step` and `action` of a decision are columns of one frame only."""

    def builds(body: ast.AST) -> bool:
        dicts = [n for n in ast.walk(body) if isinstance(n, ast.Dict)]
        keys = [{k.value for k in n.keys if isinstance(k, ast.Constant)} for n in dicts]
        return any({"row_id", "step", "action"} <= own for own in keys)

    assert among(builds) == set()


def test_only_the_world_hides_what_an_acquired_panel_would_show():
    found = among(lambda body: any(hides(n) for n in ast.walk(body)))
    # `Ground.values`: what a record holds at all, for scaling and digest; no state of an episode
    assert found == {"core.world.World.visible", "acquire.kinds.Ground.values"}


def test_a_second_loop_or_hiding_place_would_be_found():
    loop = ast.parse("def f():\n    acquired[row, chosen] = True")
    assert marks_acquired(loop)
    assert marks_acquired(ast.parse("def f():\n    self._acquired[0, j] |= True"))
    assert not marks_acquired(ast.parse("def f():\n    acquired = known[rows]"))
    for text in ("np.where(known, x, np.nan)", "np.where(world.known(s), x, nan)"):
        assert any(hides(node) for node in ast.walk(ast.parse(text)))


def texts_of(node: ast.AST) -> set[str]:
    """Every text in a tree."""
    inside = (one.value for one in ast.walk(node) if isinstance(one, ast.Constant))
    return {value for value in inside if isinstance(value, str)}


def test_no_file_but_its_own_names_a_kind_of_agent():
    kinds = set(declared("frugal.acquire.policies", "AgentKind")) - WORDS
    named = {
        path: found
        for path, tree in package_trees().items()
        if (found := {kind for kind in kinds & texts_of(tree) if kind not in path})
    }
    assert named == NAMED


def test_nothing_is_decided_by_the_name_of_a_kind():
    """What differs between kinds is an argument of their declarations."""
    kinds = {name for package, of in KINDS.items() for name in declared(package, of)}
    compared: dict[str, set[str]] = {}
    for path, tree in package_trees().items():
        for node in ast.walk(tree):
            asked = node.pattern if isinstance(node, ast.match_case) else node
            if not isinstance(asked, ast.Compare | ast.pattern) or not kinds & texts_of(asked):
                continue
            text = ast.unparse(asked)
            if "kind" in text or isinstance(asked, ast.pattern):
                compared.setdefault(path, set()).add(text)
    assert compared == OTHER_KINDS
