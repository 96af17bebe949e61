"""Every figure and table of the papers has a row, pages have all rows, and results decide them."""

from pathlib import Path

import pandas as pd
import pytest
from frugal.config.blocks import Block
from frugal.core.errors import ConfigError
from frugal.run.claims import (
    Ledger,
    checked,
    claims_command,
    claims_page,
    ledgers,
    overview_page,
    with_counts,
)

from tests.unit.test_page_commands import wrong

ROOT = Path(__file__).parents[2]
PAPERS = {"afape", "dadi", "diagnosis", "recourse", "treatment"}
ROW = {
    "item": "Table 3",
    "claim": "names most sets",
    "paper": 0.97,
    "ours": 0.98,
    "verdict": "reproduced",
    "command": "snakemake recourse",
    "cpu": "5 s",
    "quantity": {"table": "recourse", "column": "accuracy", "where": {"kind": "named", "n": 20}},
    "holds": {"at_least": 0.97},
}


def ledger(**changes: object) -> Ledger:
    row = {key: value for key, value in (ROW | changes).items() if value is not None}
    return Ledger.read({"paper": "P", "items": ["Table 3"], "claims": [row]}, where="claims.yaml")


@pytest.fixture
def results(tmp_path: Path) -> Path:
    (tmp_path / "summary").mkdir()
    frame = pd.DataFrame(
        {
            "kind": ["named", "named", "named", "hamming"],
            "n": [20, 20, 50, 20],
            "accuracy": [0.96, 1.0, 0.2, 0.4],
        }
    )
    frame.to_parquet(tmp_path / "summary" / "recourse.parquet")
    return tmp_path


def test_each_paper_has_its_ledger():
    assert set(ledgers()) == PAPERS


@pytest.mark.parametrize("study", sorted(PAPERS))
def test_a_page_is_what_its_rows_say(study: str):
    """If not: `python -m frugal claims --into docs`."""
    pages = ROOT / "docs" / "results"
    assert (pages / f"claims_{study}.md").read_text(encoding="utf-8") == claims_page(study)
    assert (pages / "claims.md").read_text(encoding="utf-8") == overview_page()


@pytest.mark.parametrize(
    "name", ["README.md", *(f"docs/results/{name}.md" for name in sorted(PAPERS))]
)
def test_counts_on_pages_are_those_of_the_rows(name: str):
    text = (ROOT / name).read_text(encoding="utf-8")
    assert "<!-- claims" in text
    assert with_counts(text, Path(name).stem) == text


@pytest.mark.parametrize("study", sorted(PAPERS))
def test_commands_of_rows_exist(study: str):
    rows = ledgers()[study].claims
    assert [sentence for row in rows if row.command and (sentence := wrong(row.command))] == []


@pytest.mark.parametrize("study", sorted(PAPERS))
def test_a_stated_number_has_the_verdict_of_its_condition(study: str):
    for row in ledgers()[study].claims:
        if row.holds is not None and isinstance(row.ours, int | float):
            assert row.verdict_on(row.ours) == row.verdict, row.claim


@pytest.mark.parametrize(
    ("quantity", "number"),
    [
        ({}, 0.98),
        ({"less": {"kind": "hamming"}}, 0.58),
        ({"over": {"kind": "hamming"}}, 2.45),
        ({"where": {"kind": "named", "n": 50.0}}, 0.2),
    ],
)
def test_a_number_is_recomputed_from_a_table(quantity, number, results):
    (row,) = checked(ledger(quantity=ROW["quantity"] | quantity), results)
    assert row["here"] == pytest.approx(number)


def test_rows_without_results_are_passed_over(results):
    absent = ROW["quantity"] | {"where": {"kind": "other"}}
    assert checked(ledger(quantity=absent), results) == []
    assert checked(ledger(quantity=ROW["quantity"] | {"table": "none"}), results) == []


@pytest.mark.parametrize(
    ("holds", "verdict"),
    [
        ({"at_least": 0.98}, "reproduced"),
        ({"at_least": 0.981}, "differs"),
        ({"at_most": 0.97}, "differs"),
        ({"near": 0.95, "by": 0.03}, "reproduced"),
        ({"near": 0.95, "by": 0.02}, "differs"),
    ],
)
def test_results_decide_the_verdict(holds, verdict, results):
    (row,) = checked(ledger(holds=holds), results)
    assert row["verdict_here"] == verdict


@pytest.mark.parametrize(("least", "status"), [(0.97, 0), (0.99, 1)])
def test_the_command_says_which_verdict_no_longer_holds(
    least, status, results, capsys, monkeypatch
):
    shown = {"recourse": ledger(holds={"at_least": least})}
    monkeypatch.setattr("frugal.run.claims.ledgers", lambda: shown)
    assert claims_command([str(results)]) == status
    out = capsys.readouterr().out
    assert "recourse: 1 claims: 1 reproduced; 1 recomputed" in out
    assert ("NO LONGER" in out) == bool(status)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"item": "Table 4"}, "items has Table 3 without a row"),
        ({"ours": None}, r"\.ours is left out for verdict 'reproduced'"),
        ({"verdict": "absent", "reason": "no data"}, r"\.ours is there for verdict 'absent'"),
        ({"verdict": "differs"}, r"\.reason is left out for verdict 'differs'"),
        ({"quantity": None}, r"\.holds needs \.quantity"),
        ({"holds": {"near": 1.0}}, "has near without by"),
        ({"verdict": "good"}, "verdict"),
        ({"cpu": "an hour"}, "cpu"),
    ],
)
def test_a_row_that_lacks_what_its_verdict_needs_is_refused(changes, sentence):
    with pytest.raises(ConfigError, match=sentence):
        ledger(**changes)


def test_an_unknown_column_is_refused(results):
    unknown = ledger(quantity=ROW["quantity"] | {"column": "acuracy"})
    with pytest.raises(ConfigError, match="has no column 'acuracy'; it has kind, n, accuracy"):
        checked(unknown, results)


def test_results_that_are_not_there_are_refused(tmp_path):
    with pytest.raises(ConfigError, match="has no folder summary; run the workflow first"):
        claims_command([str(tmp_path)])


def test_models_refuse_other_keys():
    assert issubclass(Ledger, Block)
    with pytest.raises(ConfigError, match="pages"):
        ledger(pages=3)
