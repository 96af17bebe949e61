"""Where check_storage.py works: a clone, workers of another user, a folder and a bucket as stores.

Imported once the pinned environment runs.
"""

import contextlib
import os
import re
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
VENV = ROOT / ".venv"
USER = "frugal-worker"
STUDY = "study"  # below a store, where its results lie


class Place:
    """The folders of the check, and the user of the workers; none where this is not root's."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.project, self.workers = folder / "project", folder / "workers"
        self.stores = folder / "stores"
        self.user = USER if os.geteuid() == 0 else ""
        self.hired = False

    def clone(self) -> None:
        """The tracked and the new files of the project, which only their owner may read."""
        listed = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
        told = subprocess.run(listed, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True)
        for name in filter(None, told.stdout.split("\0")):
            if os.path.lexists(ROOT / name):
                (self.project / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, self.project / name, follow_symlinks=False)
        self.project.chmod(0o700)

    def hire(self) -> None:
        """The user, an environment that may be read, and a folder for jobs."""
        for name in ("jobs", "ended"):
            (self.workers / name).mkdir(parents=True)
        (self.workers / "ended").chmod(0o700)
        self.stores.mkdir()
        if self.user:
            made = ["useradd", "--system", "--user-group", "--no-create-home", self.user]
            if subprocess.run(["id", self.user], capture_output=True).returncode != 0:
                subprocess.run(made, check=True)
                self.hired = True
            if not self.can_read(self.workers):
                sys.exit(
                    f"{self.folder} cannot be reached by another user, as the workers are; give a "
                    "folder below one that everybody may pass through (chmod o+x)"
                )
            for folder in (self.workers / "jobs", self.stores):
                shutil.chown(folder, self.user, self.user)
            self.stores.chmod(0o2775)  # what either makes there, both may replace
        self._equip()

    def dismiss(self) -> None:
        """Remove the user, if there was none before."""
        if self.hired:
            subprocess.run(["userdel", self.user], check=False)

    def _equip(self) -> None:
        """The pinned environment once more; its Python, too, where others cannot read it."""
        new = self.workers / "env"
        linked = ["--link"] if VENV.stat().st_dev == self.workers.stat().st_dev else []
        subprocess.run(["cp", "--archive", *linked, VENV, new], check=True)
        base = (VENV / "bin" / "python").resolve()
        if not self.can_read(base):  # in somebody's home, say
            folder, left_out = self.workers / "python", ("site-packages", "test", "__pycache__")
            ignored = shutil.ignore_patterns(*left_out)
            shutil.copytree(sys.base_prefix, folder, symlinks=True, ignore=ignored)
            base = folder / "bin" / base.name
        settings = (new / "pyvenv.cfg").read_text()
        settings = re.sub(r"^home = .*", f"home = {base.parent}", settings, flags=re.MULTILINE)
        (new / "pyvenv.cfg").unlink()  # it may be a link to the file of .venv
        (new / "pyvenv.cfg").write_text(settings)
        for name in {"python", "python3", base.name}:
            (new / "bin" / name).unlink(missing_ok=True)
            (new / "bin" / name).symlink_to(base)

    def cpu_s(self) -> float:
        """CPU seconds of all jobs so far, the Snakemakes that ran them included."""
        told = (path.read_text().split() for path in (self.workers / "ended").glob("*.cpu"))
        return sum(float(value) for words in told for value in words)

    def can_read(self, path: Path) -> bool:
        """Whether the workers' user can read a file or look into a folder."""
        words = ["sh", "-c", 'test -r "$0" && test -x "$0"', str(path)]
        if self.user:
            as_user = ["setpriv", "--reuid", self.user, "--regid", self.user, "--clear-groups"]
            words = [*as_user, *words]
        return subprocess.run(words, cwd="/", check=False).returncode == 0


class Store:
    """A store: the words that name it to Snakemake, and what lies in it."""

    name = ""
    study = STUDY
    secrets: Mapping[str, str]

    def words(self, study: str = STUDY) -> list[str]:
        """Words of the command line."""
        raise NotImplementedError

    def files(self) -> dict[str, bytes]:
        """Every file under results/ by its path."""
        raise NotImplementedError

    def put(self, name: str, content: bytes | None) -> None:
        """Write a file, or remove it."""
        raise NotImplementedError


class FolderStore(Store):
    """A folder that the storage plugin `fs` writes to, by rsync."""

    name = "fs"

    def __init__(self, folder: Path) -> None:
        self.folder, self.secrets = folder, {}

    def words(self, study: str = STUDY) -> list[str]:
        """Words of the command line."""
        prefix = str(self.folder / study)
        return ["--default-storage-provider", "fs", "--default-storage-prefix", prefix]

    def files(self) -> dict[str, bytes]:
        """Every file under results/ by its path."""
        return under_results(self.folder / self.study)

    def put(self, name: str, content: bytes | None) -> None:
        """Write a file, or remove it."""
        path = self.folder / self.study / name
        path.unlink() if content is None else path.write_bytes(content)


class BucketStore(Store):
    """A bucket of an S3 server on this machine."""

    name = "S3"

    def __init__(self, port: int) -> None:
        import boto3

        address = f"http://127.0.0.1:{port}"
        keys = {"ENDPOINT_URL": address, "ACCESS_KEY": "nobody", "SECRET_KEY": "nothing"}
        self.secrets = {f"SNAKEMAKE_STORAGE_S3_{key}": value for key, value in keys.items()}
        self.bucket = boto3.resource(
            "s3",
            endpoint_url=address,
            region_name="us-east-1",
            aws_access_key_id="nobody",
            aws_secret_access_key="nothing",
        ).create_bucket(Bucket="frugal")

    def words(self, study: str = STUDY) -> list[str]:
        """Words of the command line."""
        prefix = f"s3://frugal/{study}"
        return ["--default-storage-provider", "s3", "--default-storage-prefix", prefix]

    def files(self) -> dict[str, bytes]:
        """Every file under results/ by its path."""
        found = self.bucket.objects.filter(Prefix=f"{self.study}/results/")
        read = {one.key.removeprefix(f"{self.study}/"): one.get()["Body"].read() for one in found}
        return {name: content for name, content in read.items() if is_compared(name)}

    def put(self, name: str, content: bytes | None) -> None:
        """Write a file, or remove it."""
        one = self.bucket.Object(f"{self.study}/{name}")
        one.delete() if content is None else one.put(Body=content)


@contextlib.contextmanager
def s3_server() -> Iterator[BucketStore]:
    """A bucket of moto's server on a free port; the server is stopped at the end."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    words = [sys.executable, "-m", "moto.server", "--host", "127.0.0.1", "--port", str(port)]
    server = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for _ in range(600):
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                break
            time.sleep(0.1)
        yield BucketStore(port)
    finally:
        server.terminate()
        server.wait()


def is_compared(name: str) -> bool:
    """Whether a file is one that a run makes; the guide of results/ lies there before."""
    return name.startswith("results/") and name != "results/README.md"


def under_results(folder: Path) -> dict[str, bytes]:
    """Every file under results/ of a folder by its path."""
    found = (path for path in (folder / "results").rglob("*") if path.is_file())
    read = {path.relative_to(folder).as_posix(): path.read_bytes() for path in found}
    return {name: content for name, content in read.items() if is_compared(name)}
