"""The tutorials of docs/, run as they are printed there, to their answers."""

import json
import re
from pathlib import Path

import pandas as pd
import pytest
import yaml
from frugal.__main__ import main

from tests.workflow.runs import ROOT, snakemake

pytestmark = [pytest.mark.workflow, pytest.mark.trains]

EXAMPLES = ROOT / "docs" / "examples"
CLINIC = f"table={EXAMPLES / 'clinic.yaml'}"


def _numbers(line: str) -> list[float]:
    """All numbers of a line but those that say how sure it is."""
    plain = line.replace(",", "").replace("95 %", "")
    return [float(word) for word in re.findall(r"(?<![\w.-])-?\d+(?:\.\d+)?", plain)]


def _costs(text: str) -> list[float]:
    """Numbers of the line on the cost, or on F1, of an answer as it is printed."""
    (line,) = re.findall(r"^(?:It costs|Its F1 is) .*?\.(?= )", text, re.MULTILINE)
    return _numbers(line)


def _on_page(page: str) -> list[float]:
    """The same of an answer that a page shows."""
    return _costs((ROOT / page).read_text(encoding="utf-8"))


def test_a_table_is_decided_by_cost_and_by_f1_with_nothing_of_the_default_next_to(tmp_path, capsys):
    done = snakemake(
        tmp_path,
        "decide",
        *("--config", CLINIC, "sensitive=ward", "budget=20", "audit_habit=true", "design=200"),
        f"transport={EXAMPLES / 'clinic.csv'}",
        configs=(),
    )
    assert done.returncode == 0, done.stdout[-5000:]
    folder = tmp_path / "results" / "decide" / "clinic"
    said, document = (folder / "verdict.txt").read_text(), _document(folder)
    assert said in done.stdout
    first = said.splitlines()[0]
    assert first.startswith(f"Use {document['policy']}: ")
    assert document["state"] in ("best", "good_enough", "short_list")
    assert document["saving_low"] > 0
    (groups,) = re.findall(r"^Cost in EUR a case by group: (.*)$", said, re.MULTILINE)
    assert re.findall(r"(\w+) [\d.]+ \(", groups) == ["east", "west"]
    assert "Within a budget of 20 EUR" in said
    audit = (ROOT / "docs/tutorials/habit.md").read_text(encoding="utf-8")
    assert document["habit"]["state"] == "none"
    assert all(line.split(" (")[0][:40] in audit for line in said.splitlines()[-8:-4])
    design, planned = document["design"], said.splitlines()[-4]
    if len(document["short_list"]) == 1:  # as on the processor of the page
        assert planned.startswith("No design of further cases: one policy alone may be the best")
        assert design == {"cases": 200, "protocol": None}
    else:  # tests/unit/test_recorded.py has such an answer in memory
        assert planned.startswith("Of 200 further cases, record all of these panels or none")
        assert design["price"] <= design["money"] == 20
    moved = pd.read_parquet(
        folder / "results/candidates/dataset=clinic/mechanism=own/elsewhere.parquet",
        partitioning=None,
    )
    of_cases = document["elsewhere"]["costs"]
    assert dict(zip(moved["agent"], moved["cost"], strict=True)) == {
        name: each["cost"] for name, each in of_cases.items()
    }
    assert of_cases[document["policy"]]["cost"] == pytest.approx(document["cost"], rel=0.05)
    assert f"For the 800 cases of clinic.csv, {document['policy']} costs" in said
    seen, printed = _costs(said), _on_page("docs/how-to/own_table.md")
    # what learns ends otherwise on another maker's processor
    assert seen == pytest.approx(printed, rel=0.4)
    assert seen[-1] == pytest.approx(printed[-1], rel=0.02)  # testing no one
    outcomes = pd.read_parquet(
        folder / "results/candidates/dataset=clinic/mechanism=own/outcomes.parquet",
        partitioning=None,
    ).set_index("agent")
    assert set(outcomes.index) == {
        "cascade",
        "permutation",
        "fixed",
        "never",
        "always",
        "constant",
        "practice",
    }
    assert outcomes.loc["never", "cost"] == pytest.approx(58.5, abs=2)
    page = (folder / "answer.html").read_text()
    assert page.count("<svg ") == 3
    assert "http" not in page.replace("http-equiv", "")
    assert [path.name for path in (folder / "results/data").iterdir()] == ["dataset=clinic"]
    assert not list((tmp_path / "results").glob("summary"))

    few = tmp_path / "few.yaml"  # the page's answer is among the other policies
    few.write_text(yaml.safe_dump({"afape": {"agents": {"permutation": None, "fixed": None}}}))
    done = snakemake(
        tmp_path, "decide", "--config", CLINIC, "objective=f1", "budget=15", configs=(few,)
    )
    assert done.returncode == 0, done.stdout[-5000:]
    said, document = (folder / "verdict.txt").read_text(), _document(folder)
    first = said.splitlines()[0]
    assert first.startswith(f"Use {document['policy']}: order ")
    seen, printed = _costs(said), _on_page("docs/tutorials/budget.md")
    assert seen == pytest.approx(printed, rel=0.2)
    budgets = next(line for line in said.splitlines() if line.startswith("F1 within a budget of "))
    assert re.findall(r"([\d.]+) EUR: ", budgets) == ["3.75", "7.5", "30", "75"]
    (place,) = re.findall(r"^Next panel for a new case: python -m frugal advise (\S+)", said, re.M)
    bundle = tmp_path / place
    assert document["bundle"] == place
    capsys.readouterr()
    assert main(["advise", str(bundle), str(EXAMPLES / "clinic.csv")]) == 0
    assert "crp" in capsys.readouterr().out


def _document(folder: Path) -> dict:
    return json.loads((folder / "answer.json").read_bytes())


def test_a_form_is_requested_fairly(tmp_path):
    """As printed, but for models of the audit, which no number here reads."""
    less = tmp_path / "less.yaml"
    audit = {"rows": 400, "boosting": {"trees": 20}, "set_network": {"iterations": 50}}
    less.write_text(yaml.safe_dump({"dadi": {"audit": audit}}))
    done = snakemake(tmp_path, "dadi", configs=(EXAMPLES / "form_dadi.yaml", less))
    assert done.returncode == 0, done.stdout[-5000:]
    rows = pd.read_parquet(tmp_path / "results/summary/dadi.parquet", partitioning=None)
    own = rows[rows["method"] == "dadi"].set_index("gamma")
    disparity, cost = own["disparity"].to_dict(), own["cost"].to_dict()
    # learned on 1,333 rows: another maker's processor rounds otherwise and learns other policies
    assert max(disparity[0.1], disparity[0.5]) < disparity[1.0] < rows["disparity"].max()
    assert cost[0.1] < cost[0.5] < cost[1.0] < 12
    assert not rows["degenerate"].any()
    verdict = (tmp_path / "results/dadi/dataset=form/verdict.txt").read_text()
    assert verdict in done.stdout
    assert "the agent of γ = " in verdict.splitlines()[0]
    bundle = tmp_path / "results/bundles/study=dadi/dataset=form"
    assert main(["advise", str(bundle), str(EXAMPLES / "form.csv"), "--simulate"]) == 0


def test_an_applicant_is_stated_what_to_do(capsys, tmp_path):
    files = [str(EXAMPLES / name) for name in ("loan_units.csv", "loan_actions.csv")]
    assert main(["recourse", *files, "--out", str(tmp_path / "answers.csv")]) == 0
    said = capsys.readouterr().out.splitlines()
    page = (ROOT / "docs/tutorials/recourse.md").read_text()
    printed = [line.removeprefix("> ") for line in page.splitlines() if line.startswith("> ")]
    assert len(printed) == 3
    assert set(printed) <= set(said)
    answers = pd.read_csv(tmp_path / "answers.csv")
    assert answers.query("unit == 'chloe'")["cost"].tolist() == [12, 12, 13]
    assert answers["cost"].isna().tolist() == (answers["status"] == "none").tolist()


def test_records_of_searches_lead_to_a_policy_and_to_the_next_patient(tmp_path, capsys):
    words = ("--config", f"records={EXAMPLES / 'searches.yaml'}")
    done = snakemake(tmp_path, "search", *words, configs=())
    assert done.returncode == 0, done.stdout[-5000:]
    folder = tmp_path / "results/search/searches"
    said = (folder / "verdict.txt").read_text()
    assert said in done.stdout
    assert re.match(r"Use .+ on (smoothed|forest) tables, δ 0\.2: 1\.[67]\d? \(", said)
    assert "trusted" not in said
    assert "Read: age is missing for 61 of 2000 units, a level of its own." in said
    page = (ROOT / "docs/tutorials/treatment_search.md").read_text()
    printed = [line.removeprefix("> ") for line in page.splitlines() if line.startswith("> ")]
    learned = re.compile(
        r"[\d.]+|constrained dynamic programming|the greedy planner|smoothed|forest"
    )
    same = [learned.sub("#", line) for line in printed[:3]]
    assert same == [learned.sub("#", line) for line in said.splitlines()[:3]]

    estimates = pd.read_parquet(folder / "results/estimates.parquet", partitioning=None)
    chosen = estimates[estimates["chosen"] & (estimates["estimator"] == "doubly_robust")]
    trials = chosen.set_index("quantity").loc["mean_trials"]
    assert f"{trials['estimate']:.3g} ({trials['ci_low']:.3g} to {trials['ci_high']:.3g})" in said
    steps = pd.read_parquet(folder / "results/steps.parquet", partitioning=None)
    first = steps[(steps["history"] == "") & (steps["context"] == "age below 65")].iloc[0]
    words = (folder / "policy.txt").read_text()
    assert f"try {first['next']} ({first['records']} of {first['visits']} records" in words
    assert not list((tmp_path / "results").glob("summary"))

    new = tmp_path / "new.csv"
    new.write_text("episode,drug,result,age\nn1,,,40\nn2,doxycycline,well,70\n")
    assert main(["advise", str(folder / "results/policy"), str(new)]) == 0
    told = capsys.readouterr().out.splitlines()
    assert told[0].startswith(f"n1: {first['next']}; {first['records']} of {first['visits']}")
    assert told[1] == "n2 (so far doxycycline: well): stop; the best outcome is reached"
