"""Frugal from Python: the workflow's numbers to the byte, nothing twice, mistakes in a sentence."""

import json
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import frugal
import pandas as pd
import pytest
from frugal import library
from frugal.core.errors import ConfigError, DataError, FrugalError

from tests.workflow import shared
from tests.workflow.runs import ROOT
from tests.workflow.runs import frugal as command

pytestmark = [pytest.mark.workflow, pytest.mark.trains]
EXAMPLES = ROOT / "docs" / "examples"


def readme_example() -> str:
    """The lines of Python in the README."""
    (block,) = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    return block


def stored(folder: Path) -> dict[str, Path]:
    """Every file of a decision by its path below it."""
    paths = (path for path in (folder / "results").rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path for path in paths}


def without_order(sidecar: Path) -> dict:
    """What a sidecar says, in whichever order the config had its keys."""
    document = json.loads(sidecar.read_bytes())
    return {key: value for key, value in document.items() if key != "seal"}


@pytest.fixture(scope="module")
def example() -> dict:
    """What the README's lines leave behind."""
    names: dict = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(ROOT)
        exec(readme_example(), names)
    return names


def test_the_readmes_lines_give_the_workflows_numbers_to_the_byte(example, runs):
    theirs = stored(shared.finished("clinic", runs).folder / "results" / "decide" / "clinic")
    ours = stored(example["answer"].folder)
    assert theirs.keys() <= ours.keys()
    others = {name.split("/")[1] for name in ours.keys() - theirs.keys()}  # of `evaluate`
    assert others == {
        "agents", "estimates", "imputations", "nuisances", "rollouts", "steps", "summary", "trained"
    }  # fmt: skip
    assert len([name for name in theirs if name.endswith(".parquet")]) > 8
    for name, path in ((name, ours[name]) for name in theirs):
        if path.name.startswith("_") and path.suffix == ".json":
            assert without_order(path) == without_order(theirs[name]), name
        else:
            assert path.read_bytes() == theirs[name].read_bytes(), name
    answer, place = example["answer"], "results/candidates/dataset=clinic/mechanism=own"
    outcomes = pd.read_parquet(theirs[f"{place}/outcomes.parquet"], partitioning=None)
    pd.testing.assert_frame_equal(answer.outcomes, outcomes)
    assert answer.summary() == theirs["results/verdict.txt"].read_text()
    assert answer.document == json.loads(theirs["results/answer.json"].read_bytes())
    assert (answer.best, answer.state) == (answer.document["policy"], answer.document["state"])
    assert answer.page == ours["results/answer.html"]


def test_the_results_pass_the_audit(example):
    done = command(example["answer"].folder, "audit", "--look-in", str(EXAMPLES), "--sample", "2")
    assert done.returncode == 0, done.stdout


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
    with pytest.raises(DataError, match="--without 'crpp' is no panel"):
        policy.advise(cases, without=["crpp"])


def test_the_training_is_there_for_those_that_learn(example):
    always, _, cascade = example["policies"]
    assert always.training["acquisition_cost"].tolist() == [75.0]  # all panels
    assert len(cascade.training) > 0
    assert cascade.kind == "cascade"
    assert len(frugal.roll_out(always).blocked) == 160  # the last of five folds


def test_what_is_up_to_date_is_not_made_again_and_what_changed_is(tmp_path):
    """The table and its gaps stay where another policy is asked for; a spoilt file is made anew."""
    table = frugal.load(EXAMPLES / "ten_lines.yaml", folder=tmp_path)
    masks = frugal.missingness(table)
    frugal.roll_out(frugal.train(masks, "never"))
    before = {name: path.stat().st_mtime_ns for name, path in stored(table.folder).items()}
    rule = {"kind": "rule", "steps": [{"panel": "blood test"}]}
    mine = frugal.train(masks, rule, name="mine")
    played = frugal.roll_out(mine).blocked
    after = stored(table.folder)
    assert {n for n in before if after[n].stat().st_mtime_ns != before[n]} == set()
    had = pd.read_csv(EXAMPLES / "ten_lines.csv").loc[played["row_id"], "troponin"].notna()
    assert (played["acquired:blood test"].to_numpy() == had.to_numpy()).all()
    spoilt = after["results/rollouts/dataset=ten_lines/mechanism=own/agent=mine/blocked.parquet"]
    spoilt.write_bytes(b"")
    pd.testing.assert_frame_equal(frugal.roll_out(mine).blocked, played)
    answer = frugal.evaluate([mine, frugal.train(masks, "never")])
    assert sorted(answer.policies) == ["mine", "never"]
    assert set(answer.estimates["agent"]) == {"mine", "never"}
    assert frugal.verdict(answer) == answer.verdict != ""


def test_gaps_can_be_drawn_into_a_complete_table_whose_truth_is_then_known(tmp_path):
    table = frugal.load(
        EXAMPLES / "form.yaml", folder=tmp_path, config={"afape": {"seeds": [0, 1]}}
    )
    law = {
        "source": "induced", "standardise": True, "complete_share": 0.4,
        "panels": {"arrears": {"intercept": 1.0, "values": {"income": -0.75}}},
    }  # fmt: skip
    masks = frugal.missingness(table, law, name="mar")
    assert set(masks.frame["seed"]) == {0, 1}
    assert masks.law == law
    policies = [frugal.train(masks, agent) for agent in ("never", "always")]
    answer = frugal.evaluate(policies)
    truth = answer.estimates.query("estimator == 'ground_truth' and agent == 'always'")
    # all five panels cost 12; what is left are errors, told on the same complete rows in both draws
    assert truth["acquisition_cost"].tolist() == [12, 12]
    assert truth["estimate"].nunique() == 1


def test_mistakes_are_a_sentence(tmp_path):
    with pytest.raises(ConfigError, match=r"'table' is 'clinicc\.yaml', and there is no such file"):
        frugal.load("clinicc.yaml", folder=tmp_path)
    with pytest.raises(ConfigError, match="allowed from Python is cost"):
        frugal.load(EXAMPLES / "clinic.yaml", folder=tmp_path, config={"objective": "f1"})
    with pytest.raises(ConfigError, match="cores is 0"):
        frugal.load(EXAMPLES / "clinic.yaml", folder=tmp_path, cores=0)
    with pytest.raises(ConfigError, match="did you mean 'seed'"):
        frugal.load(EXAMPLES / "clinic.yaml", folder=tmp_path, config={"sed": 1})
    table = frugal.load(EXAMPLES / "ten_lines.yaml", folder=tmp_path)
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
    other = frugal.load(EXAMPLES / "clinic.yaml", folder=tmp_path)
    policies = [frugal.train(masks, "never"), frugal.train(frugal.missingness(other), "always")]
    with pytest.raises(ConfigError, match="another table or missingness"):
        frugal.evaluate(policies)
    with pytest.raises(ConfigError, match="the table's own gaps; choose another"):
        frugal.missingness(table, {"source": "own", "panels": {}}, name="own")
    with pytest.raises(DataError, match="is no bundle of a policy"):
        frugal.load_policy(tmp_path)


def test_what_a_stage_refuses_is_its_own_sentence(tmp_path):
    lines = (EXAMPLES / "ten_lines.csv").read_text().splitlines()
    (tmp_path / "ten_lines.csv").write_text("\n".join(lines))
    (tmp_path / "ten_lines.yaml").write_text((EXAMPLES / "ten_lines.yaml").read_text())
    table = frugal.load(tmp_path / "ten_lines.yaml", folder=tmp_path)
    law = {"source": "induced", "standardise": False, "complete_share": 0.5, "panels": {}}
    with pytest.raises(FrugalError) as refused:
        _ = frugal.missingness(table, law).frame
    assert "\n" not in str(refused.value)


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


def test_the_stub_names_what_the_library_names():
    """`__init__.pyi` tells editors the names that `__getattr__` finds."""
    from frugal import library

    stub = (ROOT / "workflow" / "frugal" / "__init__.pyi").read_text()
    assert re.findall(r"import (\w+) as \1$", stub, re.MULTILINE) == sorted(library.__all__)


def test_no_verb_has_the_name_of_a_room():
    """A room that is imported would stand in the verb's place."""
    rooms = {module.name for module in pkgutil.iter_modules(frugal.__path__)}
    assert not rooms & set(library.__all__)
