"""The report of a whole run: its numbers are the Parquet's, and it works in a browser."""

import re
from pathlib import Path

import pandas as pd
import pytest
from frugal.results.manifests import load_record

from tests.unit.test_explorer import REQUEST
from tests.workflow.report_browser import browser_program
from tests.workflow.report_page import document_of, embedded_tables
from tests.workflow.report_walk import walk

pytestmark = pytest.mark.workflow

PARTLY = {"comparisons", "sensitivity"}  # rows of the estimator that a verdict reads
LARGEST_BYTES = 2_000_000  # of the tiny study, of which Vega takes 900,000


@pytest.fixture
def page(tiny_run) -> Path:
    """The report of the tiny study."""
    return tiny_run.folder / "results" / "report.html"


def test_every_number_of_the_page_is_the_tables(tiny_run, page):
    seen = set()
    for one in embedded_tables(page, tiny_run.folder):
        seen.add(one.name)
        shown, stored = one.frame(), one.parquet()
        if one.name == "picks":
            keys = one.content["keys"]
            stored = shown[keys].merge(stored, on=keys, how="left")[shown.columns[:-1]]
            shown = shown[shown.columns[:-1]]  # without what is worked out
        elif one.name in PARTLY:
            keys = one.content["keys"]
            stored = shown[keys].merge(stored, on=keys, how="left")[shown.columns]
        pd.testing.assert_frame_equal(shown, stored, check_dtype=False, check_exact=True)
    assert {"summary", "verdicts", "picks", "comparisons", "sensitivity"} <= seen


def test_what_a_pick_costs_more_follows_from_the_summary(tiny_run, page):
    one = next(t for t in embedded_tables(page, tiny_run.folder) if t.name == "picks")
    summary = pd.read_parquet(one.files[0], partitioning=None)
    least = summary.groupby(["dataset", "mechanism", "seed"])["truth"].min()
    for row in one.frame().to_dict("records"):
        best = least[row["dataset"], row["mechanism"], row["seed"]]
        assert row["regret"] == row["truth"] - best


def test_steps_are_those_of_the_log(tiny_run, page):
    parts = document_of(page)["parts"]
    (part,) = [one for one in parts if one["kind"] == "cases"]
    paths = part["sources"]["decisions"]["paths"]
    assert len(paths) == len(part["patients"]["policies"]) == 4
    for path, policy in zip(paths, part["patients"]["policies"], strict=True):
        log = pd.read_parquet(tiny_run.folder / path, partitioning=None)
        log = log[(log["world"] == "full") & (log["seed"] == int(part["scope"]["seed"]))]
        for row_id, run in zip(part["patients"]["row_id"], policy["units"], strict=True):
            mine = log[log["row_id"] == row_id].sort_values("step")
            assert run["actions"] == mine["action"].tolist()
            assert run["costs"] == mine["cost"].tolist()
            assert run["probabilities"] == mine["probability"].tolist()


def test_values_of_units_are_those_of_the_table(tiny_run, page):
    parts = document_of(page)["parts"]
    described = next(one["patients"] for one in parts if one["kind"] == "cases")
    table = pd.read_parquet(
        tiny_run.folder / "results/data/dataset=tiny_world/table.parquet", partitioning=None
    ).set_index("row_id")
    for name, values in zip(described["columns"], described["values"], strict=True):
        assert values == table.loc[described["row_id"], name].tolist()


def test_every_file_behind_a_table_is_named_with_its_digest(tiny_run, page):
    document = document_of(page)
    by_path = {file["path"]: file for file in document["files"]}
    for one in embedded_tables(page, tiny_run.folder):
        for path in one.files:
            name = path.relative_to(tiny_run.folder)
            record = load_record(name, tiny_run.folder)
            assert by_path[name.as_posix()]["sha256"] == record["sha256"]
    outside = {name for file in document["files"] for name, _ in file["outside"]}
    assert "tiny_world.yaml" in outside


def test_the_page_is_one_small_file_that_loads_nothing(page):
    text = page.read_text(encoding="utf-8")
    assert not REQUEST.search(text)
    assert not re.search(r"<(?:link[^>]*stylesheet|iframe|object|embed|base)\b", text)
    assert page.stat().st_size < LARGEST_BYTES


def test_the_page_works_in_a_browser_at_two_widths(tiny_run):
    program = browser_program()
    if program is None:
        pytest.skip("there is no headless Chromium here; .ci/run installs one")

    def require(holds: bool, what: str, output: str = "") -> None:
        assert holds, f"{what}: {output[:1000]}"

    walk(program, tiny_run.folder, None, require)
