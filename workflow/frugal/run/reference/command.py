"""`python -m frugal reference`: the derived pages, printed or written.

python -m frugal reference PAGE              # prints one
python -m frugal reference --into FOLDER     # writes all
"""

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from frugal.core.declarations import PROJECT
from frugal.core.errors import ConfigError
from frugal.core.schema_check import did_you_mean, read_yaml
from frugal.results.sidecars import write_apart
from frugal.run.arguments import command_parser
from frugal.run.reference.parts import head, lines_of, table
from frugal.run.reference.schemas import agents_page, config_page, methods_page

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
    said: dict[str, str] = {}
    parts += [_entry(path, document, said) for path, document in {**tables, **searches}.items()]
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


def _entry(path: Path, document: Mapping[str, Any], said: dict[str, str]) -> str:
    """A heading, the note without sentences of earlier ones, and where the file is from.

    Args:
        path: of the YAML.
        document: its content.
        said: sentence → the data set under which it is first; grows.
    """
    name, place = document["name"], path.relative_to(PROJECT)
    sentences = re.split(r"(?<=\w\w[.)?]) (?=[A-Z])", " ".join(document["note"].split()))
    earlier = dict.fromkeys(said[each] for each in sentences if each in said)
    own = [each for each in sentences if each not in said]
    said |= dict.fromkeys(own, name)
    if earlier:
        links = " and ".join(f"[`{each}`](#{each})" for each in earlier)
        own.append(f"{'The rest as' if own else 'As'} {links}.")
    words = [f"## {name}\n", f"{lines_of(' '.join(own))}\n"]
    facts = []
    if isinstance(document.get("cost_unit"), str):
        facts.append(f"Unit of cost: {document['cost_unit']}.")
    if document.get("sensitive"):
        facts.append(f"Groups: {_groups(document['sensitive'])}.")
    addresses = [file["url"] for file in _files(document) if file.get("url")]
    for folder in dict.fromkeys(address.rpartition("/")[0] for address in addresses):
        names = [a.rpartition("/")[2] for a in dict.fromkeys(addresses) if a.startswith(folder)]
        alone = f"<{folder}/{names[0]}>" if len(names) == 1 else f"<{folder}/>: {', '.join(names)}"
        facts.append(f"From {alone}.")
    facts.append(f"[YAML](../../{place.as_posix()}).")
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
    "methods": methods_page,
    "agents": agents_page,
    "data_sets": data_sets_page,
}


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
    return 0
