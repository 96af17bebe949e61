"""Results in a store: the bytes of a run without one, and starts that know what the store holds.

Workers that share nothing are shown by `.ci/check_storage.py`. Tells where another Snakemake, or
another storage plugin, differs from those that `frugal_store` and `frugal_workers` are made for.
"""

import re
import shutil
import socket
from pathlib import Path
from typing import Any

import boto3
import pytest
import yaml
from moto.server import ThreadedMotoServer

from tests.defaults import DEFAULT
from tests.workflow import shared
from tests.workflow.runs import BIN, ROOT, TEN_LINES, payloads, plain_environment, run
from tests.workflow.shared import MASKS as TARGET

pytestmark = pytest.mark.workflow
SIDECAR = "results/missingness/dataset=ten_lines/mechanism=own/_masks.parquet.json"
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

    def snakemake(self, folder: Path, *words: str, prefix="study", configs=(TEN_LINES,)):
        """Started in the project, working in a folder that holds no results."""
        cores = [] if "-n" in words else ["--cores", "1"]
        directory = [] if "--shared-fs-usage" in words else ["--directory", str(folder)]
        files = ["--configfile", *map(str, configs)] if configs else []
        return self.run(ROOT, *words, *cores, *directory, *files, prefix=prefix)

    def run(self, folder: Path, *words: str, prefix="study"):
        """`snakemake` in a folder, with the store's words."""
        keys = KEYS | {"ENDPOINT_URL": self.address}
        variables = {f"SNAKEMAKE_STORAGE_S3_{key}": value for key, value in keys.items()}
        store = ["--default-storage-provider", "s3", "--default-storage-prefix"]
        command = [str(BIN / "snakemake"), *words, *store, f"s3://bucket/{prefix}"]
        return run(command, folder, plain_environment() | variables)

    def results(self, prefix="study") -> dict[str, bytes]:
        """What lies below results/ of a study."""
        found = self.resource.Bucket("bucket").objects.filter(Prefix=f"{prefix}/results/")
        return {o.key.removeprefix(f"{prefix}/"): o.get()["Body"].read() for o in found}

    def put(self, name: str, content: bytes | None, prefix="study") -> None:
        """Write a file, or remove it."""
        one = self.resource.Object("bucket", f"{prefix}/{name}")
        one.delete() if content is None else one.put(Body=content)


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
    done = bucket.snakemake(folder, TARGET)
    assert done.returncode == 0, done.stdout[-3000:]
    return folder


@pytest.fixture(scope="module")
def plain(runs):
    """The files of the same run without a store."""
    return payloads(shared.finished("masks", runs).folder)


def test_the_store_holds_the_bytes_of_a_run_without_one(bucket, stored, plain):
    assert bucket.results() == plain
    assert any(name.startswith("results/steps/") for name in plain)
    assert not (stored / "results").exists()
    assert not list((stored / ".snakemake/storage").rglob("*.parquet"))


def test_further_starts_know_what_the_store_holds(bucket, stored, tmp_path):
    """Even in a folder without Snakemake's notes."""
    done = bucket.snakemake(tmp_path, TARGET, "-n")
    assert "Nothing to be done" in done.stdout
    kept = bucket.results()[SIDECAR]
    bucket.put(SIDECAR, None)
    words = ("--config", "environment=strict", "seed=7")
    done = bucket.snakemake(tmp_path, TARGET, "-n", *words)
    bucket.put(SIDECAR, kept)
    assert f"1 files of finished steps are missing, first {SIDECAR}" in done.stdout
    assert "files that were made with another seed, settings, code" in done.stdout


def test_the_audit_reads_the_store(bucket, stored, tmp_path):
    """One that passes leaves no copies."""
    done = bucket.snakemake(tmp_path, "audit")
    assert done.returncode == 0, done.stdout[-3000:]
    assert not (tmp_path / ".snakemake/frugal/fetched").exists()
    kept = bucket.results()[TARGET]
    bucket.put(TARGET, kept + b"x")
    done = bucket.snakemake(tmp_path, "audit")
    bucket.put(TARGET, kept)
    assert done.returncode != 0
    assert f"{TARGET}: SHA-256 is" in done.stdout


def test_an_input_that_was_changed_in_the_store_is_refused(bucket, stored, plain, tmp_path):
    table = "results/data/dataset=ten_lines/table.parquet"
    for name, content in plain.items():
        if "missingness" not in name:
            bucket.put(name, content, prefix="changed")
    bucket.put(table, plain[table] + b"x", prefix="changed")
    done = bucket.snakemake(tmp_path, TARGET, prefix="changed")
    assert done.returncode != 0
    assert f"{table} is not the file that its sidecar describes" in done.stdout


def test_a_module_has_its_prefix_in_the_store(bucket, plain, tmp_path):
    example = ROOT / "docs" / "examples"
    config = yaml.safe_load(TEN_LINES.read_text())
    for name in ("ten_lines.csv", "ten_lines.yaml"):
        shutil.copy(example / name, tmp_path)
    config["datasets"]["ten_lines"] = "ten_lines.yaml"
    (tmp_path / "config.yaml").write_text(yaml.safe_dump({"mine": config}, sort_keys=False))
    (tmp_path / "Snakefile").write_text(
        f'configfile: "config.yaml"\nrule all:\n    input: "mine/{TARGET}"\n'
        f"module mine:\n    snakefile: {str(ROOT / 'workflow/Snakefile')!r}\n"
        '    config: config["mine"]\n    prefix: "mine"\nuse rule * from mine as mine_*\n'
    )
    done = bucket.run(tmp_path, "all", "--cores", "1", prefix="modules")
    assert done.returncode == 0, done.stdout[-3000:]
    assert bucket.results("modules/mine") == plain


def few_agents() -> dict[str, Any]:
    """Over the default: one policy of `afape`, one family of trees of `diagnosis`."""
    afape, diagnosis = DEFAULT["afape"], DEFAULT["diagnosis"]
    agents = dict.fromkeys(afape["agents"]) | {"always": afape["agents"]["always"]}
    figures = {"frequency_agent": "always", "convergence_agents": ["always"]}
    scenarios = [one | {"agents": ["cascade"]} for one in diagnosis["scenarios"]]
    return {
        "afape": {"agents": agents, "figures": figures, "grid": {"agents": ["always"]}},
        "diagnosis": {"scenarios": scenarios, "pairs": diagnosis["pairs"] | {"group_size": 24}},
    }


def test_every_file_from_outside_is_brought_by_the_machine_that_has_it(bucket, tmp_path):
    targets = ("all", "report", "grid", "choose", "bundles")
    few = tmp_path / "few.yaml"  # every input of every study, fewer steps
    few.write_text(yaml.safe_dump(few_agents()))
    done = bucket.snakemake(tmp_path, "-n", *targets, prefix="none", configs=(few,))
    assert done.returncode == 0, done.stdout[-3000:]
    brought = re.findall(
        r"^    input: (\S+)\n    output: s3://bucket/none/outside/(\S+)", done.stdout, re.M
    )
    assert len(brought) == 8
    assert all(Path(path).name == Path(place).name for path, place in brought)


@pytest.mark.parametrize(
    ("words", "place"),
    [
        (("decide", "--config", "table=docs/examples/clinic.yaml"), "results/decide/clinic"),
        (("search", "--config", "records=docs/examples/searches.yaml"), "results/search/searches"),
        (("over_time", "--config", "records=docs/examples/wards.yaml"), "results/over_time/wards"),
    ],
)
def test_ones_own_table_lies_in_the_store_where_it_would_lie_without_one(
    bucket, tmp_path, words, place
):
    done = bucket.snakemake(tmp_path, "-n", *words, prefix="none", configs=())
    assert done.returncode == 0, done.stdout[-3000:]
    outputs = re.findall(r"output: (s3://\S+?),? ", done.stdout)
    assert outputs
    assert all(path.startswith(f"s3://bucket/none/{place}/") for path in outputs)


def test_a_store_that_cannot_be_reached_is_a_sentence(bucket, tmp_path):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        nowhere = Bucket(f"http://127.0.0.1:{probe.getsockname()[1]}")
    done = nowhere.snakemake(tmp_path, TARGET, "-n", "--storage-s3-retries", "1")
    assert done.returncode != 0
    assert (
        "Frugal cannot start: the store s3://bucket/study/results cannot be read: " in done.stdout
    )
    assert "Traceback" not in done.stdout


def test_what_workers_that_share_nothing_would_not_find_is_refused(bucket, tmp_path):
    words = ("--shared-fs-usage", "none", "-n", TARGET, "--config", f"data_mirror={TEN_LINES}")
    done = bucket.snakemake(tmp_path, *words)
    assert "allowed is a path from the working folder or the project on" in done.stdout


def test_fs_without_rsync_is_a_sentence(tmp_path):
    (tmp_path / "bin").mkdir()
    for name in ("bash", "sh", "which"):
        (tmp_path / "bin" / name).symlink_to(shutil.which(name) or name)
    store = ["--default-storage-provider", "fs", "--default-storage-prefix", str(tmp_path / "s")]
    command = [str(BIN / "snakemake"), "afape", "--cores", "1", "--directory", str(tmp_path)]
    path = f"{BIN}:{tmp_path / 'bin'}"
    done = run([*command, *store], ROOT, plain_environment() | {"PATH": path})
    assert done.returncode != 0
    assert "Frugal cannot start: the storage plugin fs copies by rsync" in done.stdout
