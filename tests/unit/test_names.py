"""Names say what a thing is: few are vague, none says that something was told or asked."""

import ast
from collections import Counter
from collections.abc import Iterator

from tests.defaults import ROOT, package_trees

_VAGUE = """
    found told tells said says one own known kept given asked made here there seen whole both
    taken plain stands what that this these those such way ways held got gone wanted meant alike
    worth lots coin dear law gap gaps belief material thing things
"""
VAGUE = frozenset(_VAGUE.split())  # with or without a leading underscore, in capitals or not
TALKING = frozenset(("told", "tell", "said", "asked", "beside", "together"))
KEPT = "packed.tell"  # the method of a file
VAGUE_PER_1000 = 1.5  # of all assignments; the goal is 5
REPEATED_CLASSES = 2  # names of classes that more than one module defines; the goal is 0


def _assigned(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name):
                yield name


def test_few_assignments_are_to_vague_names():
    """Of parameters and the targets of assignments, loops, `with` and comprehensions."""
    vague: Counter[tuple[str, str]] = Counter()
    total = 0
    for module, tree in package_trees().items():
        names = list(_assigned(tree))
        total += len(names)
        vague.update((module, name) for name in names if name.strip("_").lower() in VAGUE)
    assert 1000 * vague.total() / total <= VAGUE_PER_1000, vague.most_common(20)


def test_a_class_name_means_one_class():
    """At the level of modules and inside functions."""
    modules: dict[str, list[str]] = {}
    for module, tree in package_trees().items():
        for name in {node.name for node in ast.walk(tree) if isinstance(node, ast.ClassDef)}:
            modules.setdefault(name, []).append(module)
    repeated = {name: where for name, where in modules.items() if len(where) > 1}
    assert len(repeated) <= REPEATED_CLASSES, repeated


def _defined(tree: ast.AST) -> Iterator[str]:
    """Names of functions, classes, parameters, attributes, constants, and keys of dictionaries."""
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name) | ast.arg(arg=name):
                yield name
            case ast.Attribute(attr=name, ctx=ast.Store()):
                yield name
            case ast.Dict(keys=keys):
                yield from (str(k.value) for k in keys if isinstance(k, ast.Constant))
        if isinstance(node, ast.Module | ast.ClassDef):
            for statement in node.body:
                if isinstance(statement, ast.Assign | ast.AnnAssign):
                    yield from _assigned(statement)


def test_no_name_talks():
    """In the package no variable, either; local ones of tests are free."""
    found = set()
    for path in [*ROOT.glob("workflow/**/*.py"), *ROOT.glob("tests/**/*.py")]:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        names = {*_defined(tree), *(_assigned(tree) if ROOT / "workflow" in path.parents else ())}
        found |= {f"{path.stem}.{n}" for n in names if TALKING & set(n.lower().split("_"))}
    assert found <= {*KEPT.split()}
