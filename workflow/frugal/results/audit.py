"""Checks of the files under results/: strays, digests, chains back to raw data, steps run again.

Files are held against their manifests; the chain from a file, or from some rows of a table, is a
tree of lines. Knows manifests, and no stage.
"""

import glob
import re
import tempfile
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd

from frugal.core.blocks import SEEDS, Portion
from frugal.core.errors import DataError, FrugalError
from frugal.core.schema_check import did_you_mean, listed
from frugal.results.differences import IDENTITY
from frugal.results.files import file_digest, hive_keys, read_payload
from frugal.results.manifests import (
    RESULTS,
    STEPS,
    AuditError,
    Job,
    load_manifest,
    load_record,
    manifest_paths,
    records_of,
)
from frugal.results.replacing import is_leftover

Digest = Callable[[Path], str]
RunJob = Callable[[Job], None]

_GUIDE = RESULTS / "README.md"
_CHECKPOINT = re.compile(r"\.(.+)\.checkpoint-[0-9a-f]{16}\.safetensors", re.S)


def recorded_files(folder: Path) -> tuple[dict[Path, dict[str, Any]], list[str]]:
    """The record of every file that a step has made, and a sentence for each other file there is.

    And one for each manifest that is none.

    Args:
        folder: results/, or a folder below.
    """
    records: dict[Path, dict[str, Any]] = {}
    sentences, doubtful = [], set()  # folders whose files a manifest that is none may have named
    manifests = manifest_paths()
    for path in manifests:
        try:
            described = records_of(load_manifest(path), path)
        except AuditError as error:
            sentences.append(str(error))
            doubtful.add(RESULTS / path.parent.relative_to(STEPS))
        else:
            records |= {Path(payload): record for payload, record in described.items()}
    known, apart = {*records, *manifests, _GUIDE}, {*own_results(folder)}
    for path in sorted(folder.rglob("*")):
        # a pipe or a device has no place there either
        stray = path not in known and (not path.is_dir() or path.is_symlink())
        stray &= apart.isdisjoint(path.parents)
        if stray and path.parent not in doubtful and (reason := _why_stray(path)):
            sentences.append(f"{path}: {reason}")
    return {p: r for p, r in sorted(records.items()) if p.is_relative_to(folder)}, sentences


def own_results(folder: Path) -> list[Path]:
    """Folders below that hold results of their own, as that of one's own table does."""
    return sorted(path.parents[1] for path in folder.rglob(STEPS.as_posix()))


def edited_copies(folder: Path, payloads: Iterable[Path]) -> list[str]:
    """A sentence for each answer next to results/ that is no copy of the one that a step made."""
    answers = [path for path in payloads if path.parent == folder == RESULTS and path.is_file()]
    return [
        f"{path.name}: is not as {path}, of which it should be a copy; the next start copies it"
        for path in answers
        if Path(path.name).is_file() and Path(path.name).read_bytes() != path.read_bytes()
    ]


def _why_stray(path: Path) -> str:
    """Problem of a file that no manifest names; empty for the checkpoint of a running step."""
    if is_leftover(path):
        return (
            "was left by a writer that was interrupted, or is still at work; nothing reads it, and "
            "the next start of Snakemake on that machine removes it"
        )
    if _CHECKPOINT.fullmatch(path.name):
        return ""
    return "no manifest names it; no step has made it"


FETCHED = "fetch_file"  # the stage whose input is the publisher
_SHOWN_ROWS = 3


@dataclass(frozen=True)
class RowSelection:
    """Selected rows: the values that identify them, as text.

    Attributes:
        values: identity column → the values that the rows have in it; empty for all rows.
    """

    values: Mapping[str, frozenset[str]]

    def exclude(self, path: str) -> bool:
        """True where a path's folders show that it holds other rows only."""
        keys = hive_keys(Path(path))
        if SEEDS in keys and "seed" in self.values:
            inside = {str(seed) for seed in Portion.of({SEEDS: keys[SEEDS]}).seeds or ()}
            if not inside & self.values["seed"]:
                return True
        return any(keys[k] not in self.values[k] for k in keys.keys() & self.values.keys())

    def count(self, path: Path) -> str:
        """`, 40 of 114 rows` of a table with identity columns; else empty."""
        if path.suffix != ".parquet" or not self.values:
            return ""
        table = read_payload(path)
        shared = [name for name in self.values if name in table.columns]
        if not shared:
            return ""
        selected = pd.Series(True, index=table.index)
        for name in shared:
            selected &= table[name].astype(str).isin(self.values[name])
        return f", {int(selected.sum())} of {len(table)} rows"


ALL_ROWS = RowSelection({})


@dataclass(frozen=True)
class Link:
    """One file of a chain.

    Attributes:
        depth: steps from the file in question.
        path: of the file.
        document: its record.
        again: True where the chain has shown it before.
        left_out: inputs under results/ that hold other rows only.
    """

    depth: int
    path: Path
    document: Mapping[str, Any]
    again: bool
    left_out: int


def chain(payload: Path, rows: RowSelection = ALL_ROWS) -> Iterator[Link]:
    """The files behind a payload, itself first, those of other rows left out.

    Raises:
        AuditError: a manifest on the way is lacking or was edited.
    """
    visited: set[Path] = set()

    def walk(path: Path, depth: int) -> Iterator[Link]:
        document, again = load_record(path), path in visited
        visited.add(path)
        inputs = [r["path"] for r in document["inputs"] if r["path"].startswith("results/")]
        followed = [p for p in inputs if not rows.exclude(p)] or inputs
        yield Link(depth, path, document, again, len(inputs) - len(followed))
        if not again:
            for name in followed:
                yield from walk(Path(name), depth + 1)

    return walk(payload, 0)


def chain_lines(payload: Path, rows: RowSelection = ALL_ROWS) -> Iterator[str]:
    """The chain from a file back to raw data, one line per file, indented by distance.

    External files, and the publisher's address of fetched ones, have their full SHA-256.
    """
    for link in chain(payload, rows):
        pad, document = "  " * link.depth, link.document
        note = " (shown above)" if link.again else rows.count(link.path)
        yield f"{pad}{link.path}  sha256 {document['sha256'][:12]}  by {document['stage']}{note}"
        if link.again:
            continue
        for record in document["inputs"]:
            if not record["path"].startswith("results/"):
                yield f"{pad}  {record['path']}  sha256 {record['sha256']}  from outside"
        if document["stage"] == FETCHED:
            settings = document["settings"]
            if not isinstance(settings, dict) or not {"url", "sha256"} <= settings.keys():
                raise AuditError(f"{link.path}: its manifest has no address: {settings!r}")
            yield f"{pad}  {settings['url']}  sha256 {settings['sha256']}  as published"
        if link.left_out:
            yield f"{pad}  ({link.left_out} more inputs hold other rows)"


def selected_rows(payload: Path, words: str) -> tuple[pd.DataFrame, RowSelection]:
    """The rows of a table that `agent=never,seed=0` names, and the values that identify them.

    Raises:
        AuditError: the file is no table, a column is not there, or no row has the values.
    """
    if payload.suffix != ".parquet":
        raise AuditError(f"{payload}: has no rows; --row needs a table (.parquet)")
    try:
        table = read_payload(payload)
    except DataError as error:
        raise AuditError(str(error)) from None
    for word in words.split(","):
        name, equals, value = word.partition("=")
        columns = [str(column) for column in table.columns]
        if not equals:
            raise AuditError(
                f"{payload}: --row {word!r} is not COLUMN=VALUE; columns are {listed(columns)}"
            )
        if name not in columns:
            raise AuditError(
                f"{payload}: --row names the column {name!r}; columns are {listed(columns)}"
                f"{did_you_mean(name, columns)}"
            )
        matching = table[table[name].map(lambda cell, value=value: _is(cell, value)).astype(bool)]
        if matching.empty:
            present = ", ".join(dict.fromkeys(table[name].astype(str)))
            raise AuditError(f"{payload}: no row has {name}={value}; {name} is {present[:200]}")
        table = matching
    names = [name for name in IDENTITY if name in table.columns]
    return table, RowSelection({name: frozenset(table[name].astype(str)) for name in names})


def row_lines(table: pd.DataFrame, document: Mapping[str, Any]) -> Iterator[str]:
    """The stored rows, one value per line, with units."""
    units = {column["name"]: column["unit"] for column in document.get("columns", [])}
    for row in table.head(_SHOWN_ROWS).to_dict("records"):
        for name, value in row.items():
            yield f"{name} = {value} {units.get(str(name), '')}".rstrip()
        yield ""
    if len(table) > _SHOWN_ROWS:
        yield from (f"and {len(table) - _SHOWN_ROWS} more rows", "")


def _is(cell: Any, value: str) -> bool:
    """Equal as text, or as numbers."""
    if str(cell) == value:
        return True
    try:
        return not isinstance(cell, str) and float(cell) == float(value)
    except (TypeError, ValueError):
        return False


class Outside:
    """The files that results were made from and that no step has made, by name and digest.

    Args:
        folders: where to look.
        digest: of a file; one that remembers saves time where many payloads share inputs.
    """

    def __init__(self, folders: Iterable[Path], digest: Digest = file_digest) -> None:
        self.folders, self.digest = tuple(folders), digest
        self.absent: dict[str, None] = {}  # names of which there is no file
        self._named = cache(self._search)

    def _search(self, name: str) -> list[Path]:
        matches = (sorted(folder.rglob(glob.escape(name))) for folder in self.folders)
        return [path for paths in matches for path in paths if path.is_file()]

    def locate(self, record: Mapping[str, str], payload: str) -> Path | None:
        """The file of an input of a payload; None where no file of its name is there.

        Raises:
            AuditError: it is missing though a step has made it, or only another one has its name.
        """
        name = record["path"]
        if name.startswith("results/"):
            if not Path(name).is_file():
                raise AuditError(f"{name}: is missing, but {payload} was made from it")
            candidates = [Path(name)]
        else:
            candidates = self._named(name)
        same = (path for path in candidates if self.digest(path) == record["sha256"])
        path = next(same, None)
        if path is None and candidates:
            more = "" if name.startswith("results/") else "; name the folder of that by --look-in"
            raise AuditError(f"{candidates[0]}: is not the file that {payload} was made from{more}")
        if path is None:
            self.absent[name] = None
        return path


def check_payload(payload: Path, document: Mapping[str, Any], outside: Outside) -> None:
    """Check one payload against its record, and the recorded inputs against the files.

    Raises:
        AuditError: names the file and the difference.
    """
    if not payload.is_file():
        raise AuditError(
            f"{payload}: is missing, but {document['stage']} has made it ({document['manifest']})"
        )
    digest = outside.digest(payload)
    if digest != document["sha256"]:
        raise AuditError(f"{payload}: SHA-256 is {digest}, its manifest has {document['sha256']}")
    _inputs(document, outside)


def _inputs(document: Mapping[str, Any], outside: Outside) -> list[Path | None]:
    """The file of each recorded input, in order."""
    payload = document["path"]
    return [outside.locate(record, payload) for record in document["inputs"]]


def rerun(
    document: Mapping[str, Any], outside: Outside, trusted: Collection[str] | None, run_job: RunJob
) -> str:
    """Run a recorded step again in a temporary folder and compare bytes.

    Args:
        document: the step's record.
        outside: where its inputs from outside lie.
        trusted: SHA-256 of the files whose code may be run; None: the step runs no file's code.
        run_job: runs a stage and writes its outputs.

    Returns:
        Why the step was not run; empty where it gave the same bytes.

    Raises:
        AuditError: an output differs; names the file.
    """
    inputs: dict[str, Path | list[Path]] = {}
    for record, path in zip(document["inputs"], _inputs(document, outside), strict=True):
        if path is None:
            return f"{record['path']} from outside was not found"
        is_result = path.resolve().is_relative_to(RESULTS.resolve())  # which no code is run from
        if trusted is not None and not is_result and record["sha256"] not in trusted:
            return f"it would run the code of {path}, which --trust-code {path} allows"
        if record["name"].endswith("[]"):
            group = inputs.setdefault(record["name"][:-2], [])
            if not isinstance(group, list):
                raise AuditError(f"an input is both a file and a list of files: {record!r}")
            group.append(path)
        else:
            inputs[record["name"]] = path
    stage = document["stage"]
    with tempfile.TemporaryDirectory() as temporary:
        outputs = {
            name: Path(temporary, name, Path(original).name)
            for name, original in document["outputs"].items()
        }
        _run(document, inputs, outputs, run_job)
        for name, made_again in outputs.items():
            original = Path(document["outputs"][name])
            record = load_record(original)
            if any(record[key] != document[key] for key in ("stage", "outputs")):
                continue  # a step that makes other files has replaced it
            if made_again.read_bytes() != original.read_bytes():
                raise AuditError(f"{original}: running stage {stage} again gives other bytes")
    return ""


def _run(
    document: Mapping[str, Any],
    inputs: Mapping[str, Path | list[Path]],
    outputs: Mapping[str, Path],
    run_job: RunJob,
) -> None:
    """Run a step as recorded in its manifest; errors of the stage are returned as a sentence."""
    stage = document["stage"]
    words = (document[key] for key in ("settings", "wildcards", "seed"))
    arithmetic = document["arithmetic"].split()[0]
    try:
        run_job(Job(stage, inputs, outputs, *words, arithmetic=arithmetic))
    except FrugalError:
        raise
    except Exception as error:  # its settings are checked where a study starts, not here
        raise AuditError(
            f"{document['path']}: running stage {stage} again as in "
            f"its manifest ends in {type(error).__name__}: {' '.join(str(error).split())[:300]}"
        ) from None
