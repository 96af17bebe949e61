"""Declarations: each component of the project, described once, in its own file.

A declaration is a call at the top of a module, `DQN = AgentKind(name="dqn", …)`, or decorates a
function there, whose docstring's first line is then its `doc`. A folder of them is open: a new file
in it is found, and no list names it; so is a module that holds several, and the folder of the same
name of each study. The values that a config may set are literal arguments of the calls, read
without importing, as the workflow's first step must be fast; the object itself comes by import,
when it is requested.
"""

import ast
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from frugal.core.errors import ConfigError

PACKAGE = Path(__file__).resolve().parent.parent
# The folder of config.yaml, config/ and the Snakefile: the checkout, or in a wheel the copy that
# setup.py puts into the package
PROJECT = PACKAGE.parent.parent
if not (PROJECT / "config.yaml").is_file():
    PROJECT = PACKAGE / "project"


def modules_of(package: str) -> dict[str, Path]:
    """The modules of a folder of this package with their files, sorted; without those below it.

    A study may add to a folder of the core: `studies/*/policies` to `acquire.policies`, the last
    names being equal. Of a module it is the one.
    """
    names = package.split(".")[1:]
    folder = PACKAGE.joinpath(*names)
    if (module := folder.with_suffix(".py")).is_file():
        return {package: module}
    paths = list(folder.glob("[a-z]*.py"))
    if names[0] != "studies":
        paths += PACKAGE.glob(f"studies/*/{names[-1]}/[a-z]*.py")
    paths.sort(key=lambda path: (path.stem, path))
    parts = [path.relative_to(PACKAGE).with_suffix("").parts for path in paths]
    modules = (".".join(("frugal", *names)) for names in parts)
    return dict(zip(modules, paths, strict=True))


def arguments_of(call: ast.Call) -> tuple[dict[str, Any], frozenset[str]]:
    """Keyword arguments of a call that are literals, and the names of the others."""
    literals: dict[str, Any] = {}
    code: set[str] = set()
    for argument in call.keywords:
        try:
            literals[str(argument.arg)] = ast.literal_eval(argument.value)
        except ValueError:
            code.add(str(argument.arg))
    return literals, frozenset(code)


@dataclass(frozen=True)
class Declared:
    """A declaration as its file has it.

    Attributes:
        module: that holds it.
        variable: its name there.
        literals: its literal keyword arguments.
        code: names of the others.
    """

    module: str
    variable: str
    literals: Mapping[str, Any]
    code: frozenset[str]

    def has(self, argument: str) -> bool:
        """Whether the argument is there, and neither False, None nor empty."""
        return argument in self.code or bool(self.literals.get(argument))


@cache
def declared(package: str, of: str) -> Mapping[str, Declared]:
    """Every declaration in the modules of a folder, by its `name`; sorted by module and line.

    Args:
        package: of the folder, for example `frugal.acquire.policies`; or one module.
        of: class that the declarations call.

    Raises:
        ConfigError: two have one name.
    """
    by_name: dict[str, Declared] = {}
    for module, path in modules_of(package).items():
        for line in ast.parse(path.read_bytes()).body:
            if isinstance(line, ast.FunctionDef):
                variable, calls = line.name, line.decorator_list
                words = {"doc": (ast.get_docstring(line) or "").partition("\n")[0].rstrip(".")}
            elif isinstance(line, ast.Assign):
                variable, calls, words = ast.unparse(line.targets[0]), [line.value], {}
            else:
                continue
            for call in calls:
                if not isinstance(call, ast.Call) or getattr(call.func, "id", None) != of:
                    continue
                literals, code = arguments_of(call)
                name = literals["name"]
                if name in by_name:
                    raise ConfigError(f"{by_name[name].module} and {module} both declare {name!r}")
                by_name[name] = Declared(module, variable, words | literals, code)
    return by_name


def load_one(package: str, of: str, name: str) -> Any:
    """The declared object of that name; its module alone is imported.

    The digest of a job's code follows the names that its settings hold, see `sources`.

    Raises:
        KeyError: there is none.
    """
    declaration = declared(package, of)[name]
    return getattr(import_module(declaration.module), declaration.variable)


def load_all(package: str, of: str) -> dict[str, Any]:
    """Every declared object of a folder, by name; the digest of a job's code covers the folder."""
    return {name: load_one(package, of, name) for name in declared(package, of)}


def load_literals(package: str, of: str) -> dict[str, Mapping[str, Any]]:
    """Literal arguments of every declaration of a folder, by name, read without importing.

    The digest of a job's code covers these literals, and of the folder nothing else.
    """
    return {name: declaration.literals for name, declaration in declared(package, of).items()}
