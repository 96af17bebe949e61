"""`frugal diff`: one change of a random chain is named, with the files behind it and no others."""

import os
import shutil
from pathlib import Path

import pandas as pd
import pytest
from frugal.__main__ import main
from frugal.results.differences import ResultsComparison, payload_names
from frugal.results.files import payload_bytes
from frugal.results.manifests import AuditError, manifest_path
from frugal.run.audit import diff_command
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.random_chains import Chain, chains, changed, payload, write_chain
from tests.unit.result_chains import forge

LINE = Chain(reads=((), (0,), (1,)))
KINDS = ["parameter", "seed", "data", "code", "library"]


def two_folders(tmp_path, monkeypatch, a, b):
    for name, chain in (("a", a), ("b", b)):
        shutil.rmtree(tmp_path / name, ignore_errors=True)
        write_chain(tmp_path / name, chain, monkeypatch)
    return tmp_path / "a", tmp_path / "b"


@settings(max_examples=15)
@given(chain=chains(), kind=st.sampled_from(KINDS), pick=st.integers(0, 4))
def test_one_change_is_named_behind_exactly_the_files_it_moved(
    tmp_path, monkeypatch, chain, kind, pick
):
    step = pick % len(chain.reads)
    a, b = two_folders(tmp_path, monkeypatch, chain, changed(chain, kind, step))
    compared = ResultsComparison(a, b)
    for k in range(len(chain.reads)):
        behind = chain.behind(k)
        hit = (
            kind in {"seed", "library"}
            or (kind == "code" and any(chain.stage(j) == chain.stage(step) for j in behind))
            or step in behind
        )
        path = payload(k).as_posix()
        assert compared.differs(path) == hit
        if hit:
            assert {cause.kind for cause in compared.causes(path)} == {kind}


@pytest.mark.parametrize(
    ("kind", "sentence"),
    [
        ("parameter", "parameter of roll_out: depth.size is 1 in A, 2 in B  (4 files behind it)"),
        ("seed", "seed: the root seed is 7 in A, 8 in B  (6 files behind it)"),
        ("data", "data: 1.yaml (input description) has SHA-256 "),
        ("code", "code of roll_out: the source digest is "),
        ("library", "library: requirements.lock has SHA-256 "),
    ],
)
def test_the_change_is_stated_in_words_and_the_status_is_1(
    tmp_path, monkeypatch, capsys, kind, sentence
):
    a, b = two_folders(tmp_path, monkeypatch, LINE, changed(LINE, kind, 1))
    assert main(["diff", str(a), str(b)]) == 1
    message = capsys.readouterr().out
    assert f"[1] {sentence}" in message
    assert "[2]" not in message
    assert "cost: 3 of 3 rows, most " in message


def test_the_same_results_elsewhere_give_status_0(tmp_path, monkeypatch, capsys):
    a, b = two_folders(tmp_path, monkeypatch, LINE, LINE)
    assert main(["diff", str(a), str(b / "results")]) == 0
    assert "6 files are the same, 0 differ" in capsys.readouterr().out


def test_a_change_that_moves_no_byte_explains_nothing(tmp_path, monkeypatch):
    """Step 0 gets another parameter and gives the same bytes; step 1 changes by its own."""
    a, b = two_folders(tmp_path, monkeypatch, LINE, changed(LINE, "parameter", 1))
    forge(payload(0), b, settings={"depth": {"size": 3}})
    causes = ResultsComparison(a, b).causes(payload(2).as_posix())
    assert [(c.kind, c.stage) for c in causes] == [("parameter", "roll_out")]


def test_a_payload_changed_by_hand_is_named_with_its_side(tmp_path, monkeypatch, capsys):
    a, b = two_folders(tmp_path, monkeypatch, LINE, LINE)
    forged = pd.DataFrame({"seed": [0, 1, 2], "estimate": [0.0, 0.0, 0.0]})
    (b / payload(2)).write_bytes(payload_bytes(payload(2), forged))
    assert diff_command([str(a), str(b)]) == 1
    message = capsys.readouterr().out
    assert f"edited of summarise_afape: {payload(2)} in B is not the file" in message


def test_a_step_that_cannot_repeat_itself_is_stated_to_be_unexplained(tmp_path, monkeypatch):
    a, b = two_folders(tmp_path, monkeypatch, LINE, changed(LINE, "seed", 0))
    forge(payload(0), b, seed=7)
    (cause,) = ResultsComparison(a, b).causes(payload(0).as_posix())
    assert cause.kind == "unexplained"


def test_files_and_inputs_that_only_one_side_has_are_named(tmp_path, monkeypatch, capsys):
    more = Chain(reads=((), (), (0, 1)))
    fewer = Chain(reads=((), (), (0,)))
    a, b = two_folders(tmp_path, monkeypatch, more, fewer)
    for path in (payload(1), payload(1, "about.json")):
        (b / path).unlink()
    (b / manifest_path(payload(1))).unlink()
    assert diff_command([str(a), str(b)]) == 1
    message = capsys.readouterr().out
    assert "only in A: 2 files, first results/step/dataset=d1/about.json" in message
    assert f"inputs of summarise_afape: reads {payload(1)} only in A" in message


def test_an_edited_manifest_is_refused_by_name(tmp_path, monkeypatch):
    a, b = two_folders(tmp_path, monkeypatch, LINE, changed(LINE, "seed", 0))
    manifest = b / manifest_path(payload(2))
    manifest.write_text(manifest.read_text().replace('"seed": 8', '"seed": 7'))
    with pytest.raises(AuditError, match="was edited after it was written"):
        diff_command([str(a), str(b)])


@pytest.mark.parametrize(
    ("name", "message"),
    [("nothing", "nothing: there is no such folder"), ("a/outside", "holds no folder results/")],
)
def test_a_folder_without_results_is_refused(tmp_path, monkeypatch, capsys, name, message):
    a, _ = two_folders(tmp_path, monkeypatch, LINE, LINE)
    assert main(["diff", str(a), str(tmp_path / name)]) == 2
    assert message in capsys.readouterr().err


def test_reports_manifests_and_half_written_files_are_no_payloads(tmp_path, monkeypatch):
    write_chain(tmp_path, Chain(reads=((),)), monkeypatch)
    for name in ("report.html", "snakemake_report.html", "README.md", ".table.parquet.1.part"):
        Path("results", name).write_text("x")
    assert payload_names(Path(os.curdir)) == {
        payload(0).as_posix(),
        payload(0, "about.json").as_posix(),
    }
