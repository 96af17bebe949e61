#!/usr/bin/env python3
"""Results in a store by the published plugins: a second folder (fs), and S3 by a server of moto's.

Through profiles/fs and profiles/s3, jobs on this machine. Shown for each store:
  the study of ten lines ends; payloads and manifests have the bytes of a run without a store;
  the audit of a copy of the store, as a folder, passes;
  a further start finds nothing to do; one with another seed makes again.
Not shown: a real cluster, other stores than these two, a network that fails.
With --short: the study through fs, its masks through S3, without audit and further starts.
Usage: .ci/check_storage.py [--short] FOLDER     (an empty folder; ten minutes, short three)
"""

import contextlib
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import environment
from environment import BIN, ROOT, cannot_run, require

if __name__ == "__main__":
    OPTIONS = environment.begin(__doc__)
from tests.workflow.runs import payloads
from tests.workflow.shared import MASKS, finished, folder_of_runs

CONFIG = "docs/examples/ten_lines_config.yaml"


class Store:
    """A store: the words that name it, the variables of its keys, and how it is copied."""

    def __init__(self, name: str, prefix: str, variables: dict[str, str]) -> None:
        self.name, self.variables = name, variables
        self.words = ["--profile", f"profiles/{name}", "--default-storage-prefix", prefix]

    def start(self, folder: Path, *words: str) -> str:
        """Run Snakemake to a good end; all that it said."""
        own = ["--cores", "2", "--directory", folder, "--configfile", CONFIG]
        done = subprocess.run(
            [BIN / "snakemake", *self.words, *own, *words],
            cwd=ROOT,
            env=environment.variables() | self.variables,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        require(done.returncode == 0, f"{self.name}, it ended: {' '.join(words)}", done.stdout)
        return done.stdout

    def copy(self, folder: Path) -> None:
        """All files of the store in a folder."""
        if self.name == "fs":
            shutil.copytree(self.words[-1], folder)
            return
        for one in bucket(self.variables["SNAKEMAKE_STORAGE_S3_ENDPOINT_URL"]).objects.all():
            path = folder / one.key.removeprefix("study/")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(one.get()["Body"].read())


def bucket(address: str):
    """The bucket of the server; made where there is none."""
    import boto3

    keys = {"aws_access_key_id": "nobody", "aws_secret_access_key": "nothing"}
    resource = boto3.resource("s3", endpoint_url=address, region_name="us-east-1", **keys)
    return resource.create_bucket(Bucket="frugal")


@contextlib.contextmanager
def s3_server() -> Iterator[Store]:
    """A bucket of moto's server on a free port; the server is stopped at the end."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    words = [sys.executable, "-m", "moto.server", "--host", "127.0.0.1", "--port", str(port)]
    server = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    keys = {"ACCESS_KEY": "nobody", "SECRET_KEY": "nothing"}
    keys["ENDPOINT_URL"] = f"http://127.0.0.1:{port}"
    try:
        for _ in range(600):
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                break
            time.sleep(0.1)
        bucket(keys["ENDPOINT_URL"])
        variables = {f"SNAKEMAKE_STORAGE_S3_{key}": value for key, value in keys.items()}
        yield Store("s3", "s3://frugal/study", variables)
    finally:
        server.terminate()
        server.wait()


def check(store: Store, folder: Path, target: str, plain: Path, short: bool) -> None:
    """A run into the store, and what is there afterwards."""
    store.start(folder / store.name, "--", target)
    store.copy(copy := folder / f"{store.name}_copy")
    its, mine = payloads(plain), payloads(copy)
    differing = sorted(name for name in {*mine, *its} if mine.get(name) != its.get(name))
    require(not differing, f"{store.name}: all {len(its)} files are the same", str(differing))
    if short:
        return
    again = ["-n", "--", target]
    output = store.start(folder / store.name, *again)
    require("Nothing to be done" in output, f"{store.name}: a further start finds nothing to do")
    output = store.start(folder / store.name, "--config", "seed=7", *again)
    require("params have changed" in output, f"{store.name}: another seed makes again", output)
    words = ["-m", "frugal", "audit", "results", "--look-in", ROOT / "docs" / "examples"]
    own = environment.variables() | {"PATH": f"{BIN}:{os.environ['PATH']}"}
    done = subprocess.run([BIN / "python", *words], cwd=copy, env=own, stdout=-1, stderr=-2)
    require(done.returncode == 0, f"{store.name}: the audit of a copy passes", str(done.stdout))


def main(folder: Path, short: bool) -> None:
    """Both stores."""
    if shutil.which("rsync") is None:
        cannot_run("rsync, by which the storage plugin fs copies, is not installed")
    runs = folder_of_runs(folder)
    plain, masks = (finished(name, runs).folder for name in ("ten_lines", "masks"))
    check(Store("fs", str(folder / "store"), {}), folder, "afape", plain, short)
    with s3_server() as store:
        if short:
            check(store, folder, MASKS, masks, short)
        else:
            check(store, folder, "afape", plain, short)


if __name__ == "__main__":
    main(OPTIONS.folder, OPTIONS.short)
