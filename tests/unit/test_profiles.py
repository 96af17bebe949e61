"""Resources of the command line take the place of the profile's of the same name, no others."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
READ = """
import json, sys
from snakemake import cli
_, found = cli.parse_args(sys.argv[1:])
def told(resources):
    return {k: str(v.raw if hasattr(v, "raw") else v.value) for k, v in (resources or {}).items()}
print(json.dumps({
    "rules": {rule: told(own) for rule, own in found.set_resources.items()},
    "default": told(found.default_resources),
    "limits": told(found.resources),
    "targets": sorted(found.targets),
}))
"""
PROFILE = """
default-resources: {mem_mb: 500, runtime: 7, slurm_partition: main}
set-resources:
  train: {runtime: 480, mem_mb: 9}
  rest: {runtime: 5}
resources: [turn=1]
"""


@pytest.fixture
def read(tmp_path):
    """What Snakemake understands by its words, with a profile."""
    (tmp_path / "config.yaml").write_text(PROFILE)

    def read_it(*words, profile=True):
        own = ["--profile", str(tmp_path)] if profile else ["--cores", "1"]
        command = [sys.executable, "-c", READ, *own, *words]
        return json.loads(subprocess.run(command, stdout=-1, check=True, cwd=ROOT).stdout)

    return read_it


def test_a_steps_resource_leaves_the_profiles_others_alone(read):
    found = read("--set-resources", "train:mem_mb=70", "roll:runtime=3", "--", "afape")
    assert found["rules"] == {
        "train": {"runtime": "480", "mem_mb": "70"},
        "rest": {"runtime": "5"},
        "roll": {"runtime": "3"},
    }
    assert found["targets"] == ["afape"]


def test_a_default_resource_leaves_the_profiles_others_alone(read):
    found = read("--default-resources", "slurm_partition=short")["default"]
    assert {k: found[k] for k in ("mem_mb", "runtime")} == {"mem_mb": "500", "runtime": "7"}
    assert "short" in found["slurm_partition"]
    assert read("--default-resources", "mem=2GB")["default"]["mem_mb"] == "2000"


def test_a_limit_leaves_the_profiles_others_alone(read):
    assert read("--resources", "mem_mb=9000")["limits"] == {"turn": "1", "mem_mb": "9000"}


def test_a_profile_alone_and_a_command_line_alone_are_read_as_ever(read):
    alone = read()
    assert alone["rules"]["train"] == {"runtime": "480", "mem_mb": "9"}
    assert alone["limits"] == {"turn": "1"}
    bare = read("--set-resources", "train:mem_mb=1", profile=False)
    assert bare["rules"] == {"train": {"mem_mb": "1"}}
