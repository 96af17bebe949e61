"""Profiles for Kubernetes and for stores, and the pins of the executor."""

import re
from pathlib import Path

import pytest
import yaml
from snakemake.cli import get_argument_parser

ROOT = Path(__file__).parents[2]
PROFILES = {path.parent.name: path for path in (ROOT / "profiles").glob("*/config.yaml")}
OF_THE_PLUGIN = {"kubernetes-namespace"}  # which is not installed here


def pins(path: Path) -> dict[str, str]:
    """Package → version, of a file of hashed pins."""
    return dict(re.findall(r"^([\w.-]+)==(\S+)", path.read_text(), flags=re.MULTILINE))


@pytest.mark.parametrize("name", PROFILES)
def test_every_key_is_an_option_of_snakemake_or_of_a_plugin(name):
    settings = yaml.safe_load(PROFILES[name].read_text())
    options = {
        word.removeprefix("--")
        for action in get_argument_parser()._actions
        for word in action.option_strings
    }
    assert set(settings) - options == (OF_THE_PLUGIN if name == "kubernetes" else set())


def test_profiles_name_the_published_plugins():
    read = {name: yaml.safe_load(path.read_text()) for name, path in PROFILES.items()}
    assert {k: v["executor"] for k, v in read.items() if "executor" in v} == {
        "slurm": "slurm",
        "kubernetes": "kubernetes",
    }
    store = "default-storage-provider"
    stores = {name: profile[store] for name, profile in read.items() if store in profile}
    assert stores == {"fs": "fs", "s3": "s3", "kubernetes": "s3"}


def test_no_key_of_a_store_stands_in_a_profile():
    texts = "\n".join(path.read_text() for path in PROFILES.values())
    assert not re.search(r"^ *storage-s3-(access|secret)", texts, re.MULTILINE)


def test_the_executor_is_pinned_with_the_versions_of_the_lock():
    mine, lock = pins(ROOT / "envs/kubernetes.txt"), pins(ROOT / "requirements.lock")
    assert "snakemake-executor-plugin-kubernetes" in mine
    assert {name for name in mine.keys() & lock.keys() if mine[name] != lock[name]} == set()
    hashed = (ROOT / "envs/kubernetes.txt").read_text()
    assert hashed.count("--hash=sha256:") >= len(mine)
    assert "://" not in hashed
