"""Documents and sources of the project: parsed once in a process, never changed."""

import ast
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from frugal.config.root import effective

ROOT = Path(__file__).parents[1]


@cache
def shipped(name: str) -> Any:
    """What a YAML of the project holds, by its path there; who changes it takes a copy."""
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    return yaml.load((ROOT / name).read_text(encoding="utf-8"), Loader=loader)


@cache
def package_trees() -> dict[str, ast.Module]:
    """The syntax of every file of the package, by its path below `frugal/`."""
    package = ROOT / "workflow/frugal"
    return {
        path.relative_to(package).as_posix(): ast.parse(path.read_text(encoding="utf-8"))
        for path in sorted(package.rglob("*.py"))
    }


DEFAULT: dict[str, Any] = effective(shipped("config.yaml"))
