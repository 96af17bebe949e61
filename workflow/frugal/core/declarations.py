"""Declarations: what a thing of the project is, said once, in the file that holds it.

A declaration is a call at the top of a module, `DQN = AgentKind(name="dqn", …)`. A folder of them
is open: a new file in it is found, and no list names it. What a config may say of them stands in
literal arguments of the calls and is read without importing, as the workflow's first step must be
fast; the object itself comes by import, when it is asked for.
"""

import ast
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any

from frugal.core.errors import ConfigError
from frugal.core.sources import modules_of


@dataclass(frozen=True)
class Declared:
    """A declaration as its file has it.

    Attributes:
        module: that holds it.
        variable: its name there.
        says: its literal keyword arguments.
    """

    module: str
    variable: str
    says: Mapping[str, Any]


@cache
def declared(package: str, of: str) -> Mapping[str, Declared]:
    """Every declaration in the modules of a folder, by its `name`; sorted by module and line.

    Args:
        package: of the folder, for example `frugal.acquire.policies`.
        of: class that the declarations call.

    Raises:
        ConfigError: two have one name.
    """
    found: dict[str, Declared] = {}
    for module, path in modules_of(package).items():
        for line in ast.parse(path.read_bytes()).body:
            if not isinstance(line, ast.Assign) or not isinstance(line.value, ast.Call):
                continue
            if getattr(line.value.func, "id", None) != of:
                continue
            says = {str(k.arg): k.value for k in line.value.keywords}
            says = {k: ast.literal_eval(v) for k, v in says.items() if _is_literal(v)}
            name = says["name"]
            if name in found:
                raise ConfigError(f"{found[name].module} and {module} both declare {name!r}")
            found[name] = Declared(module, ast.unparse(line.targets[0]), says)
    return found


def load_one(package: str, of: str, name: str) -> Any:
    """The declared object of that name; its module alone is imported.

    The digest of a job's code follows the names that its settings hold, see `sources`.

    Raises:
        KeyError: there is none.
    """
    one = declared(package, of)[name]
    return getattr(import_module(one.module), one.variable)


def load_all(package: str, of: str) -> dict[str, Any]:
    """Every declared object of a folder, by name; the digest of a job's code covers the folder."""
    return {name: load_one(package, of, name) for name in declared(package, of)}


def _is_literal(node: ast.expr) -> bool:
    try:
        ast.literal_eval(node)
    except ValueError:
        return False
    return True
