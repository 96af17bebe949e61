"""The page of data sets that come with Frugal: what each YAML says of itself."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from frugal.core.declarations import PROJECT
from frugal.core.schema_check import read_yaml
from frugal.run.reference.markdown import head, lines_of, table

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
        "Tables whose YAML comes with Frugal. How many rows are kept, and what files and names may "
        "hold: [files and names](files.md). A table of one's own is described in the same way: "
        "[template.yaml](../../config/datasets/template.yaml).\n",
        "## Overview\n",
        table(
            ["name", "title", "file", "columns, panels", "label"],
            [_overview(one) for one in tables.values()],
        ),
        "Searches, for the study `treatment`:\n",
        table(
            ["name", "title", "actions, results"],
            [(f"[`{s['name']}`](#{s['name']})", s["title"], _search(s)) for s in searches.values()],
        ),
    ]
    parts += [_entry(path, one) for path, one in {**tables, **searches}.items()]
    return "\n".join(parts)


def _overview(told: Mapping[str, Any]) -> tuple[str, ...]:
    label = " / ".join(str(one["name"]) for one in told["label"]["classes"])
    kind = str(told["source"]["kind"])
    return (
        f"[`{told['name']}`](#{told['name']})",
        told["title"],
        _KINDS.get(kind, kind),
        f"{len(told['columns'])}, {len(told['panels'])}",
        label,
    )


def _search(told: Mapping[str, Any]) -> str:
    actions, results = told.get("actions"), told.get("results")
    return f"{len(actions)}, {'/'.join(map(str, results))}" if actions and results else ""


def _entry(path: Path, told: Mapping[str, Any]) -> str:
    """A heading, the note, and where the file is from."""
    place = path.relative_to(PROJECT)
    words = [f"## {told['name']}\n", f"{lines_of(told['note'])}\n"]
    facts = []
    if isinstance(told.get("cost_unit"), str):
        facts.append(f"Unit of cost: {told['cost_unit']}.")
    if told.get("sensitive"):
        facts.append(f"Groups: {_groups(told['sensitive'])}.")
    addresses = [file["url"] for file in _files(told) if file.get("url")]
    facts += [f"From <{address}>." for address in dict.fromkeys(addresses)]
    facts.append(f"Described in [{place.name}](../../{place.as_posix()}).")
    return "\n".join([*words, lines_of(" ".join(facts)), ""])


def _files(told: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return (told.get("source") or told).get("files") or []


def _groups(said: Any) -> str:
    """The column of the protected attribute, and its groups where they are named."""
    if isinstance(said, str):
        return f"by `{said}`"
    return f"{' / '.join(str(one['name']) for one in said['groups'])}, by `{said['column']}`"
