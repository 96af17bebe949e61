"""Digest of the code that a stage reaches, so an edit reruns exactly the rules it touches.

The code is compiled: an edit of a comment, a docstring, the layout or the version changes nothing.
Reads imports as text (it never imports), because the Snakefile needs a digest of every rule each
time it is parsed, and each job for its own: it must cost milliseconds and must not load NumPy. Code
that is found in a file is therefore kept next to Python's compiled modules, by the digest of its
text.
"""

import ast
import contextlib
import hashlib
import json
import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from frugal.core.declarations import PACKAGE, arguments_of, modules_of

# Every stage, named as its rule: the module of which it is a function, of named arguments alone
_STAGE = re.compile(r"^def ([a-z]\w*)\(\s*\*,", re.MULTILINE)
STAGES = dict(
    sorted(
        (name, ".".join(("frugal", *path.relative_to(PACKAGE).with_suffix("").parts)))
        for folder in ("answer", "studies/*")
        for path in PACKAGE.glob(f"{folder}/stages/[a-z]*.py")
        for name in _STAGE.findall(path.read_text(encoding="utf-8"))
    )
)


def columns_module(stage: str) -> str:
    """The module that describes the columns of the tables of a stage's study."""
    return f"{STAGES[stage].rsplit('.', 2)[0]}.columns"


@cache
def _path(module: str) -> Path | None:
    """File of a module of this package, None if there is none by that name."""
    relative = Path(*module.partition(":")[0].split(".")[1:])
    for candidate in (PACKAGE / relative / "__init__.py", (PACKAGE / relative).with_suffix(".py")):
        if candidate.is_file():
            return candidate
    return None


@cache
def _imports(module: str) -> frozenset[str]:
    """Modules of this package that a module imports, parents' `__init__` included.

    For `module:stage`, only the code which that function needs.
    """
    _, imported, folders, _ = _facts(module)
    imported = [*imported, *(name for folder in folders["all"] for name in modules_of(folder))]
    split_names = [name.rpartition(".")[::2] for name in imported]
    stages = [(home, name) for home, name in split_names if STAGES.get(name) == home]
    parts = {home for home, _ in stages} - {
        home for home, name in split_names if STAGES.get(name) != home
    }
    ours = {name for name in imported if name.split(".")[0] == "frugal" and _path(name)} - parts
    ours |= {f"{home}:{name}" for home, name in stages if home in parts}
    parents = {
        ".".join(n.split(".")[:k]) for n in ours | {module} for k in range(1, n.count(".") + 1)
    }
    return frozenset(ours | parents)


def _facts(module: str) -> tuple[str, tuple[str, ...], dict[str, list[str]], str]:
    """Result of `_read` for a module, or for the code of one stage of it: `module:stage`."""
    path = _path(module)
    if path is None:
        raise ModuleNotFoundError(f"{module} is no module of this package")
    return _read(path, module.partition(":")[2])


@cache
def _read(path: Path, stage: str) -> tuple[str, tuple[str, ...], dict[str, list[str]], str]:
    """Digest of a file's code, targets of its imports, the folders it loads from, its literals.

    Of a folder it loads `all` declarations, the `one` of a given name, or the `literals` of
    all. The last item is the digest of those that its own declarations have. Of a stage it is the
    code that this function reaches in its file.
    """
    text = path.read_bytes()
    key = hashlib.sha256(sys.version.encode() + b"\0" + text).hexdigest()
    cache_file = path.parent / "__pycache__" / f"{path.stem}{stage and '.'}{stage}.code.json"
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
        entry = json.loads(cache_file.read_bytes())
        if entry["key"] == key:
            return (
                str(entry["code"]),
                tuple(map(str, entry["imports"])),
                dict(entry["folders"]),
                str(entry["literals"]),
            )
    tree = ast.parse(text)
    if stage:
        tree = _needed_by(stage, tree)
    imports, folders = sorted(_imported_names(tree)), _open_folders(tree)
    literals = _digest_of_text(repr([arguments_of(call)[0] for call in _declarations(tree)]))
    code = _digest_of_text(ast.dump(_without_idle_lines(tree)))
    entry = {"key": key, "code": code, "imports": imports, "folders": folders, "literals": literals}
    if not sys.dont_write_bytecode:
        with contextlib.suppress(
            OSError
        ):  # a package that cannot be written to costs time, no more
            cache_file.parent.mkdir(exist_ok=True)
            half = cache_file.with_name(f"{cache_file.name}.{os.getpid()}")
            half.write_text(json.dumps(entry))
            half.replace(cache_file)
    return code, tuple(imports), folders, literals


def _digest_of_text(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _declarations(tree: ast.Module) -> list[ast.Call]:
    """Calls at the top of a module whose value has a name, see `declarations`."""
    lines = (line.value for line in tree.body if isinstance(line, ast.Assign))
    return [value for value in lines if isinstance(value, ast.Call)]


def _open_folders(tree: ast.Module) -> dict[str, list[str]]:
    """Packages named by calls of `load_all`, `load_one`, `load_literals`; see `declarations`."""
    folders: dict[str, set[str]] = {"all": set(), "one": set(), "literals": set()}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            loader = node.func.id.removeprefix("load_")
            if (
                node.func.id != loader
                and loader in folders
                and isinstance(node.args[0], ast.Constant)
            ):
                folders[loader].add(str(node.args[0].value))
    return {loader: sorted(packages) for loader, packages in folders.items()}


def _needed_by(stage: str, tree: ast.Module) -> ast.Module:
    """The statements of a module that a function of it needs, by the names in them.

    One that gives no name a value is always needed.
    """
    gives = [(line, _given_by(line)) for line in tree.body]
    needed: set[str] = set()
    statements: list[ast.stmt] = []
    waiting = {stage}
    while waiting:
        needed |= waiting
        statements = [line for line, names in gives if not names or names & needed]
        reads = {n.id for line in statements for n in ast.walk(line) if isinstance(n, ast.Name)}
        waiting = reads - needed
    return ast.Module(statements, [])


def _given_by(line: ast.stmt) -> set[str]:
    """The names to which a statement gives a value."""
    if isinstance(line, ast.Import | ast.ImportFrom):
        return {(alias.asname or alias.name).partition(".")[0] for alias in line.names}
    if isinstance(line, ast.FunctionDef | ast.ClassDef):
        return {line.name}
    names = (n for n in ast.walk(line) if isinstance(n, ast.Name))
    return {n.id for n in names if isinstance(n.ctx, ast.Store)}


def _imported_names(tree: ast.Module) -> set[str]:
    """Names of all modules, and of names imported from them, which may be modules, too."""
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            names |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    return names


def _without_idle_lines(tree: ast.Module) -> ast.Module:
    """The same tree, without docstrings and the version, which no stage reads; changed in place."""
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list):
            node.body = [line for line in body if not _is_idle(line)]  # pyright: ignore[reportAttributeAccessIssue]
    return tree


def _is_idle(line: ast.stmt) -> bool:
    """Whether a statement is a docstring, or gives the package its version."""
    if isinstance(line, ast.Assign):
        return "__version__" in _given_by(line)
    return (
        isinstance(line, ast.Expr)
        and isinstance(line.value, ast.Constant)
        and isinstance(line.value.value, str)
    )


@cache
def reached_modules(*roots: str) -> tuple[str, ...]:
    """All modules of this package that the given ones import, directly or not, sorted."""
    reached: set[str] = set()
    waiting = list(roots)
    while waiting:
        module = waiting.pop()
        if module not in reached:
            reached.add(module)
            waiting += _imports(module)
    return tuple(sorted(reached))


def source_digest(stage: str, settings: Any = None) -> str:
    """SHA-256 over the code of a stage, of all that it imports, and of the command line.

    Of a folder of declarations from which the stage loads one by its name, those modules count that
    a value in the settings names: another kind of agent changes no job that does not name it.

    Raises:
        KeyError: no study has such a stage.
    """
    return _digest(stage, frozenset(texts_in(settings)))


@cache
def arithmetic_digest() -> str:
    """SHA-256 over the code that pins portable arithmetic."""
    return _digest_of(reached_modules("frugal.core.arithmetic"))


@cache
def _digest(stage: str, named: frozenset[str]) -> str:
    roots = (f"{STAGES[stage]}:{stage}", columns_module(stage), "frugal.run.stage_command")
    chosen = {
        module
        for reached in reached_modules(*roots)
        for folder in _folders(reached)["one"]
        for module in modules_of(folder)
        if module.rsplit(".", 1)[1] in named
    }
    folders = {
        folder for reached in reached_modules(*roots) for folder in _folders(reached)["literals"]
    }
    literals = [
        f"{module}\0{_facts(module)[3]}"
        for folder in sorted(folders)
        for module in modules_of(folder)
    ]
    code = _digest_of(reached_modules(*roots, *sorted(chosen)))
    return _digest_of_text("\0".join([code, *literals])) if literals else code


def _digest_of(modules: Iterable[str]) -> str:
    digest = hashlib.sha256()
    for module in modules:
        digest.update(f"{module}\0{_facts(module)[0]}\0".encode())
    return digest.hexdigest()


def _folders(module: str) -> dict[str, list[str]]:
    return _facts(module)[2]


def texts_in(settings: Any) -> Iterator[str]:
    """Every string literal used as a value."""
    if isinstance(settings, str):
        yield settings
    elif isinstance(settings, Mapping):
        yield from (text for value in settings.values() for text in texts_in(value))
    elif isinstance(settings, list | tuple):
        yield from (text for value in settings for text in texts_in(value))
