"""Sidecars: `_<file>.json` beside every payload says what it holds and what it was made from.

No clock, no host name, no absolute path: a rerun anywhere gives the same bytes.
"""

import hashlib
import json
import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from frugal.core.columns import describe_columns
from frugal.core.declarations import PROJECT
from frugal.core.errors import DataError
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
    """

    stage: str
    inputs: Mapping[str, Path | list[Path]]
    outputs: Mapping[str, Path]
    settings: Any
    wildcards: Mapping[str, str]
    seed: int
    arithmetic: str = FAST


def lock_digest() -> str:
    """SHA-256 of the lock from which the environment is made; in a wheel, of what is installed."""
    if LOCK.is_file():
        return file_digest(LOCK)
    return _digest_of_installed()


@cache
def _digest_of_installed() -> str:
    from importlib.metadata import distributions

    installed = sorted({f"{one.metadata['Name']}=={one.version}" for one in distributions()})
    return hashlib.sha256("\n".join(installed).encode()).hexdigest()


def sidecar_path(payload: Path) -> Path:
    """`results/x/_table.parquet.json` for `results/x/table.parquet`."""
    return payload.with_name(f"_{payload.name}.json")


def shown_path(path: Path) -> str:
    """A path as a sidecar shows it: from results/ on; a file from outside by its name alone."""
    return path.as_posix() if path.parts[:1] == ("results",) else path.name


def write_apart(path: Path, content: bytes) -> None:
    """Write a file that a person names, all of it or nothing; never over what a step has made.

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
            if path.is_dir():
                raise DataError(f"{path} is a folder; an input is a file")
            if not path.is_file():
                raise DataError(
                    f"{path} does not exist; it should have been made by an earlier step"
                )
            records.append({"name": key, "path": shown_path(path), "sha256": file_digest(path)})
    return records


def require_intact(job: Job) -> list[dict[str, str]]:
    """Refuse an input that is not what its sidecar says: cut off, edited, or of another step.

    What lies under results/ or benchmarks/ was made by a step, and has a sidecar. Another input
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
            if _is_made(path):
                raise DataError(
                    f"{path} has no sidecar {sidecar.name}, so that nothing vouches for it; remove "
                    "it, and run the step that makes both"
                )
            continue
        try:
            expected = json.loads(sidecar.read_bytes())["sha256"]
        except (ValueError, TypeError, KeyError, RecursionError):
            raise DataError(f"{sidecar} is not a sidecar that this project writes") from None
        if record["sha256"] != expected:
            raise DataError(
                f"{path} is not the file that its sidecar describes: it was changed, or is "
                "incomplete; remove both, and run the step that makes them"
            )
    return records


def _is_made(path: Path) -> bool:
    """True for a file in a folder that only steps write to."""
    return Path(os.path.relpath(path)).parts[0] in MADE_IN


def settled(seed: int, settings: Any, arithmetic: str) -> str:
    """What decides a step beside its inputs and its code, as JSON; fast arithmetic is not named."""
    return json.dumps([seed, settings, *recorded_arithmetic(arithmetic).values()])


def recorded_arithmetic(arithmetic: str) -> dict[str, str]:
    """What a sidecar says of it: nothing where it is fast, else name and digest of its pins."""
    if arithmetic == FAST:
        return {}
    return {"arithmetic": f"{arithmetic} {arithmetic_digest()[:12]}"}


def made_otherwise(
    sidecar: Path,
    wanted: str,
    files: Collection[str] = (),
    source: str | None = None,
    inputs: Mapping[str, Sequence[str | None]] | None = None,
) -> bool:
    """True where a file was made with another seed, settings, code, input or step than are wanted.

    Args:
        sidecar: may be missing, or be none; the step that reads the file will say so.
        wanted: of `settled`; settings that are null are those of a step without any.
        files: that the step makes, by which steps of the same settings are told apart.
        source: digest of the code; None: of any.
        inputs: name → SHA-256 of each file as it is now; None: unknown. None for all: any.
    """
    try:
        document = json.loads(sidecar.read_bytes())
        made = {Path(path).name for path in document["outputs"].values()} if files else set()
        found = [document["seed"], document["settings"], document.get("arithmetic", FAST)]
        read: dict[str, list[str]] = {}
        for record in document["inputs"]:
            read.setdefault(record["name"].removesuffix("[]"), []).append(record["sha256"])
        code = document["source"]
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return False
    seed, settings, *arithmetic = json.loads(wanted)
    return (
        made != {Path(path).name for path in files}
        or found != [seed, {} if settings is None else settings, *(arithmetic or [FAST])]
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
        found = json.loads(sidecar_path(payload).read_bytes())["sha256"]
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        return None
    return found if isinstance(found, str) else None


def sidecar_bytes(
    job: Job,
    name: str,
    payloads: Mapping[str, Any],
    content: bytes | Written,
    records: list[dict[str, str]],
) -> bytes:
    """The sidecar of one payload; made before any file, so that a refusal leaves nothing.

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
            disk is full; what was there before is there still.
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
    made = {path: sidecar_path(path) for path in job.outputs.values()}
    replace_files({**files, **receipt_file(job.stage, made, lock_digest())})


class Checkpoint:
    """The checkpoint of one job.

    Args:
        job: the run; its first output says where the checkpoint lies.
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
            DataError: what lies there cannot be read.
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
