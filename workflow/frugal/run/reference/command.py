"""`python -m frugal reference`: the derived pages, printed or written.

python -m frugal reference PAGE              # prints one
python -m frugal reference --into FOLDER     # writes all
"""

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from frugal.config.parts import part_keys
from frugal.core import columns as shared
from frugal.core.arguments import command_parser
from frugal.core.declarations import PACKAGE, PROJECT
from frugal.core.errors import ConfigError
from frugal.core.schema_check import did_you_mean, read_yaml
from frugal.results.sidecars import write_apart
from frugal.run.reference.parts import head, lines_of, table
from frugal.run.reference.schemas import agents_page, config_page, figures_page, methods_page

_Columns = Mapping[str, tuple[str, str]]
_Patterns = Sequence[tuple[str, tuple[str, str]]]


def columns_page() -> str:
    """Columns of several studies, then of each."""
    parts = [
        head("Columns", "columns"),
        "Columns of all Parquet tables under `results/`. The sidecar of a table (`_NAME.json`) "
        "has the same for its own columns. Tables by stage: [outputs](outputs.md).\n",
        "## Of several studies\n",
        _rows(shared.COLUMNS, shared.PATTERNS),
    ]
    places = {"answers": "frugal.answer"} | {
        path.parent.name: f"frugal.studies.{path.parent.name}"
        for path in sorted(PACKAGE.glob("studies/*/columns.py"))
    }
    shown: set[str] = set()
    for title, place in places.items():
        columns = import_module(f"{place}.columns")
        own = {name: text for name, text in columns.COLUMNS.items() if name not in shown}
        shown |= set(columns.COLUMNS) if title == "answers" else set()
        parts += [f"## Of {title}\n", _rows(own, columns.PATTERNS if title != "afape" else ())]
    return "\n".join(parts)


def _rows(columns: _Columns, patterns: _Patterns) -> str:
    """Columns by name; of those that are many, the form of their names."""
    rows = [(f"`{name}`", unit, meaning) for name, (unit, meaning) in sorted(columns.items())]
    for pattern, (unit, meaning) in patterns:
        name = pattern.replace("(.+)", "…").replace("\\", "")
        rows.append((f"`{name}`", unit, meaning.format(*["…"] * 9)))
    return table(["column", "unit", "meaning"], rows)


FOLDER = PROJECT / "config" / "datasets"
_KINDS = {
    "generator": "simulated here",
    "download": "downloaded",
    "path": "a file that you name",
    "bundled": "with a library",
}


def data_sets_page() -> str:
    """An overview, then each data set with its note."""
    paths = [path for path in sorted(FOLDER.glob("*.yaml")) if path.stem != "template"]
    tables = {path: read_yaml(path) for path in paths}
    searches = {path: read_yaml(path) for path in sorted(FOLDER.glob("treatment/*.yaml"))}
    parts = [
        head("Data sets", "data_sets"),
        "Tables whose YAML comes with Frugal. How many rows are kept, and limits on files and "
        "names: [files and names](files.md). A table of one's own is described in the same way: "
        "[template.yaml](../../config/datasets/template.yaml).\n",
        "## Overview\n",
        table(
            ["name", "title", "file", "columns, panels", "label"],
            [_table_row(document) for document in tables.values()],
        ),
        "Searches, for the study `treatment`:\n",
        table(
            ["name", "title", "actions, results"],
            [(f"[`{s['name']}`](#{s['name']})", s["title"], _search(s)) for s in searches.values()],
        ),
    ]
    parts += [_entry(path, document) for path, document in {**tables, **searches}.items()]
    return "\n".join(parts)


def _table_row(document: Mapping[str, Any]) -> tuple[str, ...]:
    label = " / ".join(str(entry["name"]) for entry in document["label"]["classes"])
    kind = str(document["source"]["kind"])
    return (
        f"[`{document['name']}`](#{document['name']})",
        document["title"],
        _KINDS.get(kind, kind),
        f"{len(document['columns'])}, {len(document['panels'])}",
        label,
    )


def _search(document: Mapping[str, Any]) -> str:
    actions, results = document.get("actions"), document.get("results")
    return f"{len(actions)}, {'/'.join(map(str, results))}" if actions and results else ""


def _entry(path: Path, document: Mapping[str, Any]) -> str:
    """A heading, the note, and where the file is from."""
    place = path.relative_to(PROJECT)
    words = [f"## {document['name']}\n", f"{lines_of(document['note'])}\n"]
    facts = []
    if isinstance(document.get("cost_unit"), str):
        facts.append(f"Unit of cost: {document['cost_unit']}.")
    if document.get("sensitive"):
        facts.append(f"Groups: {_groups(document['sensitive'])}.")
    addresses = [file["url"] for file in _files(document) if file.get("url")]
    facts += [f"From <{address}>." for address in dict.fromkeys(addresses)]
    facts.append(f"Described in [{place.name}](../../{place.as_posix()}).")
    return "\n".join([*words, lines_of(" ".join(facts)), ""])


def _files(document: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return (document.get("source") or document).get("files") or []


def _groups(sensitive: Any) -> str:
    """The column of the protected attribute, and its groups where they are named."""
    if isinstance(sensitive, str):
        return f"by `{sensitive}`"
    names = " / ".join(str(group["name"]) for group in sensitive["groups"])
    return f"{names}, by `{sensitive['column']}`"


PAGES: dict[str, Callable[[], str]] = {
    "config": config_page,
    "columns": columns_page,
    "methods": methods_page,
    "agents": agents_page,
    "figures": figures_page,
    "data_sets": data_sets_page,
}


_TYPES = {"Switch": "bool", "Amount": "float", "Number": "int", "InputFile": "str | Path"}
OPTIONS = PACKAGE / "library" / "part_options.py"


def part_options() -> str:
    """The module that names the arguments of parts for type checkers and completion."""
    keys = "".join(f"    {key}: {_TYPES[one.word]} | None\n" for key, one in part_keys().items())
    return f'''"""Arguments that parts of the answer add, for type checkers and completion.

Made by `python -m frugal reference` from the declarations of `answer/parts/`; not edited by hand.
"""

from pathlib import Path
from typing import TypedDict


class PartOptions(TypedDict, total=False):
    """Arguments of parts of the answer; see `load`."""

{keys}'''


def reference_command(words: list[str]) -> int:
    """Print one page, or write all; returns the exit status.

    Raises:
        ConfigError: there is no such page, or neither a page nor a folder is given.
    """
    parser = command_parser("reference", "Pages made from the declarations.")
    parser.add_argument("page", nargs="?", metavar="PAGE", help=", ".join(PAGES))
    parser.add_argument("--into", type=Path, metavar="FOLDER", help="write all pages there")
    args = parser.parse_args(words)
    if (args.page is None) == (args.into is None):
        raise ConfigError(f"allowed is one page of {', '.join(PAGES)}, or --into FOLDER for all")
    if args.page is not None:
        if args.page not in PAGES:
            hint = did_you_mean(args.page[:100], PAGES)
            raise ConfigError(
                f"there is no page {args.page[:50]!r}{hint}; allowed are {', '.join(PAGES)}"
            )
        print(PAGES[args.page](), end="")
        return 0
    if not args.into.is_dir():
        raise ConfigError(f"--into {args.into} is no folder")
    for name, page in PAGES.items():
        write_apart(args.into / f"{name}.md", page().encode())
    write_apart(OPTIONS, part_options().encode())
    return 0
