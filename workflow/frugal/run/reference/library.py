"""The page of `frugal.library`, which is `import frugal`.

Read from the modules' text without importing one of them, and from the README's example.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from frugal.core.declarations import PACKAGE, PROJECT
from frugal.run.reference.parts import head

LIBRARY = PACKAGE / "library"
_MODULES = ("verbs", "objects", "over_time")
_HEAD = head("Frugal from Python", "library")
_PARTS = re.compile(r"^(Args|Returns|Raises|Attributes):$", re.MULTILINE)
_ENTRY = re.compile(r"^    (\S[^:]*):\s+", re.MULTILINE)


def library_page() -> str:
    """The page as Markdown: an example, each verb, then the returned objects."""
    about = ast.get_docstring(ast.parse((LIBRARY / "__init__.py").read_bytes())) or ""
    first, _, rest = about.partition("\n\n")
    example = _example(PROJECT / "README.md")
    parts = [_HEAD, first + "\n", f"```python\n{example}```\n", rest + "\n", "## Verbs\n"]
    nodes = [node for name in _MODULES for node in _public(LIBRARY / f"{name}.py")]
    parts += [_verb(node) for node in nodes if isinstance(node, ast.FunctionDef)]
    parts.append("## Objects\n")
    parts += [_object(node, nodes) for node in nodes if isinstance(node, ast.ClassDef)]
    return "\n".join(parts)


def _example(readme: Path) -> str:
    """The last block of Python in the README; none where only the package is there."""
    text = readme.read_text(encoding="utf-8") if readme.is_file() else ""
    return "".join(re.findall(r"```python\n(.*?)```", text, re.DOTALL)[-1:])


def _public(path: Path) -> list[ast.FunctionDef | ast.ClassDef]:
    """Functions and classes of a module; one that begins with `_` is only a part of others."""
    body = ast.parse(path.read_bytes()).body
    kinds = (ast.FunctionDef, ast.ClassDef)
    nodes = [node for node in body if isinstance(node, kinds)]
    return [n for n in nodes if isinstance(n, ast.ClassDef) or not n.name.startswith("_")]


def _verb(node: ast.FunctionDef, of: str = "frugal.", level: int = 3) -> str:
    """A heading, the signature and the docstring."""
    code = f"{of}{node.name}{_signature(node)}"
    return f"{'#' * level} `{node.name}`\n\n```python\n{code}\n```\n\n{_words(node)}\n"


def _object(node: ast.ClassDef, all_found: list[ast.FunctionDef | ast.ClassDef]) -> str:
    """A class with its properties as a table and its methods as verbs; a part of others is left."""
    if node.name.startswith("_"):
        return ""
    bodies = [node]
    for body in bodies:
        inherited = {base.id for base in body.bases if isinstance(base, ast.Name)}
        bodies += [c for c in all_found if isinstance(c, ast.ClassDef) and c.name in inherited]
    members = [
        member
        for owner in bodies
        for member in owner.body
        if isinstance(member, ast.FunctionDef) and not member.name.startswith("_")
    ]
    first = (ast.get_docstring(node) or "").partition("\n")[0]
    lines = [f"### `{node.name}`\n\n{first}\n", "| property | type | meaning |", "|---|---|---|"]
    lines += [_row(*field) for field in _fields(node) if field[0] != "asked"]
    lines += [_property(m) for m in members if _is_property(m)]
    methods = [_verb(m, f"{node.name.lower()}.", 4) for m in members if not _is_property(m)]
    return "\n".join([*lines, "", *methods])


def _is_property(node: ast.FunctionDef) -> bool:
    return any(getattr(decorator, "id", "") == "property" for decorator in node.decorator_list)


def _fields(node: ast.ClassDef) -> Iterator[tuple[str, str, str]]:
    """Name, type and meaning of an object's attributes, by its docstring."""
    types = {
        statement.target.id: _type(statement.annotation)
        for statement in node.body
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name)
    }
    _, _, body = (ast.get_docstring(node) or "").partition("Attributes:\n")
    _, *entries = _ENTRY.split(body)
    for name, meaning in zip(entries[::2], entries[1::2], strict=True):
        yield name, types[name], _on_a_line(meaning)


def _property(node: ast.FunctionDef) -> str:
    text = (ast.get_docstring(node) or "").partition("\n")[0]
    return _row(node.name, _type(node.returns), text)


def _row(name: str, kind: str, text: str) -> str:
    return f"| `{name}` | `{kind.replace(' | ', ' or ')}` | {text} |"


def _signature(node: ast.FunctionDef) -> str:
    """The parameters, without `self`, a line each where they are more than two."""
    parameters = [word for word in _parameters(node.args) if word != "self"]
    returns = f" -> {_type(node.returns)}"
    if len(parameters) <= 2:
        return f"({', '.join(parameters)}){returns}"
    return "(\n" + "".join(f"    {word},\n" for word in parameters) + f"){returns}"


def _parameters(args: ast.arguments) -> Iterator[str]:
    defaults = [*[None] * (len(args.args) - len(args.defaults)), *args.defaults]
    pairs = [*zip(args.args, defaults, strict=True)]
    for arg, default in [*pairs, *zip(args.kwonlyargs, args.kw_defaults, strict=True)]:
        if args.kwonlyargs and arg is args.kwonlyargs[0]:
            yield "*"
        typed = f"{arg.arg}: {_type(arg.annotation)}" if arg.annotation else arg.arg
        yield typed if default is None else f"{typed} = {ast.unparse(default)}"
    if args.kwarg:
        yield f"**{args.kwarg.arg}"


def _type(node: ast.expr | None) -> str:
    """An annotation without the quotes of a type that is not imported."""
    return "" if node is None else ast.unparse(node).replace("'", "").replace("pd.", "pandas.")


def _words(node: ast.FunctionDef) -> str:
    """A docstring as Markdown: its parts as lists."""
    text, *parts = _PARTS.split(ast.get_docstring(node) or "")
    written = [text.strip()]
    for name, body in zip(parts[::2], parts[1::2], strict=True):
        if name in ("Args", "Raises", "Attributes"):
            _, *entries = _ENTRY.split(body)
            lead = "- raises" if name == "Raises" else "-"
            items = zip(entries[::2], entries[1::2], strict=True)
            written += ["", *(f"{lead} `{key}`: {_on_a_line(meaning)}" for key, meaning in items)]
        else:
            written += ["", f"- returns: {_on_a_line(body)}"]
    return "\n".join(written)


def _on_a_line(text: str) -> str:
    return " ".join(text.split())
