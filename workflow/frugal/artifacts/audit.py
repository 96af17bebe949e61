"""`python -m frugal audit`: can this number be trusted? Digests recomputed, chains walked, steps re-run.

Finds: a changed byte in a payload, an edited or lacking sidecar, an input that is no longer the one
that was used, and a step that does not give the same bytes again.
"""

import argparse
import json
import random
import sys
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from frugal.artifacts.files import file_digest
from frugal.artifacts.sidecars import Job, seal, sidecar_path
from frugal.artifacts.sources import source_digest
from frugal.contracts import FrugalError

UNAUDITED = {"README.md", "report.html"}


class AuditError(FrugalError):
    """A file is not what its sidecar says."""


def load_sidecar(payload: Path) -> dict[str, Any]:
    """The sidecar of a payload, its seal checked.

    Raises:
        AuditError: there is none, it is no JSON object, or it was edited.
    """
    path = sidecar_path(payload)
    if not path.is_file():
        raise AuditError(f"{payload}: has no sidecar {path.name}")
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        sealed = document["seal"]
    except (ValueError, TypeError, KeyError):
        raise AuditError(f"{path}: is not a sidecar that this project writes") from None
    if seal(document) != sealed:
        raise AuditError(f"{path}: was edited after it was written (its seal does not match)")
    return document


def check_payload(payload: Path, folders: Iterable[Path]) -> dict[str, Any]:
    """Check one payload against its sidecar, and the recorded inputs against the files.

    Args:
        payload: a file under results/.
        folders: where to look for files that came from outside, by name and digest.

    Returns:
        The sidecar.

    Raises:
        AuditError: names the file and what differs.
    """
    if not payload.is_file():
        raise AuditError(f"{payload}: is missing, but its sidecar is there")
    document = load_sidecar(payload)
    if document["file"] != payload.name:
        raise AuditError(f"{payload}: its sidecar describes {document['file']!r}")
    found = file_digest(payload)
    if found != document["sha256"]:
        raise AuditError(f"{payload}: SHA-256 is {found}, its sidecar says {document['sha256']}")
    for record in document["inputs"]:
        path = locate(record, folders)
        if path is not None and file_digest(path) != record["sha256"]:
            raise AuditError(f"{path}: is not the file that {payload} was made from")
        if path is None and record["path"].startswith("results/"):
            raise AuditError(f"{record['path']}: is missing, but {payload} was made from it")
    return document


def locate(record: dict[str, str], folders: Iterable[Path]) -> Path | None:
    """The file of an input record; None if it came from outside and is in none of the folders."""
    if record["path"].startswith("results/"):
        path = Path(record["path"])
        return path if path.is_file() else None
    for folder in folders:
        for path in sorted(folder.rglob(record["path"])):
            if path.is_file() and file_digest(path) == record["sha256"]:
                return path
    return None


def payloads_under(folder: Path) -> list[Path]:
    """Every file that must have a sidecar, and every file that a sidecar speaks of, sorted."""
    files = [p for p in folder.rglob("*") if p.is_file() and p.name not in UNAUDITED]
    payloads = {p for p in files if not p.name.startswith(("_", "."))}
    payloads |= {
        p.with_name(p.name[1:-5]) for p in files if p.name.startswith("_") and p.suffix == ".json"
    }
    return sorted(payloads)


def rerun(
    document: dict[str, Any], folders: Iterable[Path], run_job: Callable[[Job], None]
) -> bool:
    """Run a recorded step again in a temporary folder and compare bytes.

    Returns:
        False if an input from outside could not be found, so that the step was not run.

    Raises:
        AuditError: an output differs; names the file.
    """
    inputs: dict[str, Path | list[Path]] = {}
    for record in document["inputs"]:
        path = locate(record, folders)
        if path is None:
            return False
        if record["name"].endswith("[]"):
            group = inputs.setdefault(record["name"][:-2], [])
            assert isinstance(group, list)
            group.append(path)
        else:
            inputs[record["name"]] = path
    with tempfile.TemporaryDirectory() as temporary:
        outputs = {k: Path(temporary, Path(v).name) for k, v in document["outputs"].items()}
        run_job(
            Job(
                document["stage"],
                inputs,
                outputs,
                document["settings"],
                document["wildcards"],
                document["seed"],
            )
        )
        for name, made in outputs.items():
            kept = Path(document["outputs"][name])
            if made.read_bytes() != kept.read_bytes():
                raise AuditError(
                    f"{kept}: running stage {document['stage']} again gives other bytes"
                )
    return True


def chain_lines(payload: Path, depth: int = 0, seen: set[str] | None = None) -> Iterable[str]:
    """The chain from a file back to raw data, one line per file, indented by distance."""
    seen = set() if seen is None else seen
    document = load_sidecar(payload)
    again = " (shown above)" if str(payload) in seen else ""
    pad = "  " * depth
    yield f"{pad}{payload}  sha256 {document['sha256'][:12]}  by {document['stage']}{again}"
    if again:
        return
    seen.add(str(payload))
    for record in document["inputs"]:
        if record["path"].startswith("results/"):
            yield from chain_lines(Path(record["path"]), depth + 1, seen)
        else:
            yield f"{pad}  {record['path']}  sha256 {record['sha256']}  from outside"


def audit_command(words: list[str], run_job: Callable[[Job], None]) -> int:
    """`audit [PATH] [--sample N] [--pick K] [--look-in FOLDER]`: the whole folder, or one chain."""
    parser = argparse.ArgumentParser(prog="python -m frugal audit", description=__doc__)
    parser.add_argument("path", type=Path, nargs="?", default=Path("results"))
    parser.add_argument("--sample", type=int, default=3, help="steps to run again (default 3)")
    parser.add_argument("--pick", type=int, default=0, help="which sample (a seed; default 0)")
    parser.add_argument(
        "--look-in", type=Path, action="append", default=[], help="folder with files from outside"
    )
    parsed = parser.parse_args(words)
    if parsed.path.is_file():
        print("\n".join(chain_lines(parsed.path)))
        targets = sorted(
            {Path(line.split("  sha256")[0].strip()) for line in chain_lines(parsed.path)}
        )
        targets = [path for path in targets if path.parts[:1] == ("results",)]
    else:
        targets = payloads_under(parsed.path) if parsed.path.is_dir() else []
    if not targets:
        raise AuditError(f"{parsed.path}: there is nothing to audit; run snakemake first")
    documents = {path: check_payload(path, parsed.look_in) for path in targets}
    steps = {json.dumps(d["outputs"], sort_keys=True): d for d in documents.values()}
    chosen = random.Random(parsed.pick).sample(sorted(steps), min(parsed.sample, len(steps)))
    skipped = 0
    for key in chosen:
        print(f"again: {steps[key]['stage']} {steps[key]['wildcards']}", file=sys.stderr)
        skipped += not rerun(steps[key], parsed.look_in, run_job)
    stale = sum(d["source"] != source_digest(d["stage"]) for d in documents.values())
    print(
        f"{len(documents)} files agree with their sidecars and inputs; {len(chosen) - skipped} of "
        f"{len(steps)} steps run again gave the same bytes"
        + (
            f"; {skipped} could not be run again, as files from outside were not found"
            * bool(skipped)
        )
        + (f"; {stale} files were made by an earlier version of the code" * bool(stale))
    )
    return 0
