"""Frugal from Python: in memory the workflow's numbers, in a folder the workflow itself."""

import json
import os
import pkgutil
import re
import shutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import frugal
import pandas as pd
import pytest
from frugal.core.arithmetic import pinned
from frugal.core.errors import ConfigError, DataError, FrugalError
from frugal.library import folder as folders
from frugal.library.chain import STEPS
from frugal.library.question import ask

from tests.workflow import shared
from tests.workflow.runs import ROOT
from tests.workflow.runs import frugal_here as command
from tests.workflow.shared import SMALL

pytestmark = [pytest.mark.workflow, pytest.mark.trains]
EXAMPLES = ROOT / "docs" / "examples"
THREE = ["always", "never", "cascade"]


def step_by_step() -> str:
    """The last lines of Python of library.md, with smaller models as in the finished run."""
    page = (ROOT / "docs/how-to/library.md").read_text(encoding="utf-8")
    *_, block = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    return block.replace('.yaml")', f'.yaml", config={SMALL!r})', 1)


@pytest.fixture(scope="module")
def example() -> dict:
    """What these lines leave behind."""
    names: dict = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(ROOT)
        exec(step_by_step(), names)
    return names


@pytest.fixture(scope="module")
def theirs(runs) -> Path:
    """The folder of the same table in a finished run of the workflow."""
    return shared.finished("clinic", runs).folder / "results" / "decide" / "clinic"


def test_the_pages_lines_give_the_workflows_numbers(theirs, tmp_path):
    """To the last digit, in a Python that was started for the arithmetic of the workflow."""
    program = (
        step_by_step()
        + f"""
from pathlib import Path
place = Path({str(tmp_path)!r})
answer.outcomes.to_parquet(place / "outcomes.parquet")
(place / "answer.json").write_text(__import__("json").dumps(answer.document))
(place / "verdict.txt").write_text(answer.summary())
(place / "page.html").write_bytes(answer.page.read_bytes())
(place / "bundle.txt").write_text(str(answer.policy("cascade").save(place / "cascade")))
"""
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=ROOT,
        env=pinned(os.environ),
        text=True,
        capture_output=True,
    )
    assert done.returncode == 0, done.stderr
    place = theirs / "results"
    scenario = "dataset=clinic/mechanism=own"
    ours = pd.read_parquet(tmp_path / "outcomes.parquet")
    path = place / "candidates" / scenario / "outcomes.parquet"
    pd.testing.assert_frame_equal(ours, pd.read_parquet(path, partitioning=None), check_exact=True)
    document = json.loads((tmp_path / "answer.json").read_text())
    assert document == json.loads((place / "answer.json").read_bytes())
    here, there = (
        (folder / "verdict.txt").read_text().splitlines() for folder in (tmp_path, place)
    )
    told = [
        "Next panel for a new case: ",
        "All on one page: ",
    ]  # calls in memory, else commands and files
    assert [line for line in here if line not in there] == [
        f'{told[0]}answer.best.advise("cases.csv")',
        f"{told[1]}answer.page",
    ]
    assert [line for line in there if line not in here] == [
        line for line in there if line.startswith(tuple(told))
    ]
    assert (tmp_path / "page.html").read_bytes() == (place / "answer.html").read_bytes()
    for file in (tmp_path / "cascade").iterdir():
        bundle = place / "bundles" / scenario / "agent=cascade"
        assert file.read_bytes() == (bundle / file.name).read_bytes(), file


def test_in_a_folder_the_library_is_the_workflow(theirs, warm_engine):
    """What a run of Snakemake has finished is up to date for the library."""
    stored = {path: path.stat().st_mtime_ns for path in (theirs / "results").rglob("*.parquet")}
    folder = theirs.parents[2]
    answer = frugal.decide(EXAMPLES / "clinic.yaml", agents=THREE, folder=folder, config=SMALL)
    assert {path: path.stat().st_mtime_ns for path in stored} == stored
    assert answer.folder == theirs
    assert answer.summary() == (theirs / "results/verdict.txt").read_text()
    assert answer.document == json.loads((theirs / "results/answer.json").read_bytes())
    assert answer.state == answer.document["state"]
    assert answer.page == theirs / "results/answer.html"
    bundle = theirs / "results/bundles/dataset=clinic/mechanism=own/agent=cascade"
    assert answer.policy("cascade").bundle == bundle


def test_a_policy_advises_as_the_command_does(example, tmp_path):
    policy = example["policies"][2]
    cases = tmp_path / "cases.csv"
    pd.read_csv(EXAMPLES / "clinic.csv", dtype=str).head(40).to_csv(cases, index=False)
    handed_out = example["answer"].policy("cascade")  # which learned on all rows
    for number, one in enumerate((policy, handed_out)):
        kept = one.save(tmp_path / f"policy_{number}")
        done = command(tmp_path, "advise", str(kept), str(cases), "--out", "theirs.csv")
        assert done.returncode == 0, done.stdout
        theirs = (tmp_path / "theirs.csv").read_text()
        for advice in (
            one.advise(cases),
            one.advise(pd.read_csv(cases, dtype=str)),
            frugal.advise(frugal.load_policy(kept), cases),
            frugal.advise(kept, cases),
        ):
            assert advice.to_csv(index=False, lineterminator="\n") == theirs
        (tmp_path / "theirs.csv").unlink()
    kept = tmp_path / "policy_0"
    with pytest.raises(DataError, match="is there already"):
        policy.save(kept)
    with pytest.raises(DataError, match="without 'crpp' is no panel"):
        policy.advise(cases, without=["crpp"])


def test_the_training_is_there_for_those_that_learn(example):
    always, _, cascade = example["policies"]
    assert always.training["acquisition_cost"].tolist() == [75.0]  # all panels
    assert len(cascade.training) > 0
    assert cascade.kind == "cascade"
    assert len(frugal.roll_out(always).blocked) == 160  # the last of five folds


def test_a_folder_gives_the_numbers_and_refusals_of_memory(tmp_path, warm_engine):
    """To the last digit, both with the arithmetic of this processor."""
    fast = {"arithmetic": "fast"}
    rule = {"kind": "rule", "steps": [{"panel": "blood test"}]}
    law = {
        "source": "induced",
        "standardise": False,
        "complete_share": None,
        "panels": {"blood test": {"intercept": 0.0}},
    }
    evaluations, sentences = [], []
    for folder in (None, tmp_path):
        table = frugal.load(EXAMPLES / "ten_lines.yaml", folder=folder, config=fast)
        with pytest.raises(FrugalError) as refused:
            frugal.missingness(table, law)
        sentences.append(str(refused.value))
        masks = frugal.missingness(table)
        policies = [frugal.train(masks, "never"), frugal.train(masks, rule, name="mine")]
        evaluations.append(frugal.evaluate(policies))
    assert sentences[0] == sentences[1]
    told = "mechanism 'drawn' is to be drawn, but column 'troponin' lacks"
    assert sentences[0].startswith(told)
    ours, theirs = evaluations
    for name in ("estimates", "comparisons", "groups", "sensitivity", "verdicts", "graph_check"):
        pd.testing.assert_frame_equal(getattr(ours, name), getattr(theirs, name), check_exact=True)
    assert frugal.verdict(ours) == theirs.verdict != ""
    assert sorted(ours.policies) == ["mine", "never"]
    played = frugal.roll_out(ours.policy("mine")).blocked
    had = pd.read_csv(EXAMPLES / "ten_lines.csv").loc[played["row_id"], "troponin"].notna()
    assert (played["acquired:blood test"].to_numpy() == had.to_numpy()).all()


def test_a_stage_runs_once_for_the_same_question():
    table = frugal.load(EXAMPLES / "ten_lines.yaml")
    masks = frugal.missingness(table)
    never = frugal.train(masks, "never")
    frugal.roll_out(never)
    before = dict(table.question.memory)
    other = frugal.roll_out(frugal.train(masks, "always"))
    again = frugal.roll_out(frugal.train(masks, "never"))
    played = again.blocked
    played["cost"] = 0.0  # a copy
    pd.testing.assert_frame_equal(again.blocked, frugal.roll_out(never).blocked)
    assert len(other.blocked) == len(again.blocked)
    made = [json.loads(call)[0] for call in table.question.memory if call not in before]
    assert made == ["train_agent", "roll_out"]


def test_ones_own_function_is_a_policy_and_is_kept_with_its_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shutil.copy(ROOT / "config/policies/second_look.py", tmp_path / "mine.py")
    masks = frugal.missingness(frugal.load(EXAMPLES / "ten_lines.yaml"))
    mine = frugal.train(masks, {"kind": "python", "file": "mine.py", "function": "choose"})
    assert len(frugal.roll_out(mine).blocked) == 2
    assert mine.training is None
    kept = frugal.load_policy(mine.save(tmp_path / "kept"), function="mine.py")
    advice = mine.advise(EXAMPLES / "new_cases.csv")
    pd.testing.assert_frame_equal(kept.advise(EXAMPLES / "new_cases.csv"), advice)


def test_gaps_can_be_drawn_into_a_complete_table_whose_truth_is_then_known():
    table = frugal.load(EXAMPLES / "form.yaml", config={"afape": {"seeds": [0, 1]}})
    law = {
        "source": "induced",
        "standardise": True,
        "complete_share": 0.4,
        "panels": {"arrears": {"intercept": 1.0, "values": {"income": -0.75}}},
    }
    masks = frugal.missingness(table, law, name="mar")
    assert set(masks.frame["seed"]) == {0, 1}
    assert masks.law == law
    other = frugal.missingness(table, law | {"complete_share": 0.5}, name="mar")
    with pytest.raises(ConfigError, match="'always' is of another table or missingness"):
        frugal.evaluate([frugal.train(masks, "never"), frugal.train(other, "always")])
    policies = [frugal.train(masks, agent) for agent in ("never", "always")]
    answer = frugal.evaluate(policies)
    truth = answer.estimates.query("estimator == 'ground_truth' and agent == 'always'")
    # all five panels cost 12; what is left are errors, told on the same complete rows in both draws
    assert truth["acquisition_cost"].tolist() == [12, 12]
    assert truth["estimate"].nunique() == 1


def test_mistakes_are_a_sentence(tmp_path):
    with pytest.raises(ConfigError, match=r"table is 'clinicc\.yaml', and there is no such file"):
        frugal.load("clinicc.yaml", folder=tmp_path)
    misspelt: Any = {"pirces": {"crp": 4}}
    with pytest.raises(ConfigError, match="has no argument 'pirces'; did you mean 'prices'"):
        frugal.decide(EXAMPLES / "clinic.yaml", **misspelt)
    with pytest.raises(ConfigError, match="cores is 0"):
        frugal.load(EXAMPLES / "clinic.yaml", folder=tmp_path, cores=0)
    with pytest.raises(ConfigError, match="did you mean 'seed'"):
        frugal.load(EXAMPLES / "clinic.yaml", folder=tmp_path, config={"sed": 1})
    table = frugal.load(EXAMPLES / "ten_lines.yaml")
    with pytest.raises(ConfigError, match=r"agents names 'nevr'; .* did you mean 'never'"):
        frugal.decide(table, agents=["nevr"])
    with pytest.raises(ConfigError, match="agents names no policy"):
        frugal.decide(table, agents=[])
    with pytest.raises(ConfigError, match="options of load"):
        frugal.decide(table, folder=tmp_path)
    masks = frugal.missingness(table)
    with pytest.raises(ConfigError, match=r"agent is 'alway'; .* did you mean 'always'"):
        frugal.train(masks, "alway")
    with pytest.raises(ConfigError, match=r"afape\.agents\.never"):
        frugal.train(masks, "never", transitions=5)
    with pytest.raises(ConfigError, match="two policies have the name 'never'"):
        frugal.evaluate([frugal.train(masks, "never")] * 2)
    with pytest.raises(ConfigError, match="evaluate takes at least one"):
        frugal.evaluate([])
    other = frugal.load(EXAMPLES / "clinic.yaml")
    policies = [frugal.train(masks, "never"), frugal.train(frugal.missingness(other), "always")]
    with pytest.raises(ConfigError, match="another table or missingness"):
        frugal.evaluate(policies)
    with pytest.raises(ConfigError, match="the table's own missing values; choose another"):
        frugal.missingness(table, {"source": "own", "panels": {}}, name="own")
    with pytest.raises(DataError, match="is no bundle of a policy"):
        frugal.load_policy(tmp_path)


def test_policies_are_any_of_those_known_or_ones_own():
    table = frugal.load(EXAMPLES / "clinic.yaml", config=SMALL)
    for none in ({}, {"always": None}):
        with pytest.raises(ConfigError, match="agents names no policy; allowed are"):
            frugal.decide(table, agents=none)
    one = frugal.decide(table, agents={"mine": {"kind": "fixed", "panels": "none"}})
    assert one.document["policy"] == "mine"
    every = frugal.decide(table, agents=["always", "never"])
    same = pytest.approx(every.document["practice"], rel=1e-5)  # but for calibrated labels
    assert one.document["practice"] == same
    assert sorted(one.outcomes["agent"]) == ["always", "mine", "practice"]


def test_a_folder_is_run_again_where_another_question_was_requested_since(tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr(folders, "run_workflow", lambda config, *_: asked.append(config))
    one = ask(EXAMPLES / "clinic.yaml", tmp_path, None, cores=1)
    other = ask(EXAMPLES / "clinic.yaml", tmp_path, None, cores=1, sensitive="ward")
    for question in (one, one, other, one):
        for path in folders.files_of(question, STEPS, "prepare_data", {}).values():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch()
    assert [config["sensitive"] for config in asked] == [None, "ward", None]
    path.unlink()
    folders.files_of(one, STEPS, "prepare_data", {})
    assert len(asked) == 4


def test_what_the_workflow_refuses_at_its_start_is_an_exception(tmp_path):
    from frugal.run.engine import run_workflow

    with pytest.raises(ConfigError, match=r"^config: unknown key 'sed' .* did you mean 'seed'"):
        run_workflow({"sed": 1}, tmp_path, "decide", 1)


def test_importing_loads_no_library():
    program = (
        "import sys, frugal; before = set(sys.modules); "
        "assert not before & {'numpy', 'pandas', 'yaml', 'jsonschema', 'frugal.library'}; "
        "frugal.load; heavy = {'pandas', 'torch', 'sklearn', 'matplotlib', 'snakemake'}; "
        "assert not heavy & set(sys.modules), heavy & set(sys.modules); "
        "assert {'load', 'decide'} <= set(dir(frugal)); "
        "assert not hasattr(frugal, 'lode')"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


STUB = (ROOT / "workflow" / "frugal" / "__init__.pyi").read_text(encoding="utf-8")
NAMED = re.findall(r"^from (\S+) import (\w+) as \2$", STUB, re.MULTILINE)


def test_the_stub_names_what_the_library_and_the_studies_name():
    """`__init__.pyi` tells editors the names that `__getattr__` finds."""
    verbs = sorted((ROOT / "workflow" / "frugal").glob("studies/*/verbs.py"))
    modules = ["frugal.library", *(f"frugal.studies.{path.parent.name}.verbs" for path in verbs)]
    assert [(m, name) for m in modules for name in sorted(import_module(m).__all__)] == NAMED
    assert {name for _, name in NAMED} <= set(dir(frugal))
    for module, name in NAMED:
        assert getattr(frugal, name) is getattr(import_module(module), name)


def test_no_verb_has_the_name_of_a_room():
    """A room that is imported would stand in the verb's place."""
    rooms = {module.name for module in pkgutil.iter_modules(frugal.__path__)}
    assert not rooms & {name for _, name in NAMED}
