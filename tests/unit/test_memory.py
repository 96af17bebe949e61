"""What a job used and what the machine has left, from what the operating system tells."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from frugal.artifacts.memory import free_memory_mb, usage_in_log, usage_line
from frugal.artifacts.plans import Job, load_costs, stated_memory_mb
from hypothesis import given
from hypothesis import strategies as st

ROOT = Path(__file__).parents[2]
MB = 2**20
COSTS = load_costs(ROOT / "config" / "costs.yaml")["costs"]


def rules() -> dict[str, str]:
    """Name → text of every rule that runs something."""
    texts = {}
    for path in (ROOT / "workflow" / "rules").glob("*.smk"):
        parts = re.split(r"^rule (\w+):\n", path.read_text(), flags=re.MULTILINE)
        texts |= dict(zip(parts[1::2], parts[2::2], strict=True))
    return {name: text for name, text in texts.items() if "    shell:\n" in text}


def machine(root: Path, *, available_mb: int, cgroup: str = "") -> Path:
    (root / "proc" / "self").mkdir(parents=True)
    told = f"MemTotal: 99999999 kB\nMemAvailable:   {available_mb * 1024} kB\n"
    (root / "proc" / "meminfo").write_text(told)
    (root / "proc" / "self" / "cgroup").write_text(cgroup)
    return root


def group(folder: Path, **files: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / f"memory.{name}").write_text(text + "\n")


def test_without_a_control_group_the_machine_decides(tmp_path):
    assert free_memory_mb(machine(tmp_path, available_mb=3000)) == 3000


def test_a_group_without_a_limit_changes_nothing(tmp_path):
    root = machine(tmp_path, available_mb=3000, cgroup="0::/a\n")
    group(root / "sys/fs/cgroup/a", max="max", current="1", stat="anon 1")
    assert free_memory_mb(root) == 3000


@pytest.mark.parametrize("limited", ["", "a", "a/b"])
def test_the_smallest_of_all_groups_around_the_process_decides(tmp_path, limited):
    root = machine(tmp_path, available_mb=3000, cgroup="0::/a/b\n")
    group(root / "sys/fs/cgroup/a/b", max="max", current="1", stat="anon 1")
    used = {"current": str(500 * MB), "stat": f"anon 1\ninactive_file {100 * MB}"}
    group(root / "sys/fs/cgroup" / limited, max=str(1000 * MB), **used)
    assert free_memory_mb(root) == 600


def test_control_groups_of_version_1_count_as_well(tmp_path):
    root = machine(tmp_path, available_mb=3000, cgroup="5:cpu:/x\n4:memory:/x\n")
    used = {"usage_in_bytes": str(500 * MB), "stat": f"total_inactive_file {100 * MB}"}
    group(root / "sys/fs/cgroup/memory", limit_in_bytes=str(1000 * MB), **used)
    assert free_memory_mb(root) == 600


def test_a_group_beyond_its_limit_leaves_nothing(tmp_path):
    root = machine(tmp_path, available_mb=3000, cgroup="0::/\n")
    group(root / "sys/fs/cgroup", max=str(MB), current=str(5 * MB), stat="anon 1")
    assert free_memory_mb(root) == 0


def test_this_machine_has_something_left():
    assert free_memory_mb() > 0


def test_a_peak_is_told_though_it_was_given_back_and_is_the_programs_own():
    """A large parent (as Snakemake is) does not count, whatever `ru_maxrss` inherits."""
    child = (
        "from frugal.artifacts.memory import usage_line\n"
        "b = bytearray(150 * 2**20); del b\nprint(usage_line())"
    )
    parent = (
        "import subprocess, sys\nheld = bytearray(b'x') * (600 * 2**20)\n"
        f"print(subprocess.run([sys.executable, '-c', {child!r}], stdout=-1, text=True).stdout)"
    )
    said = subprocess.run([sys.executable, "-c", parent], stdout=-1, text=True, check=True).stdout
    used = usage_in_log(said)
    assert used is not None
    assert 150 < used[1] < 500


def test_the_last_line_of_that_kind_counts():
    assert usage_in_log("used: 1.0 CPU s, peak 3 MB\nx\nused: 2.5 CPU s, peak 40 MB\n") == (2.5, 40)
    assert usage_in_log("Error\n") is None
    assert usage_in_log(usage_line()) is not None


def test_every_rule_that_runs_something_states_its_memory_and_has_a_measurement():
    found = rules()
    assert len(found) > 40
    stated = "    resources:\n        mem_mb=memory,\n"
    assert [name for name, text in found.items() if stated not in text] == []
    assert found.keys() - {cost["stage"] for cost in COSTS} == set()


def test_the_cluster_profile_does_not_contradict_the_rules():
    profile = yaml.safe_load((ROOT / "profiles/slurm/config.yaml").read_text())
    assert "mem_mb" not in profile["default-resources"]
    assert [r for r, own in profile["set-resources"].items() if "mem_mb" in own] == []


@given(st.sampled_from(COSTS))
def test_a_job_is_given_a_quarter_more_than_was_measured_of_it(cost):
    keys = {k: cost[k] for k in ("dataset", "variant") if k in cost}
    stated = stated_memory_mb(Job(cost["stage"], keys), COSTS, scale=cost.get("scale", "default"))
    assert 1.25 * cost["memory_mb"] <= stated < 1.25 * cost["memory_mb"] + 1


def test_what_was_never_measured_is_given_as_much_as_the_largest_of_its_kind():
    own = stated_memory_mb(Job("roll_out", {"dataset": "mine"}), COSTS, scale="default")
    known = [c for c in COSTS if (c["stage"], c.get("scale")) == ("roll_out", "default")]
    assert own >= 1.25 * max(cost["memory_mb"] for cost in known)
    new = stated_memory_mb(Job("a_new_stage", {}), COSTS, scale="paper")
    assert new >= 1.25 * max(c["memory_mb"] for c in COSTS if c.get("scale") == "paper")
