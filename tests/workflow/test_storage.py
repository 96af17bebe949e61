"""Results in a store by the published plugins: payloads and manifests of a run without one.

Tells where another Snakemake, or another storage plugin, differs from those of the lock.
`.ci/check_storage.py` runs more.
"""

from pathlib import Path
from typing import Any

import boto3
import pytest
import yaml
from moto.server import ThreadedMotoServer

from tests.defaults import DEFAULT
from tests.workflow import shared
from tests.workflow.runs import BIN, ROOT, TEN_LINES, jobs, payloads, plain_environment, run
from tests.workflow.shared import MASKS as TARGET

pytestmark = pytest.mark.workflow
KEYS = {"ACCESS_KEY": "nobody", "SECRET_KEY": "nothing"}


class Bucket:
    """A bucket of a server, and `snakemake` with a folder of it as its store."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.resource: Any = boto3.resource(
            "s3",
            endpoint_url=address,
            region_name="us-east-1",
            aws_access_key_id="nobody",
            aws_secret_access_key="nothing",
        )

    def snakemake(self, folder: Path, *words: str, config: Path | None = TEN_LINES, study="study"):
        """Started in the project, working in a folder that holds no results."""
        keys = KEYS | {"ENDPOINT_URL": self.address}
        variables = {f"SNAKEMAKE_STORAGE_S3_{key}": value for key, value in keys.items()}
        store = ["--profile", "profiles/s3", "--default-storage-prefix", f"s3://bucket/{study}"]
        cores = [] if "-n" in words else ["--cores", "1"]
        files = ["--configfile", str(config)] if config else []
        command = [str(BIN / "snakemake"), *store, *cores, "--directory", str(folder), *files]
        return run([*command, *words], ROOT, plain_environment() | variables)

    def results(self, study="study") -> dict[str, bytes]:
        """What lies below results/ of a study."""
        found = self.resource.Bucket("bucket").objects.filter(Prefix=f"{study}/results/")
        return {o.key.removeprefix(f"{study}/"): o.get()["Body"].read() for o in found}


@pytest.fixture(scope="module")
def bucket():
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield Bucket(f"http://{host}:{port}")
    server.stop()


@pytest.fixture(scope="module")
def stored(bucket, tmp_path_factory):
    """The ten lines up to their masks in the store; the folder of the run."""
    folder = tmp_path_factory.mktemp("stored")
    done = bucket.snakemake(folder, "--", TARGET)
    assert done.returncode == 0, done.stdout[-3000:]
    return folder


def test_the_store_holds_the_files_of_a_run_without_one(bucket, stored, runs):
    plain = payloads(shared.finished("masks", runs).folder)
    assert bucket.results() == plain
    assert not (stored / "results").exists()
    assert (stored / "logs" / "prepare_data" / "dataset=ten_lines.log").is_file()


def test_a_further_start_finds_nothing_to_do_and_another_seed_makes_again(bucket, stored):
    assert "Nothing to be done" in bucket.snakemake(stored, "-n", "--", TARGET).stdout
    done = bucket.snakemake(stored, "-n", "--config", "seed=7", "--", TARGET)
    assert jobs(done.stdout)["prepare_data"] == 1


def test_wildcards_of_every_study_are_held_to_what_they_may_be(bucket, tmp_path):
    """The plugin s3 loses `wildcard_constraints`; `constrain` in rules/places.smk writes them."""
    first = {key: {"scenarios": DEFAULT[key]["scenarios"][:1]} for key in ("afape", "recourse")}
    (tmp_path / "first.yaml").write_text(yaml.safe_dump(first), encoding="utf-8")
    done = bucket.snakemake(tmp_path, "-n", "--", "all", config=tmp_path / "first.yaml")
    assert done.returncode == 0, done.stdout[-3000:]
    assert {"compare_imputers", "train_front", "answer_units"} <= jobs(done.stdout).keys()


@pytest.mark.parametrize("target", ["audit", "report"])
def test_what_reads_manifests_and_folders_is_refused_in_a_sentence(target, bucket, stored):
    done = bucket.snakemake(stored, "--", target)
    assert done.returncode != 0
    assert "go to the folder of the plugin fs, or copy results/ from the store" in done.stdout
    assert "Traceback" not in done.stdout


def test_ones_own_table_is_answered_here(bucket, tmp_path):
    """Its files lie in the store; the sentence and the page come back."""
    records = ["--config", "records=docs/examples/searches.yaml", "--", "search"]
    done = bucket.snakemake(tmp_path, *records, config=None, study="own")
    assert done.returncode == 0, done.stdout[-3000:]
    here = tmp_path / "results/search/searches/verdict.txt"
    assert here.read_bytes() == bucket.results("own")["results/verdict.txt"]
    assert here.read_text() in done.stdout
