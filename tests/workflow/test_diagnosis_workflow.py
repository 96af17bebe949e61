"""`snakemake diagnosis` on a tiny clinic: planned, run, asked, audited, and the same twice."""

import json
from pathlib import Path

import pandas as pd
import pytest
import yaml

from tests.studies.diagnosis.diagnosis_chain import FRONT, NAME, PARTS, tiny_block, tiny_description
from tests.workflow.runs import frugal_here, snakemake, unmatched

pytestmark = [pytest.mark.workflow, pytest.mark.trains]
RUN = f"dataset={NAME}/family={FRONT}/criterion=f1/seed=0"
FAMILIES = {FRONT: RUN, "cascade": RUN.replace(FRONT, "cascade")}
AGENTS = ["cascade", "gdfs"]  # all others: tests/studies/diagnosis/test_diagnosis_stages.py


def _config(folder: Path) -> Path:
    block = tiny_block()
    block["scenarios"][0] |= {"seeds": [0], "agents": AGENTS}
    path = folder / "config.yaml"
    datasets = {NAME: str(tiny_description(folder))}
    path.write_text(yaml.safe_dump({"datasets": datasets, "diagnosis": block}))
    return path


@pytest.fixture(scope="module")
def finished(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("run")
    done = snakemake(folder, "diagnosis", configs=[_config(folder)])
    assert done.returncode == 0, done.stdout[-5000:]
    return folder


def test_the_summary_checks_and_figures_are_there(finished):
    summary = pd.read_parquet(finished / "results/summary/diagnosis.parquet")
    assert set(summary["family"]) == {FRONT, "baselines", "selection", "bayes", *AGENTS}
    assert (summary["n"] == PARTS["test"]).all()
    assert json.loads((finished / "results/checks/diagnosis.json").read_text())["passed"]
    folder = finished / "results/figures/study=diagnosis"
    assert len(list(folder.glob("*.png"))) == 5
    assert unmatched(finished) == set()


def _row_id(folder: Path) -> int:
    table = pd.read_parquet(folder / f"results/data/dataset={NAME}/table.parquet")
    return int(table.loc[table["part"] == "test", "row_id"].iloc[0])


@pytest.fixture(scope="module")
def answer(finished) -> str:
    """What is said when a budget is requested, and files on demand of both kinds of policies."""
    wanted = ["choose"]
    for run in FAMILIES.values():
        wanted.append(f"results/bundles/{run}/budget=200/cases.json")
        wanted.append(f"results/choices/{run}/budget=200/choice.json")
        wanted.append(f"results/patients/{run}/budget=200/row_id={_row_id(finished)}/patient.png")
    words = ["--config", "diagnosis={choose: {budget: 200}}", "--quiet"]
    done = snakemake(finished, *wanted, *words, configs=[finished / "config.yaml"])
    assert done.returncode == 0, done.stdout[-3000:]
    assert all((finished / path).is_file() for path in wanted[1:])
    return done.stdout


def test_a_budget_is_answered(answer):
    assert "Within 200 USD: policy" in answer
    assert "families before test units were looked at" in answer


def test_a_front_of_trees_answers_a_budget(finished, answer):
    path = finished / f"results/choices/{FAMILIES['cascade']}/budget=200/choice.json"
    choice = json.loads(path.read_text())
    assert (finished / choice["policy"]["file"]).is_file()
    assert "cascade" in choice["sentence"]


def test_a_changed_outcome_is_found_by_the_audit(finished):
    path = finished / f"results/diagnoses/{RUN}/outcomes.parquet"
    whole = path.read_bytes()
    look = ["audit", "results", "--sample", "0", "--look-in", str(finished)]
    assert frugal_here(finished, *look).returncode == 0
    path.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    broken = frugal_here(finished, *look)
    path.write_bytes(whole)
    assert broken.returncode != 0
    assert "outcomes.parquet" in broken.stdout


def test_nothing_is_left_to_do(finished):
    planned = snakemake(finished, "-n", "diagnosis", configs=[finished / "config.yaml"])
    assert "Nothing to be done" in planned.stdout


def raw_rows(folder: Path, table: pd.DataFrame) -> pd.DataFrame:
    """The rows of the prepared table with categories as texts again."""
    path = folder / f"results/data/dataset={NAME}/catalogue.json"
    catalogue = json.loads(path.read_text(encoding="utf-8"))
    names = [column["name"] for column in catalogue["columns"]]
    coded = {j for group in catalogue["onehot"] for j in group}
    raw = table[["row_id", *(name for j, name in enumerate(names) if j not in coded)]].copy()
    for group in catalogue["onehot"]:
        levels = [names[j].partition("=") for j in group]
        place = table[[names[j] for j in group]].to_numpy().argmax(axis=1)
        raw[levels[0][0]] = [levels[j][2] for j in place]
    return raw


@pytest.mark.parametrize("own", FAMILIES.values(), ids=FAMILIES)
def test_the_chosen_policy_is_bundled_and_advises_as_it_was_judged(finished, answer, own):
    """From raw test rows alone, on every one of them."""
    folder = f"results/bundles/{own}/budget=200"
    table = pd.read_parquet(finished / f"results/data/dataset={NAME}/table.parquet")
    raw = raw_rows(finished, table)
    raw.to_csv(finished / "cases.csv", index=False)
    words = ["advise", folder, "cases.csv", "--simulate", "--id", "row_id", "--out", "told.csv"]
    done = frugal_here(finished, *words)
    assert done.returncode == 0, done.stdout
    told = pd.read_csv(finished / "told.csv", keep_default_na=False)
    choice = json.loads((finished / f"results/choices/{own}/budget=200/choice.json").read_text())
    decisions = pd.read_parquet(finished / f"results/diagnoses/{own}/decisions.parquet")
    rows = decisions[(decisions["member"] == choice["pair"]) & (decisions["part"] == "test")]
    catalogue = json.loads(
        (finished / f"results/data/dataset={NAME}/catalogue.json").read_text(encoding="utf-8")
    )
    panels = [panel["name"] for panel in catalogue["panels"] if not panel["free"]]
    told = told[told["row_id"].isin(rows["row_id"])]
    assert len(told) == len(rows) > 0
    rows = rows.sort_values(["row_id", "step"])
    told = told.sort_values(["row_id", "cost_so_far"], kind="stable")
    assert told["row_id"].tolist() == rows["row_id"].tolist()
    assert told["next"].tolist() == [[*panels, "stop"][min(j, len(panels))] for j in rows["action"]]
