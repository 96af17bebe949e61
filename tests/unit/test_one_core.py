"""What several studies need is there once: the sources are searched for a second one."""

import ast
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import frugal

PACKAGE = Path(frugal.__file__).parent
LOCKSTEP, SCALING = "learn/lockstep.py", "core/scaling.py"
LOGISTIC = "learn/weighted_logistic.py"

# Torch's own optimiser, of modules that autograd follows and that learn one by one
TORCHS_ADAM = {"studies/diagnosis/emflow_training.py", "studies/recourse/learned/training.py"}


# Not of columns: advantages of a minibatch, as stable-baselines3 has them; spreads over results
OTHER_SPREADS = {"studies/diagnosis/lockstep_ppo.py", "learn/imputation_errors.py"}


@cache
def texts() -> dict[str, str]:
    """The files of the package."""
    return {p.relative_to(PACKAGE).as_posix(): p.read_text() for p in PACKAGE.rglob("*.py")}


def places(found: Callable[[ast.AST], bool], *words: str) -> set[str]:
    """Files with a syntax node of some kind, among those whose text has one of the words."""
    return {
        path
        for path, text in texts().items()
        if any(word in text for word in words)
        and any(found(node) for node in ast.walk(ast.parse(text)))
    }


def names(node: ast.AST) -> Iterator[str]:
    """The name that a node reads, calls, defines or imports."""
    if isinstance(node, ast.Attribute):
        yield node.attr
    elif isinstance(node, ast.Name):
        yield node.id
    elif isinstance(node, ast.FunctionDef | ast.ClassDef):
        yield node.name
    elif isinstance(node, ast.Import | ast.ImportFrom):
        yield from (alias.name.rpartition(".")[2] for alias in node.names)


def names_one_of(*words: str) -> set[str]:
    """Files with a node that has one of these names."""
    return places(lambda node: not set(words).isdisjoint(names(node)), *words)


def test_there_is_one_adam():
    def is_adams_class(node: ast.AST) -> bool:
        return isinstance(node, ast.ClassDef) and "adam" in node.name.lower()

    # the fused kernel, and the operation with which a step written out ends
    assert names_one_of("_fused_adam_", "_fused_adamw_") == {LOCKSTEP}
    assert names_one_of("addcdiv", "addcdiv_") == {LOCKSTEP}
    assert places(is_adams_class, "adam", "Adam") == {LOCKSTEP}
    assert names_one_of("optim") == TORCHS_ADAM


def test_parameters_and_layers_of_lock_step_networks_are_one():
    def is_store(node: ast.AST) -> bool:
        return isinstance(node, ast.ClassDef) and node.name.startswith(("Flat", "Parameter"))

    assert places(is_store, "class Flat", "class Parameter") == {LOCKSTEP}
    assert names_one_of("silu_backward", "threshold_backward") == {LOCKSTEP}


def test_there_is_one_standardisation():
    """Standard deviations of a sample (`ddof=1`) are of errors and intervals, not of columns."""

    def is_population_spread(node: ast.AST) -> bool:
        return (
            isinstance(node, ast.Call)
            and not {"nanstd", "std"}.isdisjoint(names(node.func))
            and not any(word.arg == "ddof" for word in node.keywords)
        )

    def subtracts_and_divides(node: ast.AST) -> bool:
        """(x − centre) / scale, of two attributes with these names."""
        return (
            isinstance(node, ast.BinOp)
            and isinstance(node.op, ast.Div)
            and isinstance(node.left, ast.BinOp)
            and isinstance(node.left.op, ast.Sub)
            and isinstance(node.left.right, ast.Attribute | ast.Name)
            and isinstance(node.right, ast.Attribute | ast.Name)
            and {"scale", "spread", "deviation"} & {*names(node.right)} != set()
        )

    scalings = ("fit_scaling", "standardise", "standardised", "standardize", "Scaling")

    def is_definition(node: ast.AST) -> bool:
        return isinstance(node, ast.FunctionDef | ast.ClassDef) and (
            node.name in scalings or "scaler" in node.name.lower()
        )

    assert places(is_population_spread, "std") == OTHER_SPREADS
    # minibatches of K networks, each by its own of the one scaling, in torch; the same in a graph
    assert places(subtracts_and_divides, "scale", "spread", "deviation") == {
        SCALING,
        "learn/networks.py",
        "acquire/policies/cascade.py",  # by stored numbers
        "judge/comparisons.py",  # differences by their standard errors
    }
    assert places(is_definition, *scalings, "scaler", "Scaler") == {SCALING}
    assert names_one_of("StandardScaler", "Normalizer", "zscore") == set()


def test_there_is_one_logistic_fit():
    """Newton's step on a logistic loss: nowhere else, also not a library's."""

    def is_gradient(node: ast.AST) -> bool:
        """`… * (chance - target)` or `… - target`, in a file that takes `expit`."""
        return (
            isinstance(node, ast.BinOp)
            and isinstance(node.op, ast.Sub)
            and isinstance(node.right, ast.Name)
            and node.right.id in ("target", "label", "y")
        )

    fitting = places(is_gradient, "expit") & names_one_of("expit")
    assert fitting == {LOGISTIC}
    assert names_one_of("LogisticRegression", "LogisticRegressionCV", "SGDClassifier") == set()

    fits = ("fit_logistic", "logistic_mode", "logistic_regression", "newton", "irls")

    def is_fit(node: ast.AST) -> bool:
        return isinstance(node, ast.FunctionDef) and node.name in fits

    assert places(is_fit, *fits) == {LOGISTIC}
