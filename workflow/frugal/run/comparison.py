"""`python -m frugal diff A B`: which numbers moved between two folders of results, and why.

Every file that differs is followed back through its sidecars to the first steps whose recipe
differs: a parameter, the root seed, a file from outside, the code, or the locked environment. Knows
sidecars; must not know what any stage computes.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from frugal.core.errors import DataError, say
from frugal.results.files import file_digest
from frugal.results.receipts import RESULTS, STEPS
from frugal.results.sidecars import FAST
from frugal.results.sources import STAGES, reached_modules
from frugal.run.arguments import command_parser, whole_number
from frugal.run.sidecar_checks import AuditError, load_sidecar
from frugal.run.table_changes import DRAWN, file_changes, leaf_changes, shown

_UNCOMPARED = {RESULTS / "README.md", RESULTS / "report.html", RESULTS / "snakemake_report.html"}
_NAMED_MODULES = 6  # a longer list of modules that may have changed says nothing


@dataclass(frozen=True, order=True)
class Cause:
    """One reason why files differ.

    Attributes:
        kind: parameter, seed, arithmetic, data, inputs, code, library, edited or unexplained.
        stage: the stage whose recipe differs; empty where every stage shares the reason.
        text: the difference in words.
    """

    kind: str
    stage: str
    text: str


@dataclass(frozen=True)
class Comparison:
    """Two folders that hold results/, and what was found out so far about their files.

    Attributes:
        a: folder that holds the first results/.
        b: folder that holds the second.
        known: path under results/ → causes, filled while files are followed.
    """

    a: Path
    b: Path
    known: dict[str, frozenset[Cause]] = field(default_factory=dict)

    def differs(self, path: str) -> bool:
        """True where the bytes of a payload differ."""
        return file_digest(self.a / path) != file_digest(self.b / path)

    def causes(self, path: str) -> frozenset[Cause]:
        """Why a payload that both folders have differs: its own recipe's changes and its inputs'.

        An input counts only where its own bytes differ: what left no trace explains nothing.

        Raises:
            AuditError: a sidecar is lacking or was edited.
        """
        if path not in self.known:
            self.known[path] = frozenset()  # a cycle, which only a forged sidecar has, ends here
            documents = [load_sidecar(folder / path) for folder in (self.a, self.b)]
            own = set(self._edited(path, documents)) or {
                *recipe_changes(*documents),
                *self._lacking_inputs(documents),
            }
            for shared in _results_inputs(documents[0]) & _results_inputs(documents[1]):
                if self._both_have(shared) and self.differs(shared):
                    own |= self.causes(shared)
            stage = documents[0]["stage"]
            text = f"{stage} gave other bytes from the same inputs, parameters, seed, code and lock"
            self.known[path] = frozenset(own or {Cause("unexplained", stage, text)})
        return self.known[path]

    def _both_have(self, path: str) -> bool:
        return (self.a / path).is_file() and (self.b / path).is_file()

    def _edited(self, path: str, documents: Iterable[Mapping[str, Any]]) -> Iterator[Cause]:
        """A payload that is not what its own sidecar says explains itself."""
        for side, folder, document in zip("AB", (self.a, self.b), documents, strict=True):
            if file_digest(folder / path) != document["sha256"]:
                text = f"{path} in {side} is not the file that its sidecar describes"
                yield Cause("edited", document["stage"], text)

    def _lacking_inputs(self, documents: list[dict[str, Any]]) -> Iterator[Cause]:
        """Files under results/ that only one of the two steps read."""
        a, b = (_results_inputs(document) for document in documents)
        for side, only in (("A", a - b), ("B", b - a)):
            if only:
                more = f" and {len(only) - 1} more" if len(only) > 1 else ""
                text = f"reads {min(only)}{more} only in {side}"
                yield Cause("inputs", documents[0]["stage"], text)


def recipe_changes(a: Mapping[str, Any], b: Mapping[str, Any]) -> Iterator[Cause]:
    """What differs between the recipes of two sidecars of one path, inputs under results/ aside."""
    stage = a["stage"]
    if stage != b["stage"]:
        yield Cause("code", stage, f"stage {stage} in A, {b['stage']} in B made it")
    for key, (old, new) in leaf_changes(a["settings"], b["settings"]).items():
        yield Cause(
            "parameter", stage, f"{key or 'settings'} is {shown(old)} in A, {shown(new)} in B"
        )
    if a["seed"] != b["seed"]:
        yield Cause("seed", "", f"the root seed is {a['seed']} in A, {b['seed']} in B")
    old, new = (document.get("arithmetic", FAST) for document in (a, b))
    if old != new:
        yield Cause("arithmetic", "", f"arithmetic is {old} in A, {new} in B")
    outside = [
        {(r["name"], r["path"]): r["sha256"] for r in d["inputs"] if not _inside(r)} for d in (a, b)
    ]
    for name, path in sorted({*outside[0], *outside[1]}):
        old, new = (digests.get((name, path), "nothing")[:12] for digests in outside)
        if old != new:
            yield Cause("data", "", f"{path} (input {name}) has SHA-256 {old} in A, {new} in B")
    if a["source"] != b["source"]:
        yield Cause(
            "code", stage, f"the source digest is {a['source'][:12]} in A, {b['source'][:12]} in B"
        )
    if a["environment"] != b["environment"]:
        old, new = a["environment"][:12], b["environment"][:12]
        yield Cause("library", "", f"requirements.lock has SHA-256 {old} in A, {new} in B")


def results_folder(path: Path) -> Path:
    """The folder that holds results/: the one given, or its parent if results/ itself is given.

    Raises:
        AuditError: neither is so.
    """
    if (path / "results").is_dir():
        return path
    if path.is_dir() and path.resolve().name == "results":
        return path.resolve().parent
    if not path.is_dir():
        raise AuditError(f"{path}: there is no such folder")
    raise AuditError(f"{path}: holds no folder results/, and is none")


def payload_names(folder: Path) -> set[str]:
    """Every payload under results/, as a path from results/ on."""
    found = (p.relative_to(folder) for p in (folder / RESULTS).rglob("*") if p.is_file())
    return {
        path.as_posix()
        for path in found
        if not path.name.startswith(("_", ".")) and path.parent != STEPS and path not in _UNCOMPARED
    }


def diff_command(words: list[str]) -> int:
    """`diff A B [--files N]`; returns 0 where every payload is the same, 1 where one differs.

    Raises:
        AuditError: a folder is none of results, or a sidecar on the way is lacking or edited.
    """
    parser = command_parser("diff", __doc__)
    parser.add_argument("a", type=Path, metavar="A", help="folder that holds results/")
    parser.add_argument("b", type=Path, metavar="B", help="the other one")
    parser.add_argument(
        "--files", type=whole_number(0), default=12, help="files to describe (default 12)"
    )
    parsed = parser.parse_args(words)
    compared = Comparison(results_folder(parsed.a), results_folder(parsed.b))
    a, b = payload_names(compared.a), payload_names(compared.b)
    if not a | b:
        raise AuditError(f"{parsed.a} and {parsed.b}: there is nothing to compare")
    moved = sorted((p for p in a & b if compared.differs(p)), key=_importance)
    say(*_lines(compared, moved, (a, b), parsed.files))
    return int(bool(moved or a ^ b))


def _lines(
    compared: Comparison, moved: list[str], names: tuple[set[str], set[str]], files: int
) -> Iterator[str]:
    """All that is said, a line each."""
    a, b = names
    yield f"A: {compared.a}"
    yield f"B: {compared.b}"
    yield f"{len(a & b) - len(moved)} files are the same, {len(moved)} differ"
    for side, only in (("A", a - b), ("B", b - a)):
        if only:
            yield f"only in {side}: {len(only)} files, first {min(only)}"
    behind = {path: compared.causes(path) for path in moved}
    causes = sorted({cause for found in behind.values() for cause in found})
    number = {cause: k + 1 for k, cause in enumerate(causes)}
    if causes:
        yield from ("", "What explains it")
    for cause in causes:
        count = sum(cause in found for found in behind.values())
        stage = f" of {cause.stage}" if cause.stage else ""
        yield f"  [{number[cause]}] {cause.kind}{stage}: {cause.text}  ({count} files behind it)"
    if any(cause.kind == "code" for cause in causes) and (hint := edited_modules(compared, a & b)):
        yield f"      if one module was edited, it is {hint}"
    if moved:
        yield from ("", "What moved")
    for path in moved[:files]:
        marks = " ".join(f"[{k}]" for k in sorted(number[c] for c in behind[path]))
        yield f"  {path}  {marks}"
        yield from (f"      {sentence}" for sentence in _changes(compared, path))
    if len(moved) > files:
        yield f"  and {len(moved) - files} more files (--files {len(moved)} describes them all)"


def _changes(compared: Comparison, path: str) -> list[str]:
    try:
        return file_changes(compared.a / path, compared.b / path)
    except DataError as error:
        return [str(error)]


def edited_modules(compared: Comparison, paths: Iterable[str]) -> str:
    """Modules that every stage with another source digest reaches and no stage with the same does.

    Judged by the imports of the code that runs this; empty where that narrows nothing down.
    """
    changed, same = set(), set()
    for path in paths:
        a, b = (load_sidecar(folder / path) for folder in (compared.a, compared.b))
        (same if a["source"] == b["source"] else changed).add(a["stage"])
    try:
        reached = [_reached(stage) for stage in sorted(changed)]
        spared = [_reached(stage) for stage in sorted(same)]
    except KeyError:  # a stage that has since been renamed
        return ""
    if not reached:
        return ""
    names = sorted(set.intersection(*reached).difference(*spared))
    return " or ".join(names) if 0 < len(names) <= _NAMED_MODULES else ""


def _reached(stage: str) -> set[str]:
    return set(reached_modules(f"{STAGES[stage]}:{stage}", "frugal.run.stage_command"))


def _inside(record: Mapping[str, str]) -> bool:
    return record["path"].startswith("results/")


def _results_inputs(document: Mapping[str, Any]) -> set[str]:
    return {record["path"] for record in document["inputs"] if _inside(record)}


def _importance(path: str) -> tuple[bool, bool, str]:
    """Summaries first, drawings last: what a person asks about stands on top."""
    return not path.startswith("results/summary/"), path.endswith(DRAWN), path
