"""Portions of a large scenario: names, command lines, files, and how a config is divided."""

import copy
import json
import shlex
import subprocess
import sys
from itertools import product
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import yaml
from frugal.core.blocks import Portion, keys_of, rows_names, seeds_name, whole
from frugal.core.errors import ConfigError, DataError
from frugal.core.rows import FrameRows, Partitions, joined_rows
from frugal.core.schema_check import read_yaml
from frugal.run.own_python import run_in_own_python
from frugal.run.stage_command import read_command
from frugal.run.stage_words import shell_line, stage_words
from frugal.run.study import load_study
from frugal.studies.afape.portions import Portions, table_rows
from snakemake.target_jobs import parse_target_jobs_cli_args

from tests.defaults import DEFAULT

ROOT = Path(__file__).parents[3]
WIDE = "synthetic_mnar"


# --- names ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("seeds", "name"),
    [((0,), "0"), ((0, 1, 2), "0-2"), ((3, 0, 1, 7), "3+0-1+7"), ((12, 11), "12+11")],
)
def test_seeds_have_a_name_that_states_them(seeds, name):
    assert seeds_name(seeds) == name
    assert Portion.of({"seeds": name}) == Portion(seeds=seeds)


def test_rows_are_named_by_whole_blocks_and_the_last_goes_on():
    size = 131_072
    assert rows_names(3 * size + 1, size) == [
        "0-131071",
        "131072-262143",
        "262144-393215",
        "393216-on",
    ]
    assert rows_names(3 * size, 2 * size + 5) == ["0-262143", "262144-on"]
    assert rows_names(0, size) == ["0-on"]
    assert Portion.of({"rows": "262144-on"}) == Portion(rows=slice(262_144, None))
    assert Portion.of({"rows": "0-131071"}) == Portion(rows=slice(0, size))


def test_every_block_is_in_one_portion_whatever_was_counted():
    slices = [slice(k, min(k + 131_072, 500_000)) for k in range(0, 500_000, 131_072)]
    for counted in (1, 400_000, 500_000, 900_000):
        names = rows_names(counted, 131_072)
        found = [k for name in names for k in Portion.of({"rows": name}).blocks(slices)]
        assert found == [0, 1, 2, 3]


@pytest.mark.parametrize(
    "name", ["", "a", "1-", "-1", "0-2+", "0,1", "0..3", "9-0", "0-99999999999"]
)
def test_what_names_no_seeds_is_refused(name):
    with pytest.raises(ConfigError, match="allowed are seeds as in 0-9 or 0-2\\+7"):
        Portion.of({"seeds": name})


@pytest.mark.parametrize("name", ["", "5", "0-x", "on-5", "200-100"])
def test_what_names_no_rows_is_refused(name):
    with pytest.raises(ConfigError, match="allowed are rows as in 0-131071 or 131072-on"):
        Portion.of({"rows": name})


def test_a_submitted_job_finds_its_portion_again():
    keys = {"dataset": "d", "seeds": f"/seeds={seeds_name((3, 0, 1, 7))}", "rows": ""}
    words = ",".join(f"{key}={value}" for key, value in keys.items())  # as Snakemake writes them
    (found,) = parse_target_jobs_cli_args([f"roll_out:{words}"]) or [None]
    assert found is not None
    assert dict(found.wildcards_dict) == keys


def test_rows_that_begin_inside_a_block_are_refused():
    with pytest.raises(ConfigError, match="the next ones at 0 and 100"):
        Portion(rows=slice(5, 10)).blocks([slice(0, 100), slice(100, 150)])


def test_a_portion_is_not_part_of_what_draws_are_named_by():
    told = keys_of({"dataset": "d", "seeds": "/seeds=0-9", "agent": "a", "rows": ""})
    assert told == {"dataset": "d", "seeds": "0-9", "agent": "a"}
    assert whole(told) == {"dataset": "d", "agent": "a"}


# --- long command lines ---------------------------------------------------------------------------


def rollouts_of(seeds: list[str], agents: list[str], rows: list[str]) -> list[str]:
    return [
        f"results/rollouts/dataset=d/mechanism=m/seeds={s}/agent={a}/rows={r}/blocked.parquet"
        for s, a, r in product(seeds, agents, rows)
    ]


def test_a_line_that_bash_would_not_take_has_braces_and_means_the_same():
    seeds = [f"{k}-{k + 3},{k + 9}" for k in range(0, 400, 20)]
    agents, rows = [f"agent_{k}" for k in range(11)], ["0-131071", "131072-262143", "262144-on"]
    odd = rollouts_of(["0"], ["a"], rows) + rollouts_of(["0"], ["my table"], ["0-on"])
    own = ["/data/o'brien, a/{x}.yaml", "/data/b/y.csv"]
    files = {"blocked": rollouts_of(seeds, agents, rows), "worlds": odd, "raw": own, "one": "p/q"}
    words = stage_words(
        files, {"out": "results/x y.parquet"}, {"seeds": "0"}, {"a": [1]}, 7, "fast"
    )
    assert len(shlex.join(words)) > 70_000
    line = shell_line(words, Path("none"))
    assert len(line) < 3000
    code = "import json, sys; print(json.dumps(sys.argv[1:]))"
    told = subprocess.run(
        ["bash", "-c", f"{shlex.quote(sys.executable)} -c {shlex.quote(code)} {line}"],
        check=True,
        capture_output=True,
        text=True,
    )
    found = []
    for word in json.loads(told.stdout):
        found += ["--input", word[8:]] if word.startswith("--input=") else [word]
    assert found == words


def test_settings_of_any_length_reach_a_stage(tmp_path):
    """Sixty panels whose gaps two hundred columns may cause."""
    names = [f"column {k} 'é'" for k in range(200)]
    settings = {"panels": {f"panel {k}": {"values": names} for k in range(60)}}
    words = stage_words({"a": "x"}, {"b": "y"}, {}, settings, 7, "fast")
    line = shell_line(words, tmp_path / "kept here")
    assert len(line) < 3000
    (path,) = (tmp_path / "kept here").iterdir()
    before = path.stat()
    assert shell_line(words, tmp_path / "kept here") == line
    assert path.stat() == before
    job, _ = read_command(["prepare_data", *shlex.split(line)])
    assert job.settings == settings
    made = {"table": "results/t.parquet", "catalogue": "results/c.json"}
    own = stage_words({"description": "gone.yaml"}, made, {}, settings, 7, "fast")
    with pytest.raises(DataError, match=r"gone\.yaml does not exist"):
        run_in_own_python("prepare_data", own, tmp_path)
    with pytest.raises(SystemExit):
        read_command(["prepare_data", "--seed", "7", "--settings", "@gone.json"])


def test_a_short_line_is_as_it_was():
    words = stage_words({"a": ["x/1", "x/2"]}, {"b": "y"}, {}, None, 7, "portable")
    assert shell_line(words, Path("none")) == shlex.join(words)


# --- tables of several files ----------------------------------------------------------------------


def test_portions_of_rows_are_read_as_one_table():
    frame = pd.DataFrame({"x": range(10), "y": list("abcdefghij")})
    cuts = [frame.iloc[:4], frame.iloc[4:4], frame.iloc[4:9], frame.iloc[9:]]
    joined = joined_rows([FrameRows(part.reset_index(drop=True)) for part in cuts])
    assert len(joined) == 10
    assert joined.columns == ("x", "y")
    for start in range(11):
        for stop in range(start, 11):
            found = joined.read(slice(start, stop), ["x"])
            assert found["x"].tolist() == list(range(start, stop))
    pd.testing.assert_frame_equal(joined.read(), frame)


def test_two_tables_of_one_policy_are_refused_unless_they_are_portions():
    frame = pd.DataFrame({"x": [1]})

    def given(*names: str | None) -> Partitions:
        folders = [{"agent": "a"} | ({} if n is None else {"rows": n}) for n in names]
        return Partitions(folders, lambda k: FrameRows(frame))

    assert len(given("0-0", "1-on").rows("agent", "a")) == 2
    for names in ((None, None), ("0-0", "0-0")):
        with pytest.raises(DataError, match="2 tables were given for agent=a; allowed is one"):
            given(*names).rows("agent", "a")
    with pytest.raises(DataError, match="0 tables were given for agent=b"):
        given("0-0").rows("agent", "b")


# --- how a config is divided ----------------------------------------------------------------------


@pytest.fixture
def config():
    return copy.deepcopy(DEFAULT)


def portions(config: dict[str, Any], rows: int | None, job_rows: int, seeds: list[int]) -> Portions:
    config["afape"] |= {"job_rows": job_rows, "seeds": seeds}
    return Portions(load_study(config, ROOT), {WIDE: rows})


def test_the_default_is_not_divided(config):
    study = load_study(config, ROOT)
    known = read_yaml(ROOT / "config" / "costs.yaml")["rows"]
    divided = Portions(study, {name: known.get(name, 60_000) for name in study.descriptions})
    assert divided.divided == []
    for name in study.descriptions:
        assert divided.row_folders(name, "always") == [""]


def test_seeds_are_divided_where_rows_times_seeds_are_too_many(config):
    divided = portions(config, 300_000, 1_000_000, [0, 1, 2, 3, 4])
    assert divided.seeds(WIDE) == ["/seeds=0-2", "/seeds=3-4"]
    assert divided.divided == [WIDE]
    assert divided.row_folders(WIDE, "always") == [""]
    assert divided.files(WIDE, "mnar", "estimates", "estimates.parquet") == [
        f"results/estimates/dataset={WIDE}/mechanism=mnar/seeds={name}/estimates.parquet"
        for name in ("0-2", "3-4")
    ]


def test_a_portion_ends_where_its_name_would_be_too_long(config):
    divided = portions(config, 1000, 1_000_000, list(range(1000, 9000, 7)))
    found = divided.seeds(WIDE)
    assert max(map(len, found)) <= 100 + len("/seeds=")
    named = [Portion.of({"seeds": name.partition("=")[2]}).seeds for name in found]
    assert [seed for some in named for seed in some or ()] == list(range(1000, 9000, 7))


def test_rows_are_divided_where_one_seed_has_too_many(config):
    divided = portions(config, 300_000, 131_072, [4, 9])
    assert divided.seeds(WIDE) == ["/seeds=4", "/seeds=9"]
    assert divided.row_folders(WIDE, "always") == [
        "/rows=0-131071",
        "/rows=131072-262143",
        "/rows=262144-on",
    ]
    paths = divided.rollouts(WIDE, "mnar", "blocked.parquet", "/seeds=4")
    assert len(paths) == 3 * len(divided.study.agents)
    assert paths[0].startswith(f"results/rollouts/dataset={WIDE}/mechanism=mnar/seeds=4/agent=")


def test_a_table_of_states_is_played_by_one_job(config):
    divided = portions(config, 300_000, 131_072, [0])
    divided.study.config["afape"]["agents"]["mine"] = {"kind": "table"}
    assert divided.row_folders(WIDE, "mine") == ["/rows=0-on"]


def test_a_table_of_unknown_size_is_not_divided(config):
    divided = portions(config, None, 131_072, [0, 1])
    assert divided.seeds(WIDE) == [""]
    assert divided.row_folders(WIDE, "always") == [""]


def test_rows_of_a_table_in_a_file_are_its_lines_and_others_as_recorded(config, tmp_path):
    there = ROOT / "docs" / "examples"
    rows = (there / "ten_lines.csv").read_text().splitlines()
    (tmp_path / "ten_lines.csv").write_text("\n".join(rows[:1] + rows[1:] * 3) + "\n")
    (tmp_path / "ten_lines.yaml").write_text((there / "ten_lines.yaml").read_text())
    config["datasets"]["ten_lines"] = str(tmp_path / "ten_lines.yaml")
    own = yaml.safe_load((there / "ten_lines_config.yaml").read_text())["afape"]["scenarios"]
    config["afape"]["scenarios"] += own
    config["afape"]["agents"] = {
        k: v for k, v in config["afape"]["agents"].items() if v["kind"] in ("random", "fixed")
    }
    config["afape"]["figures"] |= {"frequency_agent": "always"}
    found = table_rows(load_study(config, ROOT), {"breast_cancer": 569})
    assert found["ten_lines"] == pytest.approx(3 * (len(rows) - 1), abs=1)
    assert found[WIDE] == 60_000, "of its parts"
    assert found["breast_cancer"] == 569
    assert table_rows(load_study(config, ROOT), {})["breast_cancer"] is None
