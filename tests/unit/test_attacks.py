"""Attempts to run a command, to leave the folder, or to lose a result: what a second pair of eyes
tried on the merged work. Names of tests say what must not work, or what must be said.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from frugal.__main__ import main
from frugal.answer.stages.reports import keep_report
from frugal.core.context import Context
from frugal.core.errors import ConfigError, DataError, printable
from frugal.core.streams import Streams
from frugal.results import manifests, replacing
from frugal.results.files import payload_bytes, read_payload
from frugal.results.manifests import AuditError, Job, load_record, manifest_path
from frugal.results.publishing import write_crate
from frugal.results.replacing import replace_files
from frugal.results.survey import survey, tidy_up
from frugal.run.audit import audit_command
from frugal.run.init_command import init_command
from frugal.run.memory import accounted
from frugal.run.stage_command import run_job

from tests.unit.result_chains import OUTSIDE, SUMMARY, TABLE, forge, run_step, write_chain

ROOT = Path(__file__).parents[2]
LOOK = ["--look-in", str(OUTSIDE.parent)]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """A finished chain in a working folder, and what belongs to somebody else beside it."""
    here = tmp_path / "working"
    here.mkdir()
    (tmp_path / "victim").mkdir()
    (tmp_path / "victim" / "file.txt").write_text("mine")
    monkeypatch.chdir(here)
    write_chain()
    return here


@pytest.fixture
def victim(folder):
    """Must be as it was."""
    yield folder.parent / "victim"
    assert [p.name for p in (folder.parent / "victim").iterdir()] == ["file.txt"]
    assert (folder.parent / "victim" / "file.txt").read_text() == "mine"


def refused_audit(*words, run=run_job):
    with pytest.raises((AuditError, ConfigError, DataError)) as caught:
        audit_command([*words], run)
    return str(caught.value)


# Run a command


def in_folder(*words, **variables):
    """`python -m frugal` as a process of its own; its status and all that it said."""
    names = {k: v for k, v in os.environ.items() if k != "PYTHONSAFEPATH"} | variables
    done = subprocess.run(
        [sys.executable, *words],
        env=names | {"PYTHONPATH": str(ROOT / "workflow")},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize("safe", ["command", "flag"])
def test_python_files_in_the_working_folder_are_not_imported(folder, safe):
    names = ["numpy", "pandas", "json", "hashlib", "argparse", "tempfile", "pyarrow"]
    names += ["contextlib", "runpy", "frugal"] if safe == "flag" else []
    for name in names:
        (folder / f"{name}.py").write_text("open('PWNED', 'w')\n")
    words = ["-P"] if safe == "flag" else []
    status, said = in_folder(*words, "-m", "frugal", "audit", "--sample", "0")
    assert status == 0, said
    assert not (folder / "PWNED").exists()


def test_numba_takes_no_programs_from_the_working_folder(folder, capsys):
    (folder / ".numba_config.yaml").write_text("cache_dir: .\n")
    assert main(["audit"]) == 2
    assert "holds .numba_config.yaml, by which numba would take" in capsys.readouterr().err


@pytest.mark.parametrize(
    "stage", ["../x", "__main__", "run.stage_command", "audit", "os.system", "/tmp/x", "\0"]
)
def test_a_forged_manifest_names_no_program_of_its_own(stage):
    forge(SUMMARY, stage=stage)
    said = "there is no command or stage" if stage.isidentifier() else "'stage' is"
    assert said in refused_audit(*LOOK, "--sample", "9")


def test_pandas_metadata_in_parquet_names_no_class(folder):
    import pyarrow as pa
    import pyarrow.parquet as pq

    told = {
        "pandas": json.dumps(
            {
                "index_columns": ["__import__('os').system('touch PWNED')"],
                "columns": [
                    {
                        "name": "a",
                        "field_name": "a",
                        "pandas_type": "object",
                        "numpy_type": "__import__('os').system('touch PWNED')",
                        "metadata": None,
                    }
                ],
                "column_indexes": [],
                "pandas_version": "2",
            }
        )
    }
    table = pa.table({"a": [1, 2]}).replace_schema_metadata(told)
    pq.write_table(table, folder / "x.parquet")
    with pytest.raises(DataError, match="cannot be read as parquet"):
        read_payload(folder / "x.parquet")
    assert not (folder / "PWNED").exists()


SCRIPT = "</td></table><script>alert(1)</script><img src=x onerror=alert(1)>"


def test_names_and_values_are_text_in_the_page_of_a_table():
    frame = pd.DataFrame({SCRIPT: [SCRIPT, "b"], "c": pd.Categorical([SCRIPT, "d"])})
    page = payload_bytes(Path("a.html"), frame).decode()
    assert "<script" not in page
    assert "<img" not in page
    assert page.count("&lt;script&gt;") == 3


def test_no_name_ends_a_script_of_the_report(folder):
    told = {"a</script><script>alert(1)</script>": ["<!--<script>", 'x" ; y']}
    own = "var data = function() { return '</b>' };\n"
    (folder / "page.html").write_text(
        f"<script>\n    var results = {json.dumps(told)};\n    </script>\n<script>{own}</script>"
    )
    streams = Streams(0, "keep_report", {})
    page = folder / "page.html"
    made = keep_report(page=page, context=Context({}, streams))["report"].decode()
    assert made.count("<script>") == made.count("</script>") == 2
    assert own in made
    line = next(line for line in made.splitlines() if "results" in line)
    assert json.loads(line.partition(" = ")[2].rstrip(";")) == told


# Leave the folder


@pytest.mark.parametrize("place", ["results/data", "results/data/dataset=a"])
def test_a_step_does_not_write_through_a_link_out_of_results(folder, victim, place):
    Path(place).rename(folder / "elsewhere")
    Path(place).symlink_to(victim)
    job = Job("prepare_data", {"description": OUTSIDE}, {"table": TABLE}, {}, {}, 7)
    with pytest.raises(DataError, match=f"{place} is a link to .* write outside results/"):
        manifests.require_intact(job)
    with pytest.raises(DataError, match=f"{place} is a link to"):
        replacing.require_no_way_out()


def test_no_command_writes_through_a_link_or_over_what_a_step_has_made(folder, victim):
    for link in ("ro-crate-metadata.json", "t.yaml", "used.jsonl", "verdict.txt"):
        Path(link).symlink_to(victim / "file.txt")
    with pytest.raises(DataError, match=r"ro-crate-metadata\.json .* is a link of that name"):
        write_crate()
    Path("t.csv").write_text("age,ill\n1,no\n2,yes\n")
    with pytest.raises(DataError, match=r"t\.yaml is there already"):
        init_command(["t.csv", "--label", "ill"])
    with accounted(Path("used.jsonl")):
        pass
    Path("results/verdict.txt").write_text("theirs")
    status, said = in_folder("-m", "frugal.results.replacing", "results/verdict.txt", ".")
    assert (status, "verdict.txt cannot be written: there is a link" in said) == (1, True)
    for path in (TABLE, manifest_path(TABLE)):
        before = path.read_bytes()
        with pytest.raises(DataError, match="a step has made"):
            manifests.write_apart(path, b"")
        assert path.read_bytes() == before


@pytest.mark.parametrize(
    "link", ["benchmarks/x.jsonl", "logs/x.log", "logs/deep", ".snakemake/report.html"]
)
def test_a_run_does_not_start_where_a_link_leads_a_log_or_a_measurement_out(folder, victim, link):
    Path(link).parent.mkdir(parents=True)
    Path(link).symlink_to(victim / "file.txt")
    with pytest.raises(DataError, match=f"{link} is a link to"):
        replacing.require_no_way_out()


def test_results_may_be_a_link_to_a_larger_disk_and_links_inside_are_left_alone(folder):
    Path("results").rename(folder.parent / "disk")
    Path("results").symlink_to(folder.parent / "disk")
    (folder.parent / "disk" / "same").symlink_to("data")
    replacing.require_no_way_out()
    replacing.require_own_folders([TABLE, Path("results/same/x.parquet"), Path("/tmp/x.parquet")])


def test_a_hidden_file_is_not_written_through_a_link_that_waits_for_it(folder, victim):
    target = Path("results/x.bin")
    waiting = replacing._hidden(target, 0, replacing._PART)
    waiting.symlink_to(victim / "file.txt")
    replace_files({target: b"new"})
    assert target.read_bytes() == b"new"
    assert not target.is_symlink()


@pytest.mark.parametrize(
    "pair",
    [
        ["../../victim/.x.h.1.0.part", "../../victim/file.txt"],
        ["{victim}/.x.h.1.0.part", "{victim}/file.txt"],
        [".x.h.1.0.part", ".y.h.1.0.part"],
        ["../../victim/file.txt", "x.bin"],
        [".x.h.1.0.part", "a\0b"],
        [".x.h.1.0.part", "\ud800"],
        [[".x.h.1.0.part"], {}],
    ],
)
def test_a_journal_moves_nothing_elsewhere(folder, victim, pair):
    pair = [p.format(victim=victim) if isinstance(p, str) else p for p in pair]
    Path("results/.t.h.1.9.commit").write_text(json.dumps([pair]))
    with pytest.raises(DataError, match="remove it") as caught:
        tidy_up()
    assert "\0" not in str(caught.value)


@pytest.mark.parametrize("name", ["results/.t.h.1.9.commit", "results/steps/x.json"])
def test_a_pipe_in_the_place_of_a_file_of_ours_is_not_waited_for(name):
    os.mkfifo(name)
    reader = tidy_up if name.endswith(".commit") else lambda: survey("0" * 64)
    with pytest.raises(DataError, match="remove it"):
        reader()
    assert name in refused_audit()


@pytest.mark.parametrize("pattern", ["**x", "*", "[a", "?.yaml", "**"])
def test_the_name_of_an_input_is_no_pattern(pattern):
    forge(TABLE, inputs=[load_record(TABLE)["inputs"][0] | {"path": pattern}])
    assert audit_command([*LOOK, "--sample", "0"], run_step) == 0
    assert manifests.shown_path(OUTSIDE) == "a.yaml"


@pytest.mark.parametrize(
    "changes", [{"settings": [1]}, {"wildcards": {"dataset": 3}}, {"seed": -1}, {"inputs": "twice"}]
)
def test_a_step_that_cannot_run_as_its_manifest_says_is_one_sentence(changes: dict[str, Any]):
    if changes.get("inputs") == "twice":
        (record,) = load_record(SUMMARY)["inputs"]
        changes["inputs"] = [record | {"name": "estimates"}, record]
    forge(SUMMARY, **changes)

    def failing(job):
        raise KeyError("a setting that is not there")

    assert "\n" not in refused_audit(*LOOK, "--sample", "9", run=failing)


def test_a_forged_fetch_states_no_address_and_is_one_sentence():
    forge(SUMMARY, stage="fetch_file", settings=[])
    assert "its manifest has no address" in refused_audit(str(SUMMARY))


def test_the_name_of_a_stray_file_does_not_rewrite_the_terminal(folder, capsys):
    (folder / "results" / "\x1b[2J\rall files agree").write_text("")
    assert main(["audit"]) == 2
    said = capsys.readouterr().err
    assert printable(said) == said
    assert "\\x1b[2J\\rall files agree: no manifest names it" in said


def test_a_refusal_shows_two_ends_of_a_long_name():
    sentence = str(DataError(f"there is no column {'a' * 5_000}z\0"))
    assert sentence == f"there is no column {'a' * 60}…{'a' * 55}z\\x00"


# Lose a result, or take a wrong one for a right one


@pytest.mark.parametrize("kind", ["pipe", "link", "hidden", "folder link"])
def test_what_no_step_has_made_is_named_whatever_it_is(folder, kind):
    stray = folder / "results" / "data" / ".stray"
    if kind == "pipe":
        os.mkfifo(stray)
    elif kind == "hidden":
        stray.write_text("")
    else:
        stray.symlink_to("/etc/passwd" if kind == "link" else "/etc")
    assert "results/data/.stray: no manifest names it" in refused_audit()
