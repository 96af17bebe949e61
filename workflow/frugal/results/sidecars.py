"""Sidecars: `_<file>.json` next to every payload describes its content and its inputs.

No clock, no host name, no absolute path: a rerun anywhere gives the same bytes.
"""

import hashlib
import json
import os
import re
import subprocess
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from frugal.core.columns import describe_columns
from frugal.core.declarations import PROJECT
from frugal.core.errors import DataError, FrugalError
from frugal.core.rows import require_file
from frugal.core.stored import Each, require_document
from frugal.results.files import (
    file_digest,
    json_bytes,
    payload_bytes,
    read_payload,
    seal,
    write_bytes,
)
from frugal.results.receipts import receipt_file
from frugal.results.replacing import (
    Grown,
    Written,
    finish_interrupted,
    replace_files,
    require_own_folders,
)
from frugal.results.sources import arithmetic_digest, columns_module, source_digest

MADE_IN = ("results", "benchmarks")
LOCK = PROJECT / "requirements.lock"
FAST = "fast"  # arithmetic as the machine has it, which no sidecar names


@dataclass(frozen=True)
class Job:
    """One run of a stage: all that decides its outputs.

    Attributes:
        stage: name of the stage and of its rule.
        inputs: name → path, or list of paths.
        outputs: name → path.
        settings: parameters from the config.
        wildcards: identity of the job.
        seed: root seed.
        arithmetic: fast, or portable, pinned before the process began.
        from_store: a storage plugin brought the inputs, and no sidecars, which no rule names.
    """

    stage: str
    inputs: Mapping[str, Path | list[Path]]
    outputs: Mapping[str, Path]
    settings: Any
    wildcards: Mapping[str, str]
    seed: int
    arithmetic: str = FAST
    from_store: bool = False


def lock_digest() -> str:
    """SHA-256 of the environment's lock file; in a wheel, of the installed packages."""
    if LOCK.is_file():
        return file_digest(LOCK)
    return _digest_of_installed()


@cache
def _digest_of_installed() -> str:
    from importlib.metadata import distributions

    installed = sorted(
        {f"{package.metadata['Name']}=={package.version}" for package in distributions()}
    )
    return hashlib.sha256("\n".join(installed).encode()).hexdigest()


def sidecar_path(payload: Path) -> Path:
    """`results/x/_table.parquet.json` for `results/x/table.parquet`."""
    return payload.with_name(f"_{payload.name}.json")


def shown_path(path: Path) -> str:
    """A path as a sidecar shows it: from results/ on; a file from outside by its name alone."""
    return path.as_posix() if path.parts[:1] == ("results",) else path.name


def write_apart(path: Path, content: bytes) -> None:
    """Write a file that a person names, all of it or nothing; never over a step's output.

    Raises:
        DataError: a step has made the file, it is a sidecar, or it cannot be written.
    """
    if sidecar_path(path).exists() or (path.name.startswith("_") and path.suffix == ".json"):
        raise DataError(f"{path} is a file that a step has made, or its sidecar; name another file")
    write_bytes(path, content)


def input_records(job: Job) -> list[dict[str, str]]:
    """Name, path and SHA-256 of every input file, in order.

    Raises:
        DataError: one is not there, or is a folder.
    """
    records = []
    for name, paths in job.inputs.items():
        for path in paths if isinstance(paths, list) else [paths]:
            key = f"{name}[]" if isinstance(paths, list) else name
            require_file(path)
            records.append({"name": key, "path": shown_path(path), "sha256": file_digest(path)})
    return records


def require_intact(job: Job) -> list[dict[str, str]]:
    """Refuse an input that disagrees with its sidecar: truncated, edited, or of another step.

    A file under results/ or benchmarks/ was made by a step, and has a sidecar. Another input
    without one comes from outside, or from somebody who works by hand.

    Returns:
        Those of `input_records`, from before anything is read.

    Raises:
        DataError: names the input, or a link by which an output would leave its folder.
    """
    paths = [
        p for group in job.inputs.values() for p in (group if isinstance(group, list) else [group])
    ]
    require_own_folders(job.outputs.values())
    finish_interrupted(path.parent for path in [*paths, *job.outputs.values()])
    records = input_records(job)
    for path, record in zip(paths, records, strict=True):
        sidecar = sidecar_path(path)
        if not sidecar.is_file():
            if not job.from_store and Path(os.path.relpath(path)).parts[0] in MADE_IN:
                raise DataError(
                    f"{path} has no sidecar {sidecar.name}, so nothing confirms its content; "
                    "remove it, and run the step that makes both"
                )
            continue
        expected = vouched_digest(path)
        if expected is None:
            raise DataError(f"{sidecar} is not a sidecar that this project writes")
        if record["sha256"] != expected:
            raise DataError(
                f"{path} is not the file that its sidecar describes: it was changed, or is "
                "incomplete; remove both, and run the step that makes them"
            )
    return records


def settled(seed: int, settings: Any, arithmetic: str) -> str:
    """Settings of a step other than its inputs and code, as JSON; fast arithmetic is omitted."""
    return json.dumps([seed, settings, *recorded_arithmetic(arithmetic).values()])


def recorded_arithmetic(arithmetic: str) -> dict[str, str]:
    """Its record in a sidecar: empty where it is fast, else name and digest of its pins."""
    if arithmetic == FAST:
        return {}
    return {"arithmetic": f"{arithmetic} {arithmetic_digest()[:12]}"}


def made_otherwise(
    sidecar: Path,
    expected: str,
    files: Collection[str] = (),
    source: str | None = None,
    inputs: Mapping[str, Sequence[str | None]] | None = None,
) -> bool:
    """True where a file was made with another seed, settings, code, input or step than are wanted.

    Args:
        sidecar: may be missing, or be none; the step that reads the file will report it.
        expected: of `settled`; settings that are null are those of a step without any.
        files: that the step makes, by which steps of the same settings are distinguished.
        source: digest of the code; None: of any.
        inputs: name → SHA-256 of each file as it is now; None: unknown. None for all: any.
    """
    try:
        document = json.loads(sidecar.read_bytes())
        names = {Path(path).name for path in document["outputs"].values()} if files else set()
        recorded = [document["seed"], document["settings"], document.get("arithmetic", FAST)]
        read: dict[str, list[str]] = {}
        for record in document["inputs"]:
            read.setdefault(record["name"].removesuffix("[]"), []).append(record["sha256"])
        code = document["source"]
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return False
    seed, settings, *arithmetic = json.loads(expected)
    return (
        names != {Path(path).name for path in files}
        or recorded != [seed, {} if settings is None else settings, *(arithmetic or [FAST])]
        or source not in (None, code)
        or (inputs is not None and _differ(inputs, read))
    )


def _differ(now: Mapping[str, Sequence[str | None]], then: Mapping[str, Sequence[str]]) -> bool:
    """Whether files are others than those of that time, where both are known."""
    if now.keys() != then.keys() or any(len(now[name]) != len(then[name]) for name in now):
        return True
    pairs = [pair for name in now for pair in zip(now[name], then[name], strict=True)]
    return any(digest not in (None, before) for digest, before in pairs)


def vouched_digest(payload: Path) -> str | None:
    """The SHA-256 that a file's sidecar states; None where none states it."""
    try:
        digest = json.loads(sidecar_path(payload).read_bytes())["sha256"]
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        return None
    return digest if isinstance(digest, str) else None


def sidecar_bytes(
    job: Job,
    name: str,
    payloads: Mapping[str, Any],
    content: bytes | Written,
    records: list[dict[str, str]],
) -> bytes:
    """The sidecar of one payload; made before any file, so a refusal leaves nothing.

    Args:
        job: the run that made it.
        name: of the output.
        payloads: all outputs of the job; a catalogue among them has the units of the features.
        content: bytes of this payload, or the hidden file that holds them.
        records: of `input_records`, shared by all outputs of the job.

    Raises:
        DataError: a column of the table has no description.
    """
    path = job.outputs[name]
    apart = isinstance(content, Written)
    document: dict[str, Any] = {
        "file": path.name,
        "sha256": content.sha256 if apart else hashlib.sha256(content).hexdigest(),
        "bytes": content.size if apart else len(content),
        "stage": job.stage,
        "output": name,
        "outputs": {key: shown_path(value) for key, value in job.outputs.items()},
        "wildcards": dict(job.wildcards),
        "seed": job.seed,
        "settings": job.settings,
        "inputs": records,
        "source": source_digest(job.stage, job.settings),
        "environment": lock_digest(),
    } | recorded_arithmetic(job.arithmetic)
    if path.suffix == ".parquet" and not isinstance(payloads[name], bytes):
        features = payloads.get("catalogue", {}).get("columns", [])
        table = payloads[name]
        document["rows"] = len(table)
        document["columns"] = describe_columns(
            table.head if isinstance(table, Grown) else table,
            {c["name"]: c["unit"] or "" for c in features},
            import_module(columns_module(job.stage)),
        )
    return json_bytes(document | {"seal": seal(document)})


def write_outputs(
    job: Job,
    payloads: Mapping[str, Any],
    contents: Mapping[str, bytes | Written],
    records: list[dict[str, str]],
) -> None:
    """Put every payload, its sidecar and the step's receipt in place, all of them or none.

    Args:
        job: the run that made them.
        payloads: by name of the output.
        contents: their bytes, or the hidden files that hold them.
        records: of `require_intact`, from before the inputs were read.

    Raises:
        DataError: an input has gone or is another one by now, a column has no description, or the
            disk is full; the former file is kept.
    """
    for before, now in zip(records, input_records(job), strict=True):
        if before != now:
            raise DataError(
                f"{now['path']} was changed while {job.stage} ran, which had read the former "
                "file; nothing is written; run the step again"
            )
    files: dict[Path, bytes | Written] = {}
    for name, content in contents.items():
        path = job.outputs[name]
        files[path] = content
        files[sidecar_path(path)] = sidecar_bytes(job, name, payloads, content, records)
    sidecars = {path: sidecar_path(path) for path in job.outputs.values()}
    replace_files({**files, **receipt_file(job.stage, sidecars, lock_digest())})


class Checkpoint:
    """The checkpoint of one job.

    Args:
        job: the run; its first output determines the path of the checkpoint.
    """

    def __init__(self, job: Job) -> None:
        first = next(iter(job.outputs.values()))
        self._job, self._folder = job, first.parent
        self._stem = f".{first.name}.checkpoint-"

    @cached_property
    def path(self) -> Path:
        """Where it lies, if there is one."""
        return self._folder / f"{self._stem}{_identity(self._job)}.safetensors"

    def load(self) -> dict[str, np.ndarray] | None:
        """The arrays that were saved last, or None.

        Raises:
            DataError: the file cannot be read.
        """
        if not self.path.is_file():
            return None
        try:
            return read_payload(self.path)
        except DataError as error:
            raise DataError(f"{error}; remove it, and the step starts anew") from None

    def save(self, state: Mapping[str, np.ndarray]) -> None:
        """Keep arrays, in place of those saved before; a killed write leaves those."""
        write_bytes(self.path, payload_bytes(self.path, state))

    def remove(self) -> None:
        """Remove it, and those that other versions of the same step have left behind."""
        for path in self._folder.glob(f"{self._stem}*"):
            path.unlink(missing_ok=True)


def _identity(job: Job) -> str:
    """Digest of all that decides the job's outputs but where they lie."""
    document = {
        "stage": job.stage,
        "settings": job.settings,
        "wildcards": dict(job.wildcards),
        "seed": job.seed,
        "inputs": [{k: r[k] for k in ("name", "sha256")} for r in input_records(job)],
        "source": source_digest(job.stage, job.settings),
    } | recorded_arithmetic(job.arithmetic)
    return hashlib.sha256(json_bytes(document)).hexdigest()[:16]


_FORM = {
    **dict.fromkeys(("file", "sha256", "stage", "output", "source", "environment", "seal"), str),
    **{"bytes": int, "seed": int, "settings": object, "wildcards": Each(str)},
    "outputs": Each(str),
    "inputs": [{"name": str, "path": str, "sha256": str}],
}
_NAME = re.compile(r"[A-Za-z_]\w*(\[\])?")
_DIGEST = re.compile(r"[0-9a-f]{64}")
_ARITHMETIC = re.compile(r"portable [0-9a-f]{12}")


class AuditError(FrugalError):
    """Files that disagree with their sidecars, a line for each."""


def load_sidecar(payload: Path) -> dict[str, Any]:
    """The sidecar of a payload, its form and its seal checked.

    Raises:
        AuditError: there is none, it is none that this project writes, or it was edited.
    """
    path = sidecar_path(payload)
    if not path.is_file():
        raise AuditError(f"{payload}: has no sidecar {path.name}")
    content = path.read_bytes()
    try:
        document = json.loads(content)
        sealed = document["seal"]
        as_written = json_bytes(document) == content and seal(document) == sealed
    except (ValueError, TypeError, KeyError, RecursionError):
        raise AuditError(f"{path}: is not a sidecar that this project writes") from None
    if not as_written:
        raise AuditError(f"{path}: was edited after it was written (its seal does not match)")
    try:
        require_document({k: document[k] for k in _FORM if k in document}, _FORM, "sidecar")
        flaw = _flaw(document)
    except DataError as error:
        flaw = str(error)
    if flaw:
        raise AuditError(f"{path}: is not a sidecar that this project writes: {flaw}")
    return document


def _flaw(document: dict[str, Any]) -> str:
    """Missing parts of a sealed document that make it no sidecar; empty if complete."""
    if "arithmetic" in document and not _ARITHMETIC.fullmatch(str(document["arithmetic"])):
        return f"'arithmetic' is {document['arithmetic']!r}"
    if not document["stage"].isidentifier():
        return f"'stage' is {document['stage']!r}"
    if document["output"] not in document["outputs"]:
        return f"'output' is {document['output']!r}, which is none of its outputs"
    for name, path in document["outputs"].items():
        if not _NAME.fullmatch(name) or not _stays_below(path):
            return f"output {name!r} is at {path!r}"
    for record in document["inputs"]:
        if not _NAME.fullmatch(record["name"]) or not _stays_below(record["path"]):
            return f"input {record['name']!r} is at {record['path']!r}"
        if not _DIGEST.fullmatch(record["sha256"]):
            return f"input {record['name']!r} has SHA-256 {record['sha256']!r}"
    return ""


def _stays_below(path: str) -> bool:
    """True for a relative path that does not leave the folder in which it is read."""
    return bool(path) and not Path(path).is_absolute() and ".." not in Path(path).parts


def made_by_other_code(document: Mapping[str, Any]) -> bool:
    """True where a sidecar's step would run other code now."""
    try:
        now = source_digest(document["stage"], document["settings"])
        arithmetic = document.get("arithmetic")
        pins = recorded_arithmetic(arithmetic.split()[0]) if arithmetic else {}
        return now != document["source"] or pins.get("arithmetic") != arithmetic
    except KeyError:  # a stage that has since been renamed
        return True


def commit_here() -> str | None:
    """The commit of the project's folder, and whether its code differs; None where git has none."""
    names = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}

    def git(*words: str) -> str:
        command = ["git", "--no-optional-locks", "-C", str(PROJECT), *words]
        done = subprocess.run(command, env=names, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    try:
        if Path(git("rev-parse", "--show-toplevel")) != PROJECT:  # installed inside another one
            return None
        changed = git("status", "--porcelain", "--untracked-files=no", "--", "workflow")
        return git("rev-parse", "HEAD") + (" with changes" if changed else "")
    except (OSError, subprocess.CalledProcessError):
        return None


def origins_of(job: Job) -> dict[str, Any]:
    """The inputs of a job by name, and every file that they come from, back to the raw data.

    Returns:
        `inputs`: name → paths. `files`: path → `sha256`, `bytes`, `stage`, `output`, `wildcards`,
        `rows` and `columns` of a table, and `inputs`, each with name, path and sha256; data that
        came from outside has no entry of its own. `url` is the publisher's address of a fetched
        file.

    Raises:
        AuditError: a sidecar on the way is lacking, or was edited.
    """
    files: dict[str, dict[str, Any]] = {}
    inputs = {
        name: [path.as_posix() for path in (paths if isinstance(paths, list) else [paths])]
        for name, paths in job.inputs.items()
    }
    waiting = [path for paths in inputs.values() for path in paths]
    while waiting:
        path = waiting.pop()
        if path in files or not path.startswith("results/"):
            continue
        document = load_sidecar(Path(path))
        files[path] = {
            key: document[key]
            for key in ("sha256", "bytes", "stage", "output", "wildcards", "rows", "columns")
            if key in document
        } | {"inputs": document["inputs"]}
        settings = document["settings"]
        if isinstance(settings, dict) and {"url", "sha256"} <= settings.keys():
            files[path]["url"] = settings["url"]
        waiting += [record["path"] for record in document["inputs"]]
    return {"inputs": inputs, "files": dict(sorted(files.items()))}
