"""Manifests: one sealed JSON per job describes its outputs, its inputs and its recipe.

It lies in `results/steps/`, apart from its files: a folder of results that is gone as a whole is
still missed. No clock, no host name, no absolute path: a rerun anywhere gives the same
bytes.
"""

import hashlib
import json
import os
import re
import subprocess
from collections.abc import Collection, Iterator, Mapping, Sequence
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
    sealed,
    write_bytes,
)
from frugal.results.replacing import Written, finish_interrupted, replace_files, require_own_folders
from frugal.results.sources import arithmetic_digest, columns_module, source_digest

RESULTS = Path("results")
STEPS = RESULTS / "steps"
MADE_IN = ("results", "benchmarks")
LOCK = PROJECT / "requirements.lock"
FAST = "fast"  # arithmetic as the machine has it, which no manifest names


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
        from_store: a storage plugin brought the inputs without manifests, which no rule names.
    """

    stage: str
    inputs: Mapping[str, Path | list[Path]]
    outputs: Mapping[str, Path]
    settings: Any
    wildcards: Mapping[str, str]
    seed: int
    arithmetic: str = FAST
    from_store: bool = False

    @property
    def input_files(self) -> list[tuple[str, Path]]:
        """Every input file with its name, that of several as one with `[]`."""
        return [
            (f"{name}[]" if isinstance(paths, list) else name, path)
            for name, paths in self.inputs.items()
            for path in (paths if isinstance(paths, list) else [paths])
        ]


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


def is_result(path: Path) -> bool:
    """True for a path below results/ that can be printed to a terminal unchanged."""
    return RESULTS in path.parents and ".." not in path.parts and str(path).isprintable()


def manifest_path(first: Path) -> Path:
    """Where the manifest of a job lies, from its first output.

    `results/steps/x/t.parquet.json` for `results/x/t.parquet`; next to one that lies elsewhere,
    `_t.parquet.json`.
    """
    if not is_result(first):
        return first.with_name(f"_{first.name}.json")
    return STEPS / first.relative_to(RESULTS).with_name(f"{first.name}.json")


def shown_path(path: Path) -> str:
    """A path as a manifest shows it: from results/ on; a file from outside by its name alone."""
    return path.as_posix() if path.parts[:1] == ("results",) else path.name


def write_apart(path: Path, content: bytes) -> None:
    """Write a file that a person names, all of it or nothing; never over a step's output.

    Raises:
        DataError: a step has made the file, it is a manifest, or it cannot be written.
    """
    if find_record(path) or STEPS in path.parents or re.fullmatch(r"_.*\.json", path.name, re.S):
        raise DataError(f"{path} is a file that a step has made, or a manifest; name another")
    write_bytes(path, content)


def input_records(job: Job) -> list[dict[str, str]]:
    """Name, path and SHA-256 of every input file, in order.

    Raises:
        DataError: one is not there, or is a folder.
    """
    records = []
    for name, path in job.input_files:
        require_file(path)
        records.append({"name": name, "path": shown_path(path), "sha256": file_digest(path)})
    return records


def require_intact(job: Job) -> list[dict[str, str]]:
    """Refuse an input that disagrees with its manifest: truncated, edited, or of another step.

    A file under results/ or benchmarks/ was made by a step, and a manifest names it. Another input
    comes from outside, or from somebody who works by hand.

    Returns:
        Those of `input_records`, from before anything is read.

    Raises:
        AuditError: a manifest is none, or was edited.
        DataError: names the input, or a link by which an output would leave its folder.
    """
    paths, outputs = [path for _, path in job.input_files], [*job.outputs.values()]
    require_own_folders([*outputs, *map(manifest_path, outputs[:1])])
    finish_interrupted(path.parent for path in [*paths, *outputs])
    records = input_records(job)
    for path, record in zip(paths, records, strict=True):
        described = find_record(path)
        if described is None:
            if not job.from_store and Path(os.path.relpath(path)).parts[0] in MADE_IN:
                raise DataError(
                    f"{path} is named by no manifest, so nothing confirms its content; "
                    "remove it, and run the step that makes it"
                )
        elif record["sha256"] != described["sha256"]:
            raise DataError(
                f"{path} is not the file that its manifest describes: it was changed, or is "
                "incomplete; remove it, and run the step that makes it"
            )
    return records


def settled(seed: int, settings: Any, arithmetic: str) -> str:
    """Settings of a step other than its inputs and code, as JSON."""
    return json.dumps([seed, settings, recorded_arithmetic(arithmetic)])


def recorded_arithmetic(arithmetic: str) -> str:
    """Its record in a manifest: fast, or portable with the digest of its pins."""
    return FAST if arithmetic == FAST else f"{arithmetic} {arithmetic_digest()[:12]}"


def made_otherwise(
    document: Mapping[str, Any],
    expected: str,
    files: Collection[str] = (),
    source: str | None = None,
    inputs: Mapping[str, Sequence[str | None]] | None = None,
) -> bool:
    """True where files were made with another seed, settings, code or input than are wanted.

    Args:
        document: their manifest.
        expected: of `settled`; settings that are null are those of a step without any.
        files: that the step makes now; none: any.
        source: digest of the code; None: of any.
        inputs: name → SHA-256 of each file as it is now; None: unknown. None for all: any.
    """
    names = {Path(output["path"]).name for output in document["outputs"].values()}
    recorded = [document["seed"], document["settings"], document["arithmetic"]]
    read: dict[str, list[str]] = {}
    for record in document["inputs"]:
        read.setdefault(record["name"].removesuffix("[]"), []).append(record["sha256"])
    seed, settings, arithmetic = json.loads(expected)
    return (
        names != ({Path(path).name for path in files} or names)
        or recorded != [seed, {} if settings is None else settings, arithmetic]
        or source not in (None, document["source"])
        or (inputs is not None and _differ(inputs, read))
    )


def _differ(now: Mapping[str, Sequence[str | None]], then: Mapping[str, Sequence[str]]) -> bool:
    """Whether files are others than those of that time, where both are known."""
    if now.keys() != then.keys() or any(len(now[name]) != len(then[name]) for name in now):
        return True
    pairs = [pair for name in now for pair in zip(now[name], then[name], strict=True)]
    return any(digest not in (None, before) for digest, before in pairs)


def manifest_bytes(
    job: Job,
    payloads: Mapping[str, Any],
    contents: Mapping[str, bytes | Written],
    records: list[dict[str, str]],
) -> bytes:
    """The manifest of a job; made before any file, so a refusal leaves nothing.

    Args:
        job: the run.
        payloads: all outputs; a catalogue among them has the units of the features.
        contents: their bytes, or the hidden files that hold them.
        records: of `input_records`.

    Raises:
        DataError: a column of a table has no description.
    """
    outputs, tables = {}, {}
    for name, content in contents.items():
        path, payload = job.outputs[name], payloads[name]
        apart = isinstance(content, Written)
        outputs[name] = {
            "path": shown_path(path),
            "sha256": content.sha256 if apart else hashlib.sha256(content).hexdigest(),
            "bytes": content.size if apart else len(content),
        }
        if path.suffix == ".parquet" and not isinstance(payload, bytes):
            features = payloads.get("catalogue", {}).get("columns", [])
            described = describe_columns(
                payload.head if isinstance(payload, Written) else payload,
                {column["name"]: column["unit"] or "" for column in features},
                import_module(columns_module(job.stage)),
            )
            tables[name] = {"rows": len(payload), "columns": described}
    document = _recipe(job, records)
    document |= {"outputs": outputs, "tables": tables, "environment": lock_digest()}
    return json_bytes(sealed(document))


def _recipe(job: Job, records: list[dict[str, str]]) -> dict[str, Any]:
    """All that decides the outputs of a job but where they lie, and its environment."""
    return {
        "stage": job.stage,
        "wildcards": dict(job.wildcards),
        "seed": job.seed,
        "settings": job.settings,
        "arithmetic": recorded_arithmetic(job.arithmetic),
        "inputs": records,
        "source": source_digest(job.stage, job.settings),
    }


def write_outputs(job: Job, payloads: Mapping[str, Any], records: list[dict[str, str]]) -> None:
    """Put every payload and the job's manifest in place, all of them or none.

    Args:
        job: the run that made them.
        payloads: by name of the output; tables may be written already.
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
    contents: dict[str, bytes | Written] = {
        name: payload if isinstance(payload, Written) else payload_bytes(path, payload)
        for name, path in job.outputs.items()
        for payload in [payloads[name]]
    }
    files = {job.outputs[name]: content for name, content in contents.items()}
    manifest = manifest_path(next(iter(files)))
    replace_files({**files, manifest: manifest_bytes(job, payloads, contents, records)})


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
        recipe = json_bytes(_recipe(self._job, input_records(self._job)))
        identity = hashlib.sha256(recipe).hexdigest()[:16]
        return self._folder / f"{self._stem}{identity}.safetensors"

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


_FORM = {
    "stage": str,
    "wildcards": Each(str),
    "seed": int,
    "settings": object,
    "arithmetic": str,
    "inputs": [{"name": str, "path": str, "sha256": str}],
    "source": str,
    "outputs": Each({"path": str, "sha256": str, "bytes": int}),
    "tables": Each({"rows": int, "columns": [Each(str)]}),
    "environment": str,
    "seal": str,
}
_NAME = re.compile(r"[A-Za-z_]\w*(\[\])?")
_DIGEST = re.compile(r"[0-9a-f]{64}")
_ARITHMETIC = re.compile(r"fast|portable [0-9a-f]{12}")


class AuditError(FrugalError):
    """Files that disagree with their manifests, a line for each."""


def manifest_paths(root: Path = Path(), folder: Path = STEPS) -> list[Path]:
    """Where manifests lie below a folder, the oldest first: the last that names a file holds."""
    paths = (root / folder).rglob("*.json")
    return sorted(paths, key=lambda path: (path.lstat().st_mtime_ns, path))


def load_manifest(path: Path) -> dict[str, Any]:
    """A manifest, its form, its seal and its place checked.

    Raises:
        AuditError: it is none that this project writes, was edited, or is of another step.
    """
    if not path.is_file():  # reading a pipe would never end
        raise AuditError(f"{path}: is not a manifest that this project writes: it is no file")
    content = path.read_bytes()
    try:
        document = json.loads(content)
        end = f',\n  "seal": "{document["seal"]}"\n}}\n'.encode()
    except (ValueError, TypeError, KeyError, RecursionError):
        raise AuditError(f"{path}: is not a manifest that this project writes") from None
    digest = hashlib.sha256(content.removesuffix(end) + b"\n}\n").hexdigest()
    if not content.endswith(end) or digest != document["seal"]:
        raise AuditError(f"{path}: was edited after it was written (its seal does not match)")
    try:
        require_document(document, _FORM, "manifest")
        flaw = _flaw(document, path)
    except DataError as error:
        flaw = str(error)
    if flaw:
        raise AuditError(f"{path}: is not a manifest that this project writes: {flaw}")
    return document


def _flaw(document: dict[str, Any], path: Path) -> str:
    """Parts of a sealed document that make it no manifest at that path; empty if none."""
    if not _ARITHMETIC.fullmatch(document["arithmetic"]):
        return f"'arithmetic' is {document['arithmetic']!r}"
    if not document["stage"].isidentifier():
        return f"'stage' is {document['stage']!r}"
    outputs = document["outputs"]
    for name, file in [*outputs.items(), *((file["name"], file) for file in document["inputs"])]:
        place, digest = file["path"], file["sha256"]
        # as `shown_path` shows it: nothing is read or written elsewhere
        inside = is_result(Path(place)) or Path(place).name == place not in ("", "..")
        if not inside or not _NAME.fullmatch(name) or not _DIGEST.fullmatch(digest):
            return f"{name!r} is at {place!r}, with SHA-256 {digest!r}"
    expected = manifest_path(Path(next((file["path"] for file in outputs.values()), "no outputs")))
    if path.parts[-len(expected.parts) :] != expected.parts:
        return f"its place is {expected}"
    return ""


def records_of(document: Mapping[str, Any], path: Path) -> dict[str, dict[str, Any]]:
    """Entries of a manifest on each file: path of the file → its own and those of the job.

    Returns:
        Records with the keys of the manifest, but `outputs` is name → path, and with `output`,
        `path`, `sha256`, `bytes`, `rows` and `columns` of the file and `manifest`, its place.
    """
    paths = {name: output["path"] for name, output in document["outputs"].items()}
    job = {**document, "outputs": paths, "manifest": path.as_posix()}
    return {
        output["path"]: {**job, "output": name, **output, **document["tables"].get(name, {})}
        for name, output in document["outputs"].items()
    }


def find_record(payload: Path, root: Path = Path()) -> dict[str, Any] | None:
    """The record of a file, of the newest manifest that names it; None where none does.

    Args:
        payload: from the folder `root` on, which holds results/.
        root: that folder.

    Raises:
        AuditError: its manifest is none that this project writes, or was edited.
    """
    inside = Path(os.path.relpath(payload)) if payload.is_absolute() else payload
    payload = inside if is_result(inside) else payload
    shown = shown_path(payload)
    word = json.dumps(shown, ensure_ascii=False).encode("utf-8", "surrogatepass")
    for path in _candidates(payload, root):
        if path.is_file() and word in path.read_bytes():
            record = records_of(load_manifest(path), path.relative_to(root)).get(shown)
            if record:
                return record
    return None


def _candidates(payload: Path, root: Path) -> Iterator[Path]:
    """Manifests that may name a file, the newest first; those of its own folder before others."""
    of_first = manifest_path(payload)
    if not is_result(payload):
        yield root / of_first
        return
    near = manifest_paths(root, of_first.parent)
    yield from reversed(near)
    # a few steps write into several folders
    yield from (path for path in reversed(manifest_paths(root)) if path not in near)


def load_record(payload: Path, root: Path = Path()) -> dict[str, Any]:
    """As `find_record`.

    Raises:
        AuditError: no manifest names the file, or it is none that this project writes.
    """
    record = find_record(payload, root)
    if record is None:
        raise AuditError(f"{root / payload}: no manifest names it; no step has made it")
    return record


def made_by_other_code(document: Mapping[str, Any]) -> bool:
    """True where a manifest's step would run other code now."""
    try:
        now = source_digest(document["stage"], document["settings"])
        arithmetic = document["arithmetic"]
        return [now, recorded_arithmetic(arithmetic.split()[0])] != [document["source"], arithmetic]
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
        AuditError: a manifest on the way is lacking, or was edited.
    """
    files: dict[str, dict[str, Any]] = {}
    inputs: dict[str, list[str]] = {}
    for name, path in job.input_files:
        inputs.setdefault(name.removesuffix("[]"), []).append(path.as_posix())
    waiting = [path for paths in inputs.values() for path in paths]
    while waiting:
        path = waiting.pop()
        if path in files or not path.startswith("results/"):
            continue
        document = load_record(Path(path))
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
