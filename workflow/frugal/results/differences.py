"""`python -m frugal diff A B`: which numbers moved between two folders of results, and why.

Every file that differs is followed back through its manifests to the first steps whose recipe
differs: a parameter, the root seed, a file from outside, the code, or the locked environment. Knows
manifests; must not depend on any stage.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from frugal.core.errors import DataError
from frugal.core.schema_check import listed
from frugal.results.files import file_digest, read_payload
from frugal.results.manifests import RESULTS, STEPS, AuditError, load_record
from frugal.results.sources import STAGES, reached_modules

# Columns that identify a row, in the order in which they are shown; a table has some of them.
IDENTITY = (
    *("dataset", "mechanism", "variant", "subset", "method", "agent", "generator", "grid"),
    *("family", "criterion", "encoder", "imputer", "pair", "setting", "split", "score"),
    *("target", "learner", "network", "stratum", "iteration", "steps"),
    *("planner", "outcome_model", "bound", "n_train", "threshold", "lambda", "rho", "gamma"),
    *("estimator", "world", "view", "nuisance", "panel", "facet", "series", "group", "parameter"),
    *("fold", "seed", "draw", "resample", "epoch", "round", "bin", "actions", "row_id", "patient"),
    *("context", "step", "trial", "trials", "history_index"),
)


DRAWN = (".png", ".pdf", ".html")  # drawn from a table in the same folder


def file_changes(a: Path, b: Path) -> list[str]:
    """Differences between two files of one type, one sentence each; by their suffix.

    Raises:
        DataError: one of them does not have the content that its suffix states.
    """
    if a.suffix == ".parquet":
        return table_changes(read_payload(a), read_payload(b))
    if a.suffix == ".json":
        changes = leaf_changes(read_payload(a), read_payload(b))
        return [
            f"{key or 'document'}: {shown(old)} → {shown(new)}"
            for key, (old, new) in changes.items()
        ]
    if a.suffix == ".safetensors":
        return list(array_changes(read_payload(a), read_payload(b)))
    if a.suffix in DRAWN:
        return ["the drawing or page differs; its numbers are in the table of the same name"]
    return [f"{a.stat().st_size} bytes and {b.stat().st_size} bytes"]


def table_changes(a: pd.DataFrame, b: pd.DataFrame) -> list[str]:
    """Columns and rows that only one table has, and how far each shared column moved.

    Rows are matched by the columns of `IDENTITY` that both have; where these repeat, in order.
    """
    sentences = [
        f"columns only in {side}: {listed(only, at_most=len(only))}"
        for side, has, lacks in (("A", a, b), ("B", b, a))
        if len(only := has.columns.difference(lacks.columns, sort=False))
    ]
    keys = [name for name in IDENTITY if name in a.columns and name in b.columns]
    left, right = _matched(a, b, keys)
    if len(left) < max(len(a), len(b)):
        sentences.append(
            f"rows: {len(a) - len(left)} only in A, {len(b) - len(right)} only in B, "
            f"{len(left)} in both"
        )
    for name in left.columns:
        if name in right.columns and name not in keys:
            sentences += _column_changes(str(name), left, right, keys)
    return sentences or ["the same values, written otherwise (order of rows, or types)"]


def array_changes(a: Mapping[str, np.ndarray], b: Mapping[str, np.ndarray]) -> Iterator[str]:
    """How far each array of a safetensors file moved."""
    for name in sorted({*a, *b}):
        if name not in a or name not in b:
            yield f"array {name}: only in {'A' if name in a else 'B'}"
        elif a[name].shape != b[name].shape:
            yield f"array {name}: shape {a[name].shape} → {b[name].shape}"
        elif (moved := a[name] != b[name]).any():
            far = np.abs(a[name].astype(np.float64) - b[name].astype(np.float64)).max()
            yield f"array {name}: {moved.sum()} of {moved.size} values, most by {far:.6g}"


class _Lacking:
    """Placeholder for a value that one side does not have."""

    def __repr__(self) -> str:
        return "nothing"


LACKING = _Lacking()


def leaf_changes(a: Any, b: Any, at: str = "") -> dict[str, tuple[Any, Any]]:
    """Dotted key → (value in a, value in b) of every leaf that differs."""
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        pairs = [(f"{at}.{k}" if at else str(k), k) for k in dict.fromkeys([*a, *b])]
        parts = (leaf_changes(a.get(k, LACKING), b.get(k, LACKING), name) for name, k in pairs)
    elif isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
        parts = (
            leaf_changes(x, y, f"{at}[{k}]") for k, (x, y) in enumerate(zip(a, b, strict=True))
        )
    else:
        return {} if type(a) is type(b) and a == b else {at: (a, b)}
    return {key: pair for part in parts for key, pair in part.items()}


def shown(value: Any, at_most: int = 80) -> str:
    """A value on one line; a long one loses its middle."""
    text = repr(value) if isinstance(value, _Lacking) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= at_most else f"{text[: at_most - 20]}…{text[-15:]}"


def _matched(
    a: pd.DataFrame, b: pd.DataFrame, keys: list[str]
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The rows that both have, in the order of the first."""
    if not keys:
        shared_rows = min(len(a), len(b))
        return a.head(shared_rows), b.head(shared_rows)
    indexed = []
    for table in (a, b):
        as_objects = table.astype(dict.fromkeys(keys, object))  # categories hide equal values
        turn = as_objects.groupby(keys, dropna=False, sort=False).cumcount()
        index = pd.MultiIndex.from_arrays([*(as_objects[key] for key in keys), turn])
        indexed.append(as_objects.set_axis(index, axis=0))
    common = indexed[0].index.intersection(indexed[1].index, sort=False)
    return tuple(t.loc[common].reset_index(drop=True) for t in indexed)  # type: ignore[return-value]


def _column_changes(
    name: str, left: pd.DataFrame, right: pd.DataFrame, keys: list[str]
) -> list[str]:
    """One sentence if the column moved, with the row where it moved most."""
    old, new = left[name], right[name]
    numeric = all(pd.api.types.is_numeric_dtype(c) for c in (old, new))
    if not numeric:
        old, new = old.astype(object), new.astype(object)
    moved = ((old != new) & ~(old.isna() & new.isna())).to_numpy(dtype=bool)
    if not moved.any():
        return []
    rows = np.flatnonzero(moved)
    if numeric:
        change = np.abs(new.to_numpy(np.float64)[rows] - old.to_numpy(np.float64)[rows])
        where = int(
            rows[np.argmax(np.where(np.isnan(change), np.inf, change))]
        )  # a lost number is most
    else:
        where = int(rows[0])
    row = ", ".join(f"{key}={left.iloc[where][key]}" for key in keys) or f"row {where}"
    most = "most" if numeric and len(rows) > 1 else "first" if len(rows) > 1 else "it is"
    return [
        f"{name}: {len(rows)} of {len(left)} rows, {most} {_cell(old[where])} → "
        f"{_cell(new[where])} where {row}"
    ]


def _cell(value: Any) -> str:
    if pd.api.types.is_scalar(value) and pd.isna(value):
        return "empty"
    return f"{value:.6g}" if isinstance(value, float | np.floating) else str(value)


_UNCOMPARED = {RESULTS / "README.md", RESULTS / "report.html", RESULTS / "snakemake_report.html"}
_NAMED_MODULES = 6  # a longer list of modules that may have changed is not informative


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
class ResultsComparison:
    """Two folders that hold results/, and the findings so far about their files.

    Attributes:
        a: folder that holds the first results/.
        b: folder that holds the second.
        causes_of: path under results/ → causes, filled while files are followed.
    """

    a: Path
    b: Path
    causes_of: dict[str, frozenset[Cause]] = field(default_factory=dict)

    def differs(self, path: str) -> bool:
        """True where the bytes of a payload differ."""
        return file_digest(self.a / path) != file_digest(self.b / path)

    def causes(self, path: str) -> frozenset[Cause]:
        """Why a payload that both folders have differs: its own recipe's changes and its inputs'.

        An input counts only where its own bytes differ: an input without a trace explains nothing.

        Raises:
            AuditError: a manifest is lacking or was edited.
        """
        if path not in self.causes_of:
            self.causes_of[path] = (
                frozenset()
            )  # a cycle, which only a forged manifest has, ends here
            documents = [load_record(Path(path), folder) for folder in (self.a, self.b)]
            collected = set(self._edited(path, documents)) or {
                *recipe_changes(*documents),
                *self._lacking_inputs(documents),
            }
            for shared in _results_inputs(documents[0]) & _results_inputs(documents[1]):
                in_both = (self.a / shared).is_file() and (self.b / shared).is_file()
                if in_both and self.differs(shared):
                    collected |= self.causes(shared)
            stage = documents[0]["stage"]
            text = f"{stage} gave other bytes from the same inputs, parameters, seed, code and lock"
            self.causes_of[path] = frozenset(collected or {Cause("unexplained", stage, text)})
        return self.causes_of[path]

    def _edited(self, path: str, documents: Iterable[Mapping[str, Any]]) -> Iterator[Cause]:
        """A payload that disagrees with its own manifest needs no other explanation."""
        for side, folder, document in zip("AB", (self.a, self.b), documents, strict=True):
            if file_digest(folder / path) != document["sha256"]:
                text = f"{path} in {side} is not the file that its manifest describes"
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
    """Differences between the recipes of two records of one path, inputs under results/ aside."""
    stage = a["stage"]
    if stage != b["stage"]:
        yield Cause("code", stage, f"stage {stage} in A, {b['stage']} in B made it")
    for key, (old, new) in leaf_changes(a["settings"], b["settings"]).items():
        yield Cause(
            "parameter", stage, f"{key or 'settings'} is {shown(old)} in A, {shown(new)} in B"
        )
    if a["seed"] != b["seed"]:
        yield Cause("seed", "", f"the root seed is {a['seed']} in A, {b['seed']} in B")
    if a["arithmetic"] != b["arithmetic"]:
        text = f"arithmetic is {a['arithmetic']} in A, {b['arithmetic']} in B"
        yield Cause("arithmetic", "", text)
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
    paths = (p.relative_to(folder) for p in (folder / RESULTS).rglob("*") if p.is_file())
    return {
        path.as_posix()
        for path in paths
        if path.name[0] != "." and STEPS not in path.parents and path not in _UNCOMPARED
    }


def difference_lines(
    compared: ResultsComparison, moved: list[str], names: tuple[set[str], set[str]], files: int
) -> Iterator[str]:
    """All reported differences, one per line."""
    a, b = names
    yield f"A: {compared.a}"
    yield f"B: {compared.b}"
    yield f"{len(a & b) - len(moved)} files are the same, {len(moved)} differ"
    for side, only in (("A", a - b), ("B", b - a)):
        if only:
            yield f"only in {side}: {len(only)} files, first {min(only)}"
    behind = {path: compared.causes(path) for path in moved}
    causes = sorted({cause for of_file in behind.values() for cause in of_file})
    number = {cause: k + 1 for k, cause in enumerate(causes)}
    if causes:
        yield from ("", "Explanations")
    for cause in causes:
        count = sum(cause in of_file for of_file in behind.values())
        stage = f" of {cause.stage}" if cause.stage else ""
        yield f"  [{number[cause]}] {cause.kind}{stage}: {cause.text}  ({count} files behind it)"
    if any(cause.kind == "code" for cause in causes) and (hint := edited_modules(compared, a & b)):
        yield f"      if one module was edited, it is {hint}"
    if moved:
        yield from ("", "Changes")
    for path in moved[:files]:
        marks = " ".join(f"[{k}]" for k in sorted(number[c] for c in behind[path]))
        yield f"  {path}  {marks}"
        yield from (f"      {sentence}" for sentence in _changes(compared, path))
    if len(moved) > files:
        yield f"  and {len(moved) - files} more files (--files {len(moved)} describes them all)"


def _changes(compared: ResultsComparison, path: str) -> list[str]:
    try:
        return file_changes(compared.a / path, compared.b / path)
    except DataError as error:
        return [str(error)]


def edited_modules(compared: ResultsComparison, paths: Iterable[str]) -> str:
    """Modules that every stage with another source digest reaches and no stage with the same does.

    Judged by the imports of the code that runs this; empty where that narrows nothing down.
    """
    changed, same = set(), set()
    for path in paths:
        a, b = (load_record(Path(path), folder) for folder in (compared.a, compared.b))
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


def importance(path: str) -> tuple[bool, bool, str]:
    """Summaries first, drawings last: the most important files are listed first."""
    return not path.startswith("results/summary/"), path.endswith(DRAWN), path
