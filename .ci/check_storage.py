#!/usr/bin/env python3
"""Results in a store that workers share nothing but: the same bytes through `fs` and through S3.

A study runs plainly on this machine, and twice with `--shared-fs-usage none`: into a folder
(storage plugin fs), and into a bucket of an S3 server that the check starts itself (moto), through
profiles/kubernetes and a stand-in for a cluster. Every job is a process of another Unix user, in an
empty folder of its own, who cannot read the run's folder (as root; else of the same user, which is
said). Shown for each store:
  the run ends; payloads, sidecars and receipts have the bytes of the plain run, none less or more;
  `snakemake audit` is green over the store; a start without Snakemake's notes finds nothing to do;
  one that lacks a file names it, one with another seed makes again, a changed byte fails the audit;
  what a worker says of a table without a column stands on the terminal.
Not shown: a real cluster and its images, other stores than these two, a network that fails.
With --short: the study of ten lines, its audit and further starts through fs, its masks and the
fault through S3; else the embedded default with its report, and an own table.
Usage: .ci/check_storage.py [--short] FOLDER     (an empty folder; an hour, 5 GB; short 2 minutes)
"""

import os
import re
import shutil
import subprocess
from contextlib import ExitStack
from pathlib import Path

import environment
from environment import BIN, ROOT, cannot_run, require

if __name__ == "__main__":
    ASKED = environment.begin(__doc__)
from check_reproducible import TIMED, but_for_cpu_seconds  # found after `begin`
from storage.kubernetes_stand_in import stand_in
from storage.places import STUDY, BucketStore, FolderStore, Place, Store, s3_server, under_results

from tests.workflow import sentences
from tests.workflow.shared import MASKS, finished, folder_of_runs

CONFIG = ["--configfile", "docs/examples/ten_lines_config.yaml"]
TEN_LINES, TO_MASKS = ["afape", *CONFIG], [MASKS, *CONFIG]
DEFAULT = ["all", "report"]
OWN_TABLE = ["decide", "--config", "table=docs/examples/clinic.yaml"]
CLUSTER = ROOT / ".ci" / "storage"
PROFILE = ROOT / "profiles" / "kubernetes" / "config.yaml"
SPOILT, LOST = "results/summary/afape.parquet", "results/summary/verdict.txt"
# Through fs steps share jobs, as profiles/slurm lets them: of a group each reads what others made
GROUPS = [
    "prepare_data",
    "fit_classifier",
    "draw_missingness",
    "impute_features",
    "train_agent",
    "roll_out",
]
GROUPED = ["--groups", *(f"{step}=first" for step in GROUPS)]
QUICK = ["--seconds-between-status-checks", "1", "--latency-wait", "5", "--jobs", "2"]
# Files that bear a measurement, and their sidecars
MEASURED = {TIMED, TIMED.replace("summary/", "summary/_") + ".json"}


class Check:
    """One store, and how jobs are sent to workers that share it."""

    def __init__(self, place: Place, store: Store, remote: list[str], own: dict[str, str]) -> None:
        self.place, self.store, self.remote, self.own = place, store, remote, own

    def start(self, *words: str, remote: bool = False, study: str = STUDY) -> tuple[int, str]:
        """Snakemake over the store, its jobs by workers or on this machine."""
        how = [*self.remote, *QUICK] if remote else ["--cores", "2"]
        variables = self.own | dict(self.store.secrets)
        return start(self.place, [*how, *self.store.words(study), *words], variables)


def start(place: Place, words: list[str], own: dict[str, str]) -> tuple[int, str]:
    """Run Snakemake in the clone; its exit status and all it said."""
    folders = [str(place.project / "workflow"), *filter(None, [own.get("PYTHONPATH")])]
    done = subprocess.run(
        [str(BIN / "snakemake"), *words],
        cwd=place.project,
        env=environment.variables() | own | {"PYTHONPATH": os.pathsep.join(folders)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        umask=0o002,  # what lies in a folder that two users share, either may replace
    )
    return done.returncode, done.stdout


def forget(place: Place) -> None:
    """Remove Snakemake's notes, and all else that it keeps in the working folder."""
    shutil.rmtree(place.project / ".snakemake", ignore_errors=True)


def compare(plain: dict[str, bytes], stored: dict[str, bytes], folder: Path) -> str:
    """Ends here where files differ; what was compared, in words."""
    other = sorted(plain.keys() ^ stored.keys())
    require(not other, f"{len(plain)} files, none less or more", str(other))
    differing = {name for name in plain if plain[name] != stored[name]}
    if measured := differing & MEASURED:
        for name in measured:
            for side, content in (("plain", plain[name]), ("stored", stored[name])):
                (folder / side / name).parent.mkdir(parents=True, exist_ok=True)
                (folder / side / name).write_bytes(content)
        (table, told), (table_b, told_b) = (
            but_for_cpu_seconds(folder / side) for side in ("plain", "stored")
        )
        same = table.equals(table_b) and told == told_b
        require(same, f"{TIMED} differs in its column cpu_s alone, its sidecar in the digests")
    wrong = sorted(differing - MEASURED)
    require(not wrong, f"{len(plain) - len(differing)} have the same bytes", str(wrong))
    sidecars = sum(Path(name).name.startswith("_") for name in plain)
    receipts = sum(name.startswith("results/steps/") for name in plain)
    return f"{sidecars} sidecars and {receipts} receipts among them"


def check_run(check: Check, study: list[str], plain: dict[str, bytes]) -> None:
    """The study through workers, and its bytes."""
    name, place = check.store.name, check.place
    before, cpu_before = len(list((place.workers / "jobs").iterdir())), place.cpu_s()
    status, said = check.start(*study, remote=True)
    require(status == 0, f"{name}: the study ended through workers", said)
    jobs = len(list((place.workers / "jobs").iterdir())) - before
    if place.user:
        hidden = not place.can_read(place.project)
        require(hidden and jobs > 0, f"{jobs} jobs were of a user who cannot read {place.project}")
    else:
        print(f"not shown, as this is not root: {jobs} jobs were of the same user", flush=True)
    print(f"ok: they took {place.cpu_s() - cpu_before:.0f} CPU seconds, Snakemake's included")
    told = compare(plain, check.store.files(), place.folder / "compared" / name)
    print(f"ok: {name}: {told}", flush=True)


def check_starts(check: Check, study: list[str], plain: dict[str, bytes]) -> None:
    """What the audit and further starts find in the store."""
    name, store = check.store.name, check.store
    status, said = check.start("audit")
    (verdict,) = re.findall(r".* files agree with their sidecars .*", said) or [""]
    require(status == 0 and bool(verdict), f"{name}, audit: {verdict}", said)
    forget(check.place)
    status, said = check.start("-n", *study)
    done = "Nothing to be done" in said
    require(status == 0 and done, f"{name}: without notes, a start finds nothing to do", said)
    status, said = check.start("-n", *study, "--config", "seed=7")
    again = "files that were made with another seed" in said
    require(status == 0 and again, f"{name}: with another seed, it would make again", said)
    store.put(LOST, None)
    status, said = check.start("-n", *study)
    named = f"files of finished steps are missing, first {LOST}" in said
    require(named, f"{name}: a file that is gone is named", said)
    store.put(LOST, plain[LOST])
    store.put(SPOILT, plain[SPOILT][:-1] + bytes([plain[SPOILT][-1] ^ 1]))
    status, said = check.start("audit")
    found = f"{SPOILT}: SHA-256 is" in said
    require(status != 0 and found, f"{name}: the audit names a file with a changed byte", said)
    store.put(SPOILT, plain[SPOILT])


def check_failure(check: Check) -> None:
    """A worker's own sentence: the ten lines without a column."""
    folder = check.place.project / "faulty"
    folder.mkdir(exist_ok=True)
    example = check.place.project / "docs" / "examples"
    table = (example / "ten_lines.csv").read_text()
    (folder / "ten_lines.csv").write_text(table.replace("troponin", "troponin_t", 1))
    shutil.copy(example / "ten_lines.yaml", folder)
    config = (example / "ten_lines_config.yaml").read_text()
    (folder / "study.yaml").write_text(
        config.replace("docs/examples/ten_lines", "faulty/ten_lines")
    )
    words = ["afape", "--configfile", "faulty/study.yaml", "--retries", "0"]
    status, said = check.start(*words, remote=True, study="faulty")
    told = sentences.missing_column(Path("ten_lines.yaml")).partition(": ")[2]
    named = re.search(rf"frugal prepare_data: outside/\w+/{re.escape(told)}", said) is not None
    require(
        status != 0 and named, f"{check.store.name}: a worker's sentence is shown: {told}", said
    )
    shutil.rmtree(folder)


def check_own_table(check: Check) -> None:
    """`decide` through workers: the table lies here, the answer comes back here."""
    answer = check.place.project / "results" / "decide" / "clinic" / "verdict.txt"
    status, said = start(check.place, ["--cores", "2", *OWN_TABLE], {})
    require(status == 0, "one's own table, without a store", said)
    plain = under_results(answer.parent)
    told = answer.read_text()
    shutil.rmtree(answer.parent)
    status, said = check.start(*OWN_TABLE, remote=True, study="own")
    require(status == 0, f"{check.store.name}: one's own table through workers", said)
    require(answer.read_text() == told, f"its answer is here: {told.splitlines()[0]}")
    check.store.study = "own/results/decide/clinic"
    compare(plain, check.store.files(), check.place.folder / "compared" / "own")
    check.store.study = STUDY


def cluster(place: Place) -> list[str]:
    """Words that send jobs to workers by a command, as to any cluster."""
    submit = f"{CLUSTER}/submit.sh {place.workers} {place.user or '-'}"
    status = f"{CLUSTER}/status.sh {place.workers}"
    words = ["--executor", "cluster-generic", "--cluster-generic-submit-cmd", submit]
    words += ["--cluster-generic-status-cmd", status, "--max-status-checks-per-second", "10"]
    return [*words, "--shared-fs-usage", "none", "--job-deploy-sources"]


def kubernetes_packages(place: Place) -> Path | None:
    """A folder with the executor for Kubernetes, by hash; None where it cannot be had."""
    folder = place.folder / "kubernetes" / "packages"
    words = [BIN / "uv", "pip", "install", "--quiet", "--python", BIN / "python", "--no-deps"]
    words += ["--require-hashes", "--target", folder, "-r", ROOT / "envs" / "kubernetes.txt"]
    return folder if subprocess.run(words, check=False).returncode == 0 else None


def check_bucket(place: Place, bucket: BucketStore, stack: ExitStack) -> Check:
    """How jobs are sent over S3: by the profile, to a stand-in for Kubernetes."""
    packages = kubernetes_packages(place)
    if packages is None:
        print(
            "not shown: the executor for Kubernetes (envs/kubernetes.txt) cannot be installed here"
        )
        return Check(place, bucket, cluster(place), {})
    folder = place.folder / "kubernetes" / "cluster"
    there, config = stack.enter_context(stand_in(place.workers, place.user, folder))
    own = {"KUBECONFIG": str(config), "PYTHONPATH": str(packages)}
    status, said = start(place, ["--profile", str(PROFILE.parent), "-n", *TEN_LINES], own)
    del status
    require(
        "BUCKET" in said, "profiles/kubernetes is read, and its capitals are to be replaced", said
    )
    stack.callback(lambda: print(f"ok: {len(there.commands)} jobs reached the stand-in"))
    return Check(place, bucket, ["--profile", str(PROFILE.parent)], own)


def main(folder: Path, short: bool) -> None:
    """The plain run, and the two stores."""
    if shutil.which("rsync") is None:
        cannot_run("rsync, by which the storage plugin fs copies, is not installed")
    place, study = Place(folder), TEN_LINES if short else DEFAULT
    place.clone()
    studies = [study, TO_MASKS if short else study]
    if short:
        runs = [finished(name, folder_of_runs(folder)) for name in ("ten_lines", "masks")]
        expected = [under_results(run.folder) for run in runs]
    else:
        status, said = start(place, ["--cores", "2", *study], {})
        require(status == 0, "the study ended on this machine, without a store", said)
        expected = [under_results(place.project)] * 2
        shutil.rmtree(place.project / "results")
    with ExitStack() as stack:
        stack.callback(place.dismiss)
        place.hire()
        bucket = stack.enter_context(s3_server())
        checks = [Check(place, FolderStore(place.stores), [*cluster(place), *GROUPED], {})]
        checks.append(check_bucket(place, bucket, stack))
        for check, study, plain in zip(checks, studies, expected, strict=True):
            forget(place)
            check_run(check, study, plain)
            if not short or check is checks[0]:  # of S3: tests/workflow/test_storage.py
                check_starts(check, study, plain)
            if not short or check is checks[1]:
                check_failure(check)
            if not short:
                check_own_table(check)


if __name__ == "__main__":
    main(ASKED.folder, ASKED.short)
