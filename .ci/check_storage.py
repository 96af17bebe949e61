#!/usr/bin/env python3
"""Results in a store that no worker shares: the same bytes through `fs` and through S3.

A study runs plainly on this machine, and then twice with `--shared-fs-usage none`: into a folder
(storage plugin fs) and into buckets of an S3 server that the check starts itself (moto). Every job
is a process of another Unix user, in an empty folder of its own, who cannot read the folder of the
run (as root; else of the same user, which is said). Shown for each store:
  the run ends; payloads, sidecars and receipts have the bytes of the plain run, and no file is more
  or less; `snakemake audit` is green over the store; a second start finds nothing to do, also
  without Snakemake's notes, and says which file is gone when one is;
  a changed byte in the store is found by the audit; a worker's own sentence reaches the terminal.
Not shown: any other store than these two, a network between machines, a Kubernetes cluster.
With --short: the study of ten lines instead of the embedded default with its report.
Usage: .ci/check_storage.py [--short] FOLDER     (an empty folder; an hour, short four minutes)
"""

import contextlib
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import environment
from environment import BIN, ROOT, cannot_run, require

if __name__ == "__main__":
    ASKED = environment.begin(__doc__)
from check_reproducible import TIMED, but_for_cpu_seconds  # found after `begin`

from tests.workflow import sentences

TEN_LINES = ["afape", "--configfile", "docs/examples/ten_lines_config.yaml"]
DEFAULT = ["all", "report"]
USER = "frugal-worker"
CLUSTER = ROOT / ".ci" / "storage"
SPOILT = "results/summary/verdict.txt"


class Place:
    """The folders of the check, and the user of the workers."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.project, self.workers = folder / "project", folder / "workers"
        self.stores = folder / "stores"
        self.user = USER if os.geteuid() == 0 else ""
        self.study: list[str] = []


def clone(place: Place) -> None:
    """The tracked and the new files of the project, in a folder that only its owner may read."""
    listed = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    names = subprocess.run(listed, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout
    for name in filter(None, names.split("\0")):
        if (ROOT / name).is_file() or (ROOT / name).is_symlink():
            (place.project / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, place.project / name, follow_symlinks=False)
    place.project.chmod(0o700)


def make_workers(place: Place) -> None:
    """The user, an environment that she may read, and the folder for her jobs."""
    for name in ("jobs", "ended"):
        (place.workers / name).mkdir(parents=True)
    (place.workers / "ended").chmod(0o700)
    place.stores.mkdir()
    if place.user:
        made = ["useradd", "--system", "--user-group", "--no-create-home", place.user]
        if subprocess.run(["id", place.user], capture_output=True).returncode != 0:
            subprocess.run(made, check=True)
        shutil.chown(place.workers / "jobs", place.user, place.user)
        shutil.chown(place.stores, place.user, place.user)
        place.stores.chmod(0o2775)
    prefix = place.workers / "env"
    linked = ["--link"] if (ROOT / ".venv").stat().st_dev == place.workers.stat().st_dev else []
    subprocess.run(["cp", "--archive", *linked, ROOT / ".venv", prefix], check=True)
    base = (BIN / "python").resolve()
    if not can_read(place, base):  # in somebody's home, say
        folder, left_out = place.workers / "python", shutil.ignore_patterns("site-packages", "test")
        shutil.copytree(sys.base_prefix, folder, symlinks=True, ignore=left_out)
        base = folder / "bin" / base.name
    settings = (prefix / "pyvenv.cfg").read_text()
    (prefix / "pyvenv.cfg").unlink()  # it may be a link to the file of .venv
    settings = re.sub(r"^(home) = .*", rf"\1 = {base.parent}", settings, flags=re.MULTILINE)
    (prefix / "pyvenv.cfg").write_text(settings)
    for name in {"python", "python3", base.name}:
        (prefix / "bin" / name).unlink(missing_ok=True)
        (prefix / "bin" / name).symlink_to(base)


def as_worker(place: Place, command: str) -> subprocess.CompletedProcess:
    """A line of the shell, run by the workers' user."""
    words = ["sh", "-c", command]
    if place.user:
        words = ["setpriv", "--reuid", place.user, "--regid", place.user, "--clear-groups", *words]
    return subprocess.run(words, cwd="/", capture_output=True, text=True, check=False)


def can_read(place: Place, path: Path) -> bool:
    """Whether the workers' user can read a file or look into a folder."""
    return as_worker(place, f"test -r '{path}' && test -x '{path}'").returncode == 0


class Store:
    """A store: the words that name it to Snakemake, and what lies in it."""

    name = ""
    secrets: Mapping[str, str] = {}

    def words(self) -> list[str]:
        """Of the command line."""
        raise NotImplementedError

    def files(self) -> dict[str, bytes]:
        """Every file under results/."""
        raise NotImplementedError

    def put(self, name: str, content: bytes | None) -> None:
        """Write a file, or remove it."""
        raise NotImplementedError


class FolderStore(Store):
    """A folder that the storage plugin `fs` writes to, by rsync."""

    name = "fs"

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def words(self) -> list[str]:
        return ["--default-storage-provider", "fs", "--default-storage-prefix", str(self.folder)]

    def files(self) -> dict[str, bytes]:
        return under_results(self.folder)

    def put(self, name: str, content: bytes | None) -> None:
        if content is None:
            (self.folder / name).unlink()
        else:
            (self.folder / name).write_bytes(content)


class BucketStore(Store):
    """A bucket of an S3 server on this machine."""

    name = "S3"

    def __init__(self, port: int) -> None:
        address = f"http://127.0.0.1:{port}"
        self.secrets = {
            "SNAKEMAKE_STORAGE_S3_ENDPOINT_URL": address,
            "SNAKEMAKE_STORAGE_S3_ACCESS_KEY": "nobody",
            "SNAKEMAKE_STORAGE_S3_SECRET_KEY": "nothing",
        }
        import boto3

        self.bucket = boto3.resource(
            "s3", endpoint_url=address, region_name="us-east-1", aws_access_key_id="nobody",
            aws_secret_access_key="nothing",
        ).create_bucket(Bucket="frugal")  # fmt: skip

    def words(self) -> list[str]:
        return ["--default-storage-provider", "s3", "--default-storage-prefix", "s3://frugal/study"]

    def files(self) -> dict[str, bytes]:
        found = self.bucket.objects.filter(Prefix="study/results/")
        read = {one.key.removeprefix("study/"): one.get()["Body"].read() for one in found}
        return {name: content for name, content in read.items() if is_compared(name)}

    def put(self, name: str, content: bytes | None) -> None:
        one = self.bucket.Object(f"study/{name}")
        one.delete() if content is None else one.put(Body=content)


@contextlib.contextmanager
def s3_server() -> Iterator[BucketStore]:
    """moto's server on a free port, stopped at the end."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    words = [BIN / "python", "-m", "moto.server", "--host", "127.0.0.1", "--port", str(port)]
    server = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for _ in range(300):
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                break
            time.sleep(0.1)
        yield BucketStore(port)
    finally:
        server.terminate()
        server.wait()


def is_compared(name: str) -> bool:
    """Whether a file of results/ is one that a run makes; the guide lies there before."""
    return name.startswith("results/") and name != "results/README.md"


def under_results(folder: Path) -> dict[str, bytes]:
    """Every file under results/ of a folder by its path."""
    found = (path for path in (folder / "results").rglob("*") if path.is_file())
    read = {path.relative_to(folder).as_posix(): path.read_bytes() for path in found}
    return {name: content for name, content in read.items() if is_compared(name)}


def snakemake(place: Place, store: Store | None, *words: str, remote: bool = False) -> tuple:
    """Run Snakemake in the clone; its exit status and all it said."""
    command = [str(BIN / "snakemake"), *(store.words() if store else [])]
    if remote:
        submit = f"{CLUSTER}/submit.sh {place.workers} {place.user or '-'}"
        command += ["--executor", "cluster-generic", "--shared-fs-usage", "none", "--jobs", "2"]
        command += ["--cluster-generic-submit-cmd", submit]
        command += ["--cluster-generic-status-cmd", f"{CLUSTER}/status.sh {place.workers}"]
        command += ["--seconds-between-status-checks", "1", "--latency-wait", "5"]
        command += ["--max-status-checks-per-second", "10"]
    else:
        command += ["--cores", "2"]
    own = {"PYTHONPATH": str(place.project / "workflow")}
    done = subprocess.run(
        [*command, *words], cwd=place.project, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        env=environment.variables() | own | (dict(store.secrets) if store else {}), text=True,
        umask=0o002,
    )  # fmt: skip
    return done.returncode, done.stdout


def forget(place: Place) -> None:
    """Remove Snakemake's notes of what it has done."""
    shutil.rmtree(place.project / ".snakemake", ignore_errors=True)


def compare(plain: dict[str, bytes], stored: dict[str, bytes], folder: Path) -> str:
    """Ends here where files differ; what was compared, in words."""
    lacking, more = sorted(plain.keys() - stored.keys()), sorted(stored.keys() - plain.keys())
    require(not lacking and not more, "no file lacks, and none is more", f"{lacking}\n{more}")
    differing = {name for name in plain if plain[name] != stored[name]}
    measured = {TIMED, TIMED.replace("summary/", "summary/_") + ".json"} & differing
    if measured:
        for name in measured:
            for side, content in (("plain", plain[name]), ("stored", stored[name])):
                (folder / side / name).parent.mkdir(parents=True, exist_ok=True)
                (folder / side / name).write_bytes(content)
        left, right = but_for_cpu_seconds(folder / "plain"), but_for_cpu_seconds(folder / "stored")
        same = left[0].equals(right[0]) and left[1] == right[1]
        require(same, f"{TIMED} differs in its column cpu_s alone, its sidecar in the digests")
    wrong = sorted(differing - measured)
    require(not wrong, f"{len(plain) - len(differing)} files are the same", str(wrong))
    kinds = {"_": "sidecars", "steps": "receipts"}
    sidecars = sum(Path(name).name.startswith("_") for name in plain)
    receipts = sum(name.startswith("results/steps/") for name in plain)
    del kinds
    return f"{sidecars} sidecars and {receipts} receipts among them"


def check_store(place: Place, store: Store, plain: dict[str, bytes]) -> None:
    """All that is shown of one store."""
    forget(place)
    status, said = snakemake(place, store, *place.study, remote=True)
    require(status == 0, f"{store.name}: the study ended through workers", said)
    jobs = len(list((place.workers / "jobs").iterdir()))
    whose = f"of the user {place.user}, who cannot read the run's folder" if place.user else "alone"
    print(f"ok: {jobs} jobs so far, each in an empty folder {whose}")
    print(f"ok: {store.name}: {compare(plain, store.files(), place.folder / 'compared' / store.name)}")
    status, said = snakemake(place, store, "audit")
    require(status == 0 and "agree with their sidecars" in said, f"{store.name}: audit", said)


def main(folder: Path, short: bool) -> None:
    """The plain run, and the two stores."""
    if shutil.which("rsync") is None:
        cannot_run("rsync, by which the storage plugin fs copies, is not installed")
    place = Place(folder)
    place.study = TEN_LINES if short else DEFAULT
    clone(place)
    status, said = snakemake(place, None, *place.study)
    require(status == 0, "the study ended on this machine, without a store", said)
    plain = under_results(place.project)
    shutil.rmtree(place.project / "results")
    make_workers(place)
    check_store(place, FolderStore(place.stores / "study"), plain)
    with s3_server() as bucket:
        check_store(place, bucket, plain)


if __name__ == "__main__":
    main(ASKED.folder, ASKED.short)
