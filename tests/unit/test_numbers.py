"""Numbers of the default on pages come from its tables."""

import os
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from tests.numbers import pages as on_pages
from tests.numbers.blocks import BLOCKS, Block, Run
from tests.numbers.pages import Stand, difference, lines, stands
from tests.unit.page_words import ROOT

STANDS = list(stands())
RUN = Run(Path(os.environ.get("FRUGAL_RESULTS", ROOT / "results")))
UNFINISHED = RUN.unfinished()


def test_every_block_stands_on_a_page_and_has_its_maker():
    assert {stand.name for stand in STANDS} == set(BLOCKS)
    assert all(stand.text for stand in STANDS)


@pytest.mark.skipif(
    UNFINISHED is not None, reason=f"{UNFINISHED}; FRUGAL_RESULTS names the folder of another one"
)
@pytest.mark.parametrize("stand", STANDS, ids=lambda s: f"{s.page.parent.name}-{s.name}")
def test_a_page_says_what_the_default_run_has(stand: Stand):
    """If not: `python -m tests.numbers RESULTS --write` puts the run's numbers there."""
    assert difference(stand, RUN) is None


def stand_of(text: str) -> Stand:
    return Stand(Path("page.md"), "made", text)


@pytest.mark.parametrize(
    ("page", "run", "slack", "sentence"),
    [
        ("F1 .81 at $130", "F1 .81\nat $130", 0.0, None),
        ("F1 .81 at $130", "F1 .80 at $130", 0.0, "the page has"),
        ("F1 .81 at $130", "F1 .80 at $125", 0.1, None),
        ("F1 .81 at $130", "F1 .60 at $130", 0.1, "further apart than 0.1: [(0.81, 0.6)]"),
        ("F1 .81 at $1,300", "F1 .81 at $1,600", 0.1, "[(1300.0, 1600.0)]"),
        ("−.04", ".04", 0.05, "[(-0.04, 0.04)]"),
        ("F1 .81 at $130", "the same", 0.1, "says it otherwise"),
    ],
)
def test_a_difference_is_stated_beyond_the_slack(monkeypatch, page, run, slack, sentence):
    monkeypatch.setitem(BLOCKS, "made", Block(lambda _: run, slack))
    told = difference(stand_of(page), RUN)
    if sentence is None:
        assert told is None
    else:
        assert told is not None
        assert sentence in told


def test_to_the_digit_a_slack_does_not_count(monkeypatch):
    monkeypatch.setitem(BLOCKS, "made", Block(lambda _: "F1 .80", 0.1))
    assert difference(stand_of("F1 .81"), RUN) is None
    assert difference(stand_of("F1 .81"), RUN, exactly=True) is not None


def test_blocks_are_written_between_their_marks(monkeypatch, tmp_path):
    page = tmp_path / "page.md"
    page.write_text("before\n\n<!-- default run: made -->\nold\n<!-- end -->\n\nafter\n")
    monkeypatch.setattr(on_pages, "pages", lambda: [page])
    monkeypatch.setitem(BLOCKS, "made", Block(lambda _: "word " * 60, 0.0))
    assert on_pages.written(RUN) == [page]
    text = page.read_text()
    assert text.startswith("before\n\n<!-- default run: made -->\nword word")
    assert text.endswith("word\n<!-- end -->\n\nafter\n")
    assert max(map(len, text.splitlines())) <= 120
    assert on_pages.written(RUN) == []


def test_a_table_stays_in_its_lines():
    assert lines("| a | b |\n| --- | --- |") == "| a | b |\n| --- | --- |"


def test_what_is_no_finished_default_says_so(tmp_path):
    run = Run(tmp_path)
    assert "has no finished default run" in (run.unfinished() or "")
    summary = tmp_path / "summary"
    summary.mkdir()
    for name in ("afape", "diagnosis", "dadi", "treatment", "recourse", "grid"):
        rows = pd.DataFrame({"dataset": ["own"], "seed": [0]})
        rows.to_parquet(summary / f"{name}.parquet")
    assert "another config" in (replace(run).unfinished() or "")
