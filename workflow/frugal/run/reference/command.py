"""`python -m frugal reference`: the derived pages, printed or written.

python -m frugal reference PAGE              # prints one
python -m frugal reference --into FOLDER     # writes all
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from frugal.config.parts import part_keys
from frugal.core.arguments import command_parser
from frugal.core.declarations import PACKAGE, PROJECT
from frugal.core.errors import ConfigError
from frugal.core.schema_check import did_you_mean, read_yaml
from frugal.results.manifests import write_apart
from frugal.run.reference.parts import head, table
from frugal.run.reference.schemas import agents_page, config_page, methods_page

FOLDER = PROJECT / "config" / "datasets"
_KINDS = {
    "generator": "simulated here",
    "download": "downloaded",
    "path": "a file that you name",
    "bundled": "with a library",
}


def data_sets_page() -> str:
    """One row for each data set, with its YAML."""
    paths = [path for path in sorted(FOLDER.glob("*.yaml")) if path.stem != "template"]
    columns = ["name", "title", "file", "columns, panels", "label"]
    searches = sorted(FOLDER.glob("treatment/*.yaml"))
    return "\n".join(
        [
            head("Data sets", "data_sets"),
            "Tables whose YAML comes with Frugal. The `note` of a YAML has the origin and licence "
            "of the data, how the label and the prices came about, and departures from the "
            "paper; `files` has the addresses. Rows kept, and limits on files and names: [files "
            "and names](files.md). A table of one's own is described in the same way: "
            "[template.yaml](../../config/datasets/template.yaml).\n",
            table(columns, [_table_row(path, read_yaml(path)) for path in paths]),
            "Searches, for the study `treatment`:\n",
            table(["name", "title", "actions, results"], map(_search, searches)),
        ]
    )


def _linked(path: Path, document: Mapping[str, Any]) -> str:
    return f"[`{document['name']}`](../../{path.relative_to(PROJECT).as_posix()})"


def _table_row(path: Path, document: Mapping[str, Any]) -> tuple[str, ...]:
    label = " / ".join(str(entry["name"]) for entry in document["label"]["classes"])
    kind = str(document["source"]["kind"])
    return (
        _linked(path, document),
        document["title"],
        _KINDS.get(kind, kind),
        f"{len(document['columns'])}, {len(document['panels'])}",
        label,
    )


def _search(path: Path) -> tuple[str, ...]:
    document = read_yaml(path)
    actions, results = document.get("actions"), document.get("results")
    sizes = f"{len(actions)}, {'/'.join(map(str, results))}" if actions and results else ""
    return (_linked(path, document), document["title"], sizes)


PAGES: dict[str, Callable[[], str]] = {
    "config": config_page,
    "methods": methods_page,
    "agents": agents_page,
    "data_sets": data_sets_page,
}


OPTIONS = PACKAGE / "library" / "part_options.py"


def part_options() -> str:
    """The module that names the arguments of parts for type checkers and completion."""
    types = {
        key: " | ".join(kind.__name__ for kind in added.python)
        for key, added in part_keys().items()
    }
    keys = "".join(f"    {key}: {kinds} | None\n" for key, kinds in types.items())
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
