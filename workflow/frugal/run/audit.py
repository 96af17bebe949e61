"""`python -m frugal audit`: can a number be trusted? Recomputes digests, walks chains, reruns.

Finds: a changed byte in a payload, a payload or sidecar that is edited, lacking or at another place
than its own, an input that is no longer the one that was used, and a step that does not give the
same bytes again. Code from outside is run only if it is named. Knows sidecars; must not know what
any stage computes.
"""

import argparse
import glob
import json
import os
import random
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from frugal.config.declared import kinds_with
from frugal.core.errors import FrugalError, say
from frugal.results.files import file_digest
from frugal.results.receipts import RESULTS
from frugal.results.sidecars import FAST, Job, lock_digest, shown_path
from frugal.results.sources import texts_in
from frugal.run.arguments import command_parser, whole_number
from frugal.run.chains import ALL_ROWS, FETCHED, chain, chain_lines, row_lines, selected_rows
from frugal.run.inventory import edited_copies, missing_files, payloads_and_strays
from frugal.run.sidecar_checks import (
    AuditError,
    commit_here,
    load_sidecar,
    made_by_other_code,
)
from frugal.run.signing import SIGNATURE, sign_results, verify_results

Digest = Callable[[Path], str]
RunJob = Callable[[Job], None]
# Where descriptions of data sets lie, and timings, which are no results
OUTSIDE = (Path("config"), Path("docs/examples"), Path("benchmarks"))


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
        found = (sorted(folder.rglob(glob.escape(name))) for folder in self.folders)
        return [path for paths in found for path in paths if path.is_file()]

    def locate(self, record: Mapping[str, str], payload: str) -> Path | None:
        """The file of an input of a payload; None where no file of its name is there.

        Raises:
            AuditError: it is missing though a step has made it, or only another one has its name.
        """
        name = record["path"]
        if name.startswith("results/"):
            if not Path(name).is_file():
                raise AuditError(f"{name}: is missing, but {payload} was made from it")
            found = [Path(name)]
        else:
            found = self._named(name)
        same = (path for path in found if self.digest(path) == record["sha256"])
        path = next(same, None)
        if path is None and found:
            more = "" if name.startswith("results/") else "; name the folder of that by --look-in"
            raise AuditError(f"{found[0]}: is not the file that {payload} was made from{more}")
        if path is None:
            self.absent[name] = None
        return path


def check_payload(payload: Path, outside: Outside) -> dict[str, Any]:
    """Check one payload against its sidecar, and the recorded inputs against the files.

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
    found = outside.digest(payload)
    if found != document["sha256"]:
        raise AuditError(f"{payload}: SHA-256 is {found}, its sidecar says {document['sha256']}")
    for sibling in document["outputs"].values():
        if sibling.startswith("results/") and not Path(sibling).is_file():
            raise AuditError(f"{sibling}: is missing, but was made together with {payload}")
    _inputs(document, outside)
    return document


def _inputs(document: Mapping[str, Any], outside: Outside) -> list[Path | None]:
    """The file of each recorded input, in order."""
    payload = document["outputs"][document["output"]]
    return [outside.locate(record, payload) for record in document["inputs"]]


def rerun(
    document: Mapping[str, Any], outside: Outside, trusted: Collection[str], run_job: RunJob
) -> str:
    """Run a recorded step again in a temporary folder and compare bytes.

    Args:
        document: the step's sidecar.
        outside: where its inputs from outside lie.
        trusted: SHA-256 of the files whose code may be run.
        run_job: runs a stage and writes what it makes.

    Returns:
        Why the step was not run; empty where it gave the same bytes.

    Raises:
        AuditError: an output differs; names the file.
    """
    inputs: dict[str, Path | list[Path]] = {}
    runs_code = not {*kinds_with("runs_code")}.isdisjoint(texts_in(document["settings"]))
    for record, path in zip(document["inputs"], _inputs(document, outside), strict=True):
        if path is None:
            return f"{record['path']} from outside was not found"
        made = path.resolve().is_relative_to(RESULTS.resolve())  # which no code is run from
        if runs_code and not made and record["sha256"] not in trusted:
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
            name: Path(temporary, name, Path(kept).name)
            for name, kept in document["outputs"].items()
        }
        _run(document, inputs, outputs, run_job)
        for name, made_again in outputs.items():
            kept = Path(document["outputs"][name])
            if _made_by_another(kept, document):
                continue
            if made_again.read_bytes() != kept.read_bytes():
                raise AuditError(f"{kept}: running stage {stage} again gives other bytes")
    return ""


def _run(
    document: Mapping[str, Any],
    inputs: Mapping[str, Path | list[Path]],
    outputs: Mapping[str, Path],
    run_job: RunJob,
) -> None:
    """Run a step as its sidecar says; what the stage raises is a sentence."""
    stage = document["stage"]
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


def _made_by_another(kept: Path, document: Mapping[str, Any]) -> bool:
    """Whether a file has been replaced by a step that makes other files."""
    beside = load_sidecar(kept)
    return any(beside[key] != document[key] for key in ("stage", "outputs"))


def audit_command(words: list[str], run_job: RunJob) -> int:
    """Check a folder of results, the chain of a file, or that of some rows; returns 0.

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
    if (parsed.sign or parsed.verify) and target != RESULTS:
        raise AuditError(f"{parsed.path}: --sign and --verify take all of results/")
    trusted = {_digest_of_code(path) for path in parsed.trust_code}
    payloads, wrong = _payloads(parsed, target)
    outside = Outside(parsed.look_in, cache(file_digest))
    documents = _checked(payloads, outside, wrong)
    said = [f"{len(documents)} files agree with their sidecars and inputs"]
    said += [*_rerun_sample(documents, parsed, outside, trusted, run_job)]
    said += [*_remarks(documents, outside)]
    if parsed.sign:
        said.append(sign_results(parsed.sign, payloads))
    if parsed.verify:
        said.append(verify_results(parsed.verify, payloads))
    say("; ".join(said))
    return 0


def _payloads(parsed: argparse.Namespace, target: Path) -> tuple[list[Path], list[str]]:
    """The files to check, and what is wrong with what lies there; a file's chain is printed."""
    wrong: list[str] = []
    if target.is_file():
        _show_chain(target, parsed.row)
        payloads = sorted({link.path for link in chain(target)})
    elif parsed.row is not None:
        raise AuditError(f"{parsed.path}: --row asks about a table; name its file")
    else:
        payloads, strays = payloads_and_strays(target)
        wrong = [*strays, *missing_files(target), *edited_copies(target, payloads)]
    if not payloads and not wrong:
        raise AuditError(f"{parsed.path}: there is nothing to audit; run snakemake first")
    return payloads, wrong


def _digest_of_code(path: Path) -> str:
    if not path.is_file():
        raise AuditError(f"--trust-code {path}: there is no such file")
    return file_digest(path)


def _show_chain(target: Path, words: str | None) -> None:
    """Print what is behind a file, or behind some rows of it, which are shown first."""
    rows = ALL_ROWS
    if words is not None:
        table, rows = selected_rows(target, words)
        say(*row_lines(table, load_sidecar(target)))
    say(*chain_lines(target, rows))


def _parser() -> argparse.ArgumentParser:
    parser = command_parser("audit", __doc__)
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
    parser.add_argument(
        "--trust-code",
        type=Path,
        action="append",
        default=[],
        metavar="FILE.py",
        help="steps that run this file's code (agents of kind python) may be run again",
    )
    _add_requests(parser)
    return parser


def _add_requests(parser: argparse.ArgumentParser) -> None:
    """What else may be asked, one of these."""
    add = parser.add_mutually_exclusive_group().add_argument
    said = "only compare the default's tables with the published ones, config/published.json"
    add("--published", action="store_true", help=said)
    add("--publish", action="store_true", help="write that file anew, with this machine's CPU")
    said = f"sign what agrees with an Ed25519 key of your own, into {SIGNATURE}"
    add("--sign", type=Path, metavar="KEY", help=said)
    said = "hold results against that file and the signer's public key"
    add("--verify", type=Path, metavar="KEY", help=said)


def _checked(payloads: Iterable[Path], outside: Outside, wrong: list[str]) -> list[dict[str, Any]]:
    """The sidecars of all payloads, once every one agrees and nothing else is wrong."""
    documents, wrong = [], list(wrong)
    for path in payloads:
        try:
            documents.append(check_payload(path, outside))
        except AuditError as error:
            wrong.append(str(error))
    if wrong:
        raise AuditError("\n".join(dict.fromkeys(wrong)))
    return documents


def _rerun_sample(
    documents: Iterable[Mapping[str, Any]],
    parsed: argparse.Namespace,
    outside: Outside,
    trusted: Collection[str],
    run_job: RunJob,
) -> Iterator[str]:
    """Run some steps again; how many gave the same bytes, and why others were not run."""
    steps = {json.dumps(d["outputs"], sort_keys=True): d for d in documents}
    # a file is not fetched again: its digest is declared, and the network may be away
    able = sorted(key for key, d in steps.items() if d["stage"] != FETCHED)
    chosen = random.Random(parsed.pick).sample(able, min(parsed.sample, len(able)))
    reasons: Counter[str] = Counter()
    for key in chosen:
        say(f"again: {steps[key]['stage']} {steps[key]['wildcards']}", file=sys.stderr)
        reasons[rerun(steps[key], outside, trusted, run_job)] += 1
    ran = reasons.pop("", 0)
    yield f"{ran} of {len(steps)} steps were run again{', all with the same bytes' if ran else ''}"
    for reason, count in reasons.items():
        yield f"{count} could not be run again: {reason}"


def _remarks(documents: list[dict[str, Any]], outside: Outside) -> Iterator[str]:
    """What else is to be known, a part of a line each."""
    if absent := list(outside.absent):
        yield (
            f"{len(absent)} inputs from outside are not here and were not compared, first "
            f"{absent[0]} (--look-in FOLDER)"
        )
    if stale := sum(map(made_by_other_code, documents)):
        yield f"{stale} files were made by another version of the code"
    elif commit := commit_here():
        yield f"all were made by the code of commit {commit}"
    lock = lock_digest()
    if others := [d["file"] for d in documents if d["environment"] != lock]:
        yield f"{len(others)} files were made under another requirements.lock, first {others[0]}"
