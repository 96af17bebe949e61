"""What a job used and what the machine has left, from what the operating system tells."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from frugal.__main__ import main
from frugal.results.sources import STAGES
from frugal.run.memory import accounted, free_memory_mb, used
from frugal.run.plans import load_costs

ROOT = Path(__file__).parents[2]
MB = 2**20
COSTS = load_costs(ROOT / "config" / "costs.yaml")


def rules(kind: str) -> dict[str, str]:
    """Name → text of every rule at the margin that begins so."""
    texts = {}
    for path in (ROOT / "workflow" / "rules").glob("*.smk"):
        parts = re.split(rf"^{kind} (\w+)(?: with)?:\n", path.read_text(), flags=re.MULTILINE)
        texts |= dict(zip(parts[1::2], parts[2::2], strict=True))
    return texts


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


def test_a_peak_is_stated_though_it_was_given_back_and_is_the_programs_own():
    """A large parent (as Snakemake is) does not count, whatever `ru_maxrss` inherits."""
    child = (
        "from frugal.run.memory import used\n"
        "b = bytearray(150 * 2**20); del b\nprint(used(children=True)['memory_mb'])"
    )
    parent = (
        "import subprocess, sys\nheld = bytearray(b'x') * (600 * 2**20)\n"
        f"print(subprocess.run([sys.executable, '-c', {child!r}], stdout=-1, text=True).stdout)"
    )
    said = subprocess.run([sys.executable, "-c", parent], stdout=-1, text=True, check=True).stdout
    assert 150 < float(said) < 500


def test_children_that_have_ended_count_and_a_child_of_a_moment_is_not_missed(tmp_path):
    """Samples every 30 s see none of it: .3 s of CPU and 400 MB, given back at once."""
    child = (
        "import time\nheld = bytearray(b'x') * (400 * 2**20)\nwhile time.process_time() < .3: pass"
    )
    script = (
        "import subprocess, sys\nfrom pathlib import Path\n"
        "from frugal.run.memory import accounted\n"
        f"with accounted(Path(sys.argv[1])): subprocess.run([sys.executable, '-c', {child!r}])"
    )
    path = tmp_path / "used.jsonl"
    subprocess.run([sys.executable, "-c", script, str(path)], check=True)
    measured = json.loads(path.read_text())
    assert measured["cpu_s"] >= 0.3
    assert measured["memory_mb"] > 400
    assert measured["ended"] == "done"


def test_a_job_that_fails_has_written_what_it_used(tmp_path):
    path = tmp_path / "deep" / "used.jsonl"
    with pytest.raises(ZeroDivisionError), accounted(path):
        _ = 1 / 0
    assert json.loads(path.read_text())["ended"] == "failed"
    words = ["fit_classifier", "--seed", "0", "--used", str(path.with_name("refused.jsonl"))]
    assert main(words) == 2
    assert json.loads(path.with_name("refused.jsonl").read_text())["ended"] == "failed"


def test_a_file_that_cannot_be_written_changes_nothing_about_the_job(tmp_path):
    (tmp_path / "file").write_text("")
    with accounted(tmp_path / "file" / "used.jsonl"):
        pass
    assert (tmp_path / "file").read_text() == ""


@pytest.mark.parametrize(
    ("path", "sentence"),
    [
        ("results/table.parquet", "--used results/table.parquet ends in '.parquet'; allowed is"),
        ("mine.jsonl", "--used mine.jsonl is an input or an output"),
    ],
)
def test_what_was_used_replaces_no_result_and_no_input(path, sentence, capsys):
    assert main(["prepare_data", "--seed", "0", "--input", "raw_0=mine.jsonl", "--used", path]) == 2
    assert sentence in capsys.readouterr().err


def test_this_process_has_used_something():
    alone, with_children = used(children=False), used(children=True)
    assert 0 < alone["cpu_s"] <= with_children["cpu_s"]
    assert 0 < alone["memory_mb"] <= with_children["memory_mb"]


def test_every_rule_that_runs_something_states_its_memory():
    steps = rules("use rule stage as")
    found = {name: text for name, text in rules("rule").items() if "    shell:\n" in text}
    assert len(steps) > 40
    assert "stage" in found
    stated = "    resources:\n        mem_mb=memory,\n"
    assert [name for name, text in found.items() if stated not in text] == []


def test_every_step_states_no_more_than_its_inputs_outputs_and_settings():
    """Logs, command and digest follow from these: `complete_steps` in rules/stage_common.smk."""
    for name, after in rules("use rule stage as").items():
        text = after.partition("\n\n\n")[0]
        assert name in STAGES
        assert not re.findall(r"^ +(?:log|benchmark|shell|resources|conda):", text, re.M), name
        given = re.findall(r"^ +params:\n +(\w+)=", text, re.MULTILINE)
        assert given in ([], ["settings"]), name


def test_the_cluster_profile_does_not_contradict_the_rules():
    profile = yaml.safe_load((ROOT / "profiles/slurm/config.yaml").read_text())
    assert "mem_mb" not in profile["default-resources"]
    assert [r for r, own in profile["set-resources"].items() if "mem_mb" in own] == []


@pytest.mark.parametrize("step", ["roll_out", "train_dadi", "a_new_step"])
def test_a_job_is_given_a_quarter_more_than_measured_and_twice_as_much_again(step):
    mb, minutes = COSTS.stated_mb(step), COSTS.stated_minutes(step)
    assert 1.25 * COSTS.job(step).mb <= mb < 1.25 * COSTS.job(step).mb + 1
    assert [COSTS.stated_mb(step, n) for n in (2, 3)] == [2 * mb, 4 * mb]
    assert [COSTS.stated_minutes(step, n) for n in (2, 3)] == [2 * minutes, 4 * minutes]


def test_a_step_without_a_line_or_minutes_is_given_those_of_the_others():
    assert COSTS.job("a_new_step") is COSTS.others
    assert "roll_out" in COSTS.steps
    assert COSTS.stated_minutes("prepare_data") == COSTS.others.minutes


def test_every_line_of_the_table_is_of_a_rule():
    assert COSTS.steps.keys() - rules("rule").keys() - STAGES.keys() == set()
