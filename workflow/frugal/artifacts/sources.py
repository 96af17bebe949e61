"""Digest of the code that a stage reaches, so that an edit reruns exactly the rules it touches.

Reads imports as text (it never imports), because the Snakefile asks for a digest of every rule each
time it is parsed: it must cost milliseconds and must not load NumPy.
"""

import ast
import hashlib
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent.parent


@cache
def _path(module: str) -> Path | None:
    """File of a module of this package, None if there is none by that name."""
    relative = Path(*module.split(".")[1:])
    for candidate in (PACKAGE / relative / "__init__.py", (PACKAGE / relative).with_suffix(".py")):
        if candidate.is_file():
            return candidate
    return None


@cache
def _imports(module: str) -> frozenset[str]:
    """Modules of this package that a module imports, parents' `__init__` included."""
    path = _path(module)
    if path is None:
        raise ModuleNotFoundError(f"{module} is no module of this package")
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            found |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    ours = {name for name in found if name.split(".")[0] == "frugal" and _path(name)}
    parents = {
        ".".join(n.split(".")[:k]) for n in ours | {module} for k in range(1, n.count(".") + 1)
    }
    return frozenset(ours | parents)


@cache
def reached_modules(*roots: str) -> tuple[str, ...]:
    """All modules of this package that the given ones import, directly or not, sorted."""
    seen: set[str] = set()
    waiting = list(roots)
    while waiting:
        module = waiting.pop()
        if module not in seen:
            seen.add(module)
            waiting += _imports(module)
    return tuple(sorted(seen))


@cache
def source_digest(stage: str) -> str:
    """SHA-256 over the sources of a stage, of all that it imports, and of the command line.

    Args:
        stage: a module of `frugal.stages`, named as its rule.
    """
    digest = hashlib.sha256()
    for module in reached_modules(f"frugal.stages.{stage}", "frugal.cli"):
        path = _path(module)
        assert path is not None
        digest.update(module.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()
