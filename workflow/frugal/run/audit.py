"""`python -m frugal audit`: can a number be trusted? Recomputes digests, walks chains, reruns.

Finds: a changed byte in a payload, a payload or manifest that is edited, lacking or at a place not
its own, an input that is no longer the one that was used, and a step that does not give the same
bytes again. Code from outside is run only if it is named. Knows manifests; must not know how any
stage computes.
"""

import argparse
import json
import os
import random
import sys
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from frugal.config.declared import kinds_with
from frugal.core.arguments import command_parser, whole_number
from frugal.core.errors import say
from frugal.results import differences
from frugal.results.audit import (
    ALL_ROWS,
    FETCHED,
    Outside,
    RunJob,
    chain,
    chain_lines,
    check_payload,
    edited_copies,
    own_results,
    recorded_files,
    rerun,
    row_lines,
    selected_rows,
)
from frugal.results.differences import (
    ResultsComparison,
    difference_lines,
    importance,
    payload_names,
    results_folder,
)
from frugal.results.files import file_digest
from frugal.results.manifests import (
    RESULTS,
    STEPS,
    AuditError,
    commit_here,
    load_record,
    lock_digest,
    made_by_other_code,
)
from frugal.results.publishing import (
    SIGNATURE,
    compare_published,
    publish,
    sign_results,
    verify_results,
    write_crate,
)
from frugal.results.sources import texts_in

_ROCRATE = """Results as a Workflow Run RO-Crate, for archives and other readers.

Writes `ro-crate-metadata.json` next to `results/`, made from the manifests: every file with its
digest, external inputs of the run, its settings as parameters, and one action that joins them.
The profile is Workflow Run Crate 0.5 (https://w3id.org/ro/wfrun/workflow/0.5) on RO-Crate 1.1. It
checks nothing that `audit` checks.
"""
# Where descriptions of data sets lie, and timings, which are no results
OUTSIDE = (Path("config"), Path("docs/examples"), Path("benchmarks"))


def audit_command(words: list[str], run_job: RunJob) -> int:
    """Check a folder of results, the chain of a file, or that of some rows; returns 0.

    With `--published` nothing but whether the default's tables are those that were published.

    Args:
        words: the command line after `audit`.
        run_job: runs a stage and writes its outputs.

    Raises:
        AuditError: names every file that does not agree, one a line.
    """
    parsed = _parser().parse_args(words)
    if parsed.published or parsed.publish:
        say(*(compare_published() if parsed.published else publish()).split("\n"))
        return 0
    os.environ["TQDM_DISABLE"] = "1"  # progress of steps that run again says nothing here
    target = Path(os.path.relpath(parsed.path))
    if target.parts[:1] != ("results",):
        raise AuditError(
            f"{parsed.path}: is not under results/ of this folder; "
            "run the audit in the folder that holds results/"
        )
    if of_own := [folder for folder in (target, *target.parents)[:-1] if (folder / STEPS).is_dir()]:
        raise AuditError(f"{parsed.path}: run the audit in {of_own[0]}, which holds these results")
    if (parsed.sign or parsed.verify) and target != RESULTS:
        raise AuditError(f"{parsed.path}: --sign and --verify take all of results/")
    trusted = {_digest_of_code(path) for path in parsed.trust_code}
    records, wrong = _records(parsed, target)
    outside = Outside(parsed.look_in, cache(file_digest))
    _check(records, outside, wrong)
    documents = [*records.values()]
    sentences = [f"{len(documents)} files agree with their manifests and inputs"]
    sentences += [*_rerun_sample(documents, parsed, outside, trusted, run_job)]
    sentences += [*_remarks(documents, outside)]
    sentences += [f"audit the results of {folder} in that folder" for folder in own_results(target)]
    if parsed.sign:
        sentences.append(sign_results(parsed.sign, records))
    if parsed.verify:
        sentences.append(verify_results(parsed.verify, records))
    say("; ".join(sentences))
    return 0


def _records(
    parsed: argparse.Namespace, target: Path
) -> tuple[dict[Path, Mapping[str, Any]], list[str]]:
    """The records of the files to check, and faults; a file's chain is printed."""
    wrong: list[str] = []
    records: dict[Path, Mapping[str, Any]] = {}
    if target.is_file():
        _show_chain(target, parsed.row)
        records |= {link.path: link.document for link in chain(target)}
    elif parsed.row is not None:
        raise AuditError(f"{parsed.path}: --row needs a table; name its file")
    else:
        described, strays = recorded_files(target)
        records |= described
        wrong = [*strays, *edited_copies(target, records)]
    if not records and not wrong:
        raise AuditError(
            f"{parsed.path}: there is nothing to audit; run snakemake first"
            + "".join(f", or the audit in {folder}" for folder in own_results(target)[:1])
        )
    return dict(sorted(records.items())), wrong


def _digest_of_code(path: Path) -> str:
    if not path.is_file():
        raise AuditError(f"--trust-code {path}: there is no such file")
    return file_digest(path)


def _show_chain(target: Path, words: str | None) -> None:
    """Print the inputs of a file, or behind some rows of it, which are shown first."""
    rows = ALL_ROWS
    if words is not None:
        table, rows = selected_rows(target, words)
        say(*row_lines(table, load_record(target)))
    say(*chain_lines(target, rows))


def _parser() -> argparse.ArgumentParser:
    parser = command_parser("audit", __doc__)
    parser.add_argument("path", type=Path, nargs="?", default=Path("results"))
    parser.add_argument("--row", metavar="COLUMN=VALUE,…", help="only the files behind these rows")
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
    """Other requests, of which one is allowed."""
    add = parser.add_mutually_exclusive_group().add_argument
    help_text = "only compare the default's tables with the published ones, config/published.json"
    add("--published", action="store_true", help=help_text)
    add("--publish", action="store_true", help="write that file anew, with this machine's CPU")
    help_text = f"sign files that agree with an Ed25519 key of your own, into {SIGNATURE}"
    add("--sign", type=Path, metavar="KEY", help=help_text)
    help_text = "hold results against that file and the signer's public key"
    add("--verify", type=Path, metavar="KEY", help=help_text)


def _check(
    records: Mapping[Path, Mapping[str, Any]], outside: Outside, wrong: Iterable[str]
) -> None:
    """Refuse the results where a file does not agree, or something else is wrong."""
    wrong = [*wrong]
    for path, document in records.items():
        try:
            check_payload(path, document, outside)
        except AuditError as error:
            wrong.append(str(error))
    if wrong:
        raise AuditError(*dict.fromkeys(wrong))


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
    code_kinds = {*kinds_with("runs_code")}
    for key in chosen:
        say(f"again: {steps[key]['stage']} {steps[key]['wildcards']}", file=sys.stderr)
        runs_code = not code_kinds.isdisjoint(texts_in(steps[key]["settings"]))
        allowed = trusted if runs_code else None
        reasons[rerun(steps[key], outside, allowed, run_job)] += 1
    ran = reasons.pop("", 0)
    yield f"{ran} of {len(steps)} steps were run again{', all with the same bytes' if ran else ''}"
    for reason, count in reasons.items():
        yield f"{count} could not be run again: {reason}"


def _remarks(documents: list[Mapping[str, Any]], outside: Outside) -> Iterator[str]:
    """Further notes, a part of a line each."""
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
    if others := [d["path"] for d in documents if d["environment"] != lock]:
        yield f"{len(others)} files were made under another requirements.lock, first {others[0]}"


def diff_command(words: list[str]) -> int:
    """`diff A B [--files N]`; returns 0 where every payload is the same, 1 where one differs.

    Raises:
        AuditError: a folder is none of results, or a manifest on the way is lacking or edited.
    """
    parser = command_parser("diff", differences.__doc__)
    parser.add_argument("a", type=Path, metavar="A", help="folder that holds results/")
    parser.add_argument("b", type=Path, metavar="B", help="the other one")
    parser.add_argument(
        "--files", type=whole_number(0), default=12, help="files to describe (default 12)"
    )
    parsed = parser.parse_args(words)
    compared = ResultsComparison(results_folder(parsed.a), results_folder(parsed.b))
    a, b = payload_names(compared.a), payload_names(compared.b)
    if not a | b:
        raise AuditError(f"{parsed.a} and {parsed.b}: there is nothing to compare")
    moved = sorted((p for p in a & b if compared.differs(p)), key=importance)
    say(*difference_lines(compared, moved, (a, b), parsed.files))
    return int(bool(moved or a ^ b))


def rocrate_command(words: list[str]) -> int:
    """Write the description of the results in this folder; returns the exit status."""
    command_parser("rocrate", _ROCRATE).parse_args(words)
    path = write_crate()
    say(f"{path}: {len(json.loads(path.read_bytes())['@graph'])} entities")
    return 0
