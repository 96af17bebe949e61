"""The profile for Kubernetes and the pins of its executor; `.ci/check_storage.py` runs it."""

import re
from pathlib import Path

import yaml
from snakemake.cli import get_argument_parser

ROOT = Path(__file__).parents[2]
PROFILE = ROOT / "profiles" / "kubernetes" / "config.yaml"
OF_THE_PLUGIN = {"kubernetes-namespace"}  # which is not installed here


def pins(path: Path) -> dict[str, str]:
    """Package → version, of a file of hashed pins."""
    return dict(re.findall(r"^([\w.-]+)==(\S+)", path.read_text(), flags=re.MULTILINE))


def test_every_key_is_an_option_of_snakemake_or_of_the_executor():
    settings = yaml.safe_load(PROFILE.read_text())
    options = {
        word.removeprefix("--")
        for action in get_argument_parser()._actions
        for word in action.option_strings
    }
    assert set(settings) - options == OF_THE_PLUGIN
    assert settings["shared-fs-usage"] == "none"
    assert settings["default-storage-provider"] == "s3"


def test_no_key_of_a_store_stands_in_the_profile():
    assert not re.search(r"^ *storage-s3-(access|secret)", PROFILE.read_text(), re.MULTILINE)


def test_the_executor_is_pinned_with_the_versions_of_the_lock():
    mine, lock = pins(ROOT / "envs/kubernetes.txt"), pins(ROOT / "requirements.lock")
    assert "snakemake-executor-plugin-kubernetes" in mine
    assert {name for name in mine.keys() & lock.keys() if mine[name] != lock[name]} == set()
    hashed = (ROOT / "envs/kubernetes.txt").read_text()
    assert hashed.count("--hash=sha256:") >= len(mine)
    assert "://" not in hashed
