"""What several studies need is there once: the sources are searched for a second one."""

import ast
from collections.abc import Callable, Iterator
from pathlib import Path

import frugal

PACKAGE = Path(frugal.__file__).parent
LOCKSTEP = "models/lockstep.py"

# Torch's own optimiser, of modules that autograd follows and that learn one by one
TORCHS_ADAM = {"models/emflow_training.py", "generators/training.py"}


def places(found: Callable[[ast.AST], bool]) -> set[str]:
    """Files of the package with a syntax node of some kind."""
    return {
        path.relative_to(PACKAGE).as_posix()
        for path in PACKAGE.rglob("*.py")
        if any(found(node) for node in ast.walk(ast.parse(path.read_text())))
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


def says(*words: str) -> Callable[[ast.AST], bool]:
    """Whether a node has one of these names."""
    return lambda node: not set(words).isdisjoint(names(node))


def test_there_is_one_adam():
    def is_adams_class(node: ast.AST) -> bool:
        return isinstance(node, ast.ClassDef) and "adam" in node.name.lower()

    # the fused kernel, and the operation with which a step written out ends
    assert places(says("_fused_adam_", "_fused_adamw_")) == {LOCKSTEP}
    assert places(says("addcdiv", "addcdiv_")) == {LOCKSTEP}
    assert places(is_adams_class) == {LOCKSTEP}
    assert places(says("optim")) == TORCHS_ADAM


def test_parameters_and_layers_of_lock_step_networks_are_one():
    def is_store(node: ast.AST) -> bool:
        return isinstance(node, ast.ClassDef) and node.name.startswith(("Flat", "Parameter"))

    assert places(is_store) == {LOCKSTEP}
    assert places(says("silu_backward", "threshold_backward")) == {LOCKSTEP}
