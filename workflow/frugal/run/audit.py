"""`python -m frugal audit`: can a number be trusted? Recomputes digests, walks chains, reruns.

Finds: a changed byte in a payload, a payload or sidecar that is edited, lacking or at another place
than its own, an input that is no longer the one that was used, and a step that does not give the
same bytes again. Knows sidecars; must not know what any stage computes.
"""

import argparse
import glob
import json
import os
import random
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from frugal.core.errors import FrugalError, say
from frugal.core.files import file_digest
from frugal.core.sidecars import FAST, Job, lock_digest, recorded_arithmetic, shown_path
from frugal.core.sources import source_digest
from frugal.run.arguments import whole_number
from frugal.run.chains import ALL_ROWS, FETCHED, chain, chain_lines, row_lines, selected_rows
from frugal.run.inventory import missing_files, payloads_and_strays
from frugal.run.sidecar_checks import AuditError, load_sidecar

Digest = Callable[[Path], str]
RunJob = Callable[[Job], None]
# Where descriptions of data sets lie, and timings, which are no results
OUTSIDE = (Path("config"), Path("docs/examples"), Path("benchmarks"))


def check_payload(
    payload: Path, folders: Iterable[Path], digest: Digest = file_digest
) -> dict[str, Any]:
    """Check one payload against its sidecar, and the recorded inputs against the files.

    Args:
        payload: a file under results/.
        folders: where to look for files that came from outside, by name and digest.
        digest: of a file; one that remembers saves time where many payloads share inputs.

    Returns:
        The sidecar.

    Raises:
        AuditError: names the file and what differs.
    """
    if not payload.is_file():
        raise AuditError(f"{payload}: is missing, but its sidecar is there")
    document = load_sidecar(payload)
    own = document["outputs"][document["output"]]
    if own != shown_path(payload):
        raise AuditError(f"{payload}: its sidecar is the one of {own}")
    found = digest(payload)
    if found != document["sha256"]:
        raise AuditError(f"{payload}: SHA-256 is {found}, its sidecar says {document['sha256']}")
    for sibling in document["outputs"].values():
        if sibling.startswith("results/") and not Path(sibling).is_file():
            raise AuditError(f"{sibling}: is missing, but was made together with {payload}")
    for record in document["inputs"]:
        path = locate(record, folders, digest)
        if path is not None and digest(path) != record["sha256"]:
            raise AuditError(f"{path}: is not the file that {payload} was made from")
        if path is None and record["path"].startswith("results/"):
            raise AuditError(f"{record['path']}: is missing, but {payload} was made from it")
    return document


def locate(
    record: Mapping[str, str], folders: Iterable[Path], digest: Digest = file_digest
) -> Path | None:
    """The file of an input record; None if it came from outside and is in none of the folders."""
    if record["path"].startswith("results/"):
        path = Path(record["path"])
        return path if path.is_file() else None
    for folder in folders:
        for path in sorted(folder.rglob(glob.escape(record["path"]))):
            if path.is_file() and digest(path) == record["sha256"]:
                return path
    return None


def rerun(document: Mapping[str, Any], folders: Iterable[Path], run_job: RunJob) -> bool:
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
            if not isinstance(group, list):
                raise AuditError(f"an input is both a file and a list of files: {record!r}")
            group.append(path)
        else:
            inputs[record["name"]] = path
    stage = document["stage"]
    with tempfile.TemporaryDirectory() as temporary:
        outputs = {
            name: Path(temporary, name, Path(kept).name)
            for name, kept in document["outputs"].items()
        }
        words = (document[key] for key in ("settings", "wildcards", "seed"))
        arithmetic = document.get("arithmetic", FAST).split()[0]
        try:
            run_job(Job(stage, inputs, outputs, *words, arithmetic=arithmetic))
        except FrugalError:
            raise
        except Exception as error:  # its settings are checked where a study starts, not here
            raise AuditError(
                f"{document['outputs'][document['output']]}: running stage {stage} again as its "
                f"sidecar says ends in {type(error).__name__}: {' '.join(str(error).split())[:300]}"
            ) from None
        for name, made in outputs.items():
            kept = Path(document["outputs"][name])
            if _made_by_another(kept, document):
                continue
            if made.read_bytes() != kept.read_bytes():
                raise AuditError(f"{kept}: running stage {stage} again gives other bytes")
    return True


def _made_by_another(kept: Path, document: Mapping[str, Any]) -> bool:
    """Whether a file has been replaced by a step that makes other files."""
    beside = load_sidecar(kept)
    return any(beside[key] != document[key] for key in ("stage", "outputs"))


def audit_command(words: list[str], run_job: RunJob) -> int:
    """`audit [PATH] [--row COLUMN=VALUE,…] [--sample N] [--pick K] [--look-in FOLDER]`.

    Without a path the whole folder; with that of a file its chain, or that of some of its rows.
    With `--published` nothing but whether the default's tables are those that were published.

    Args:
        words: the command line after `audit`.
        run_job: runs a stage and writes what it makes.

    Raises:
        AuditError: names every file that does not agree, one a line.
    """
    parsed = _parser().parse_args(words)
    if parsed.published or parsed.publish:
        from frugal.run.published import compare_published, publish

        say(*(compare_published() if parsed.published else publish()).split("\n"))
        return 0
    os.environ["TQDM_DISABLE"] = "1"  # progress of steps that run again says nothing here
    target = Path(os.path.relpath(parsed.path))
    if target.parts[:1] != ("results",):
        raise AuditError(
            f"{parsed.path}: is not under results/ of this folder; "
            "run the audit in the folder that holds results/"
        )
    wrong: list[str] = []
    if target.is_file():
        _show_chain(target, parsed.row)
        payloads = sorted({link.path for link in chain(target)})
    elif parsed.row is not None:
        raise AuditError(f"{parsed.path}: --row asks about a table; name its file")
    else:
        payloads, strays = payloads_and_strays(target)
        wrong = [*strays, *missing_files(target)]
    if not payloads and not wrong:
        raise AuditError(f"{parsed.path}: there is nothing to audit; run snakemake first")
    documents = _checked(payloads, parsed.look_in, wrong)
    say(*_verdict(documents, *_rerun_sample(documents, parsed, run_job)).split("\n"))
    return 0


def _show_chain(target: Path, words: str | None) -> None:
    """Print what is behind a file, or behind some rows of it, which are shown first."""
    rows = ALL_ROWS
    if words is not None:
        table, rows = selected_rows(target, words)
        say(*row_lines(table, load_sidecar(target)))
    say(*chain_lines(target, rows))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m frugal audit", description=__doc__)
    parser.add_argument("path", type=Path, nargs="?", default=Path("results"))
    parser.add_argument("--row", metavar="COLUMN=VALUE,…", help="only what is behind these rows")
    parser.add_argument(
        "--sample", type=whole_number(0), default=3, help="steps to run again (default 3)"
    )
    parser.add_argument(
        "--pick", type=whole_number(0), default=0, help="which sample (a seed; default 0)"
    )
    parser.add_argument(
        "--look-in",
        type=Path,
        action="append",
        default=[path for path in OUTSIDE if path.is_dir()],
        help="folder with files from outside (always: config, docs/examples, benchmarks here)",
    )
    request = parser.add_mutually_exclusive_group()
    request.add_argument(
        "--published",
        action="store_true",
        help="only compare the default's tables with the published ones, config/published.json",
    )
    request.add_argument(
        "--publish", action="store_true", help="write that file anew, with this machine's CPU"
    )
    return parser


def _checked(
    payloads: Iterable[Path], folders: Iterable[Path], wrong: list[str]
) -> list[dict[str, Any]]:
    """The sidecars of all payloads, once every one agrees and nothing else is wrong."""
    digest = cache(file_digest)
    documents, wrong = [], list(wrong)
    for path in payloads:
        try:
            documents.append(check_payload(path, folders, digest))
        except AuditError as error:
            wrong.append(str(error))
    if wrong:
        raise AuditError("\n".join(dict.fromkeys(wrong)))
    return documents


def _rerun_sample(
    documents: Iterable[Mapping[str, Any]], parsed: argparse.Namespace, run_job: RunJob
) -> tuple[int, int, int]:
    """Run some steps again; the number that gave the same bytes, could not run, and exist."""
    steps = {json.dumps(d["outputs"], sort_keys=True): d for d in documents}
    # a file is not fetched again: its digest is declared, and the network may be away
    able = sorted(key for key, d in steps.items() if d["stage"] != FETCHED)
    chosen = random.Random(parsed.pick).sample(able, min(parsed.sample, len(able)))
    same = 0
    for key in chosen:
        say(f"again: {steps[key]['stage']} {steps[key]['wildcards']}", file=sys.stderr)
        same += rerun(steps[key], parsed.look_in, run_job)
    return same, len(chosen) - same, len(steps)


def _verdict(documents: list[dict[str, Any]], same: int, skipped: int, steps: int) -> str:
    """What was found, in one line."""
    words = [
        f"{len(documents)} files agree with their sidecars and inputs",
        f"{same} of {steps} steps run again gave the same bytes",
    ]
    if skipped:
        words.append(f"{skipped} could not be run again, as files from outside were not found")
    if stale := sum(_is_stale(d) for d in documents):
        words.append(f"{stale} files were made by another version of the code")
    lock = lock_digest()
    if others := [d["file"] for d in documents if d["environment"] != lock]:
        words.append(
            f"{len(others)} files were made under another requirements.lock, first {others[0]}"
        )
    return "; ".join(words)


def _is_stale(document: Mapping[str, Any]) -> bool:
    try:
        now = source_digest(document["stage"], document["settings"])
        given = document.get("arithmetic")
        pins = recorded_arithmetic(given.split()[0]) if given else {}
        return now != document["source"] or pins.get("arithmetic") != given
    except KeyError:  # a stage that has since been renamed
        return True
