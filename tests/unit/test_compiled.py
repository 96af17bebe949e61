"""What is compiled with the environment: every kernel that is entered, for what it is given."""

import ast
import subprocess
import sys
from typing import TypeGuard

from frugal.run.compiled import KERNELS

from tests.workflow.runs import ROOT, plain_environment

PACKAGE = ROOT / "workflow" / "frugal"
PROGRAM = """
import importlib, numba, sys
from frugal.run.compiled import KERNELS, compile_kernel
for kernel in KERNELS:
    compile_kernel(kernel)
    module, name = kernel.rsplit(".", 1)
    stats = getattr(importlib.import_module(f"frugal.{module}"), name).stats
    assert not stats.cache_misses, (kernel, stats)
"""


def _is_kernel(function: ast.AST) -> TypeGuard[ast.FunctionDef]:
    return isinstance(function, ast.FunctionDef) and any(
        "njit" in ast.unparse(decorator) for decorator in function.decorator_list
    )


def entered_kernels() -> set[str]:
    """Kernels that some function calls which is none, as `module.name`."""
    trees = {p: ast.parse(p.read_text()) for p in PACKAGE.rglob("*.py") if "njit" in p.read_text()}
    kernels = {path: [f for f in tree.body if _is_kernel(f)] for path, tree in trees.items()}
    from_kernels = {
        node.func.id
        for some in kernels.values()
        for kernel in some
        for node in ast.walk(kernel)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    }
    return {
        ".".join((*path.relative_to(PACKAGE).with_suffix("").parts, kernel.name))
        for path, some in kernels.items()
        for kernel in some
        if kernel.name not in from_kernels
    }


def test_every_kernel_that_is_entered_is_compiled():
    assert entered_kernels() <= KERNELS.keys()


def test_the_environment_has_compiled_them():
    assert "-m frugal compile" in (ROOT / "Makefile").read_text()
    words = [sys.executable, "-c", PROGRAM]
    later = subprocess.run(words, env=plain_environment(), capture_output=True)
    assert later.returncode == 0, later.stderr.decode()
