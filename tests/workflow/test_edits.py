"""What an edit of the code runs again: what it can change, and nothing else.

Each edit is made in a copy of the project; `snakemake -n` then counts the jobs that the finished
tiny study would need.
"""

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest
from frugal.core.schema_check import read_yaml

from tests.defaults import DEFAULT
from tests.workflow.runs import BIN, ROOT, TINY, jobs, plain_environment, run
from tests.workflow.shared import SMALL

PARTS = ("Snakefile", "config.yaml", "requirements.lock", "config", "docs", "envs", "workflow")
TARGET = "afape"
REST = {"estimate_costs": 1, "summarise_afape": 1, "check_afape": 1, "give_verdicts": 1}
FIGURES = {"draw_scenario_figures": 1, "draw_study_figures": 1}
RECIPE = r"^`workflow/([\w/.]+)`(?:, below `(.+)`)?\n\n```[a-z]+\n(.*?)^```"
PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
FOUND = re.findall(RECIPE, PAGE, re.DOTALL | re.MULTILINE)
RECIPES = {path: (text, after) for path, after, text in FOUND}  # words of a file, and their place
ESTIMATOR = "frugal/judge/estimators/trimmed_blocking.py"
KIND = "frugal/acquire/policies/cheapest.py"
GENERATOR = "frugal/studies/recourse/generators/commonest.py"
PLANNER = "frugal/studies/treatment/planners/single.py"
FIGURE = "frugal/studies/afape/figures/worth.py"
PART = "frugal/answer/parts/workload.py"
STUDY = [path for path in RECIPES if "ranks" in path or path == "Snakefile"]
OF_THE_REPORT = {"explore_afape", "show_afape_cases", "write_report"}  # which `afape` leaves out
OUT_OF_DATE = """
import collections, json, pathlib
from frugal.results.manifests import made_by_other_code
steps = {}
for path in pathlib.Path("results/steps").rglob("*.json"):
    made = json.loads(path.read_text())
    steps[str(path)] = {output["path"] for output in made["outputs"].values()}, made
again = {name for name, (_, made) in steps.items() if made_by_other_code(made)}
while True:
    old = set().union(*(steps[name][0] for name in again))
    more = {n for n, (_, made) in steps.items() if old & {i["path"] for i in made["inputs"]}}
    if more <= again:
        break
    again |= more
print(json.dumps(collections.Counter(steps[name][1]["stage"] for name in again)))
"""


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A copy of the project, to be edited."""
    folder = tmp_path / "project"
    folder.mkdir()
    for part in PARTS:
        place = ROOT / part
        if place.is_dir():
            shutil.copytree(place, folder / part, ignore=shutil.ignore_patterns("*.png"))
        else:
            shutil.copy(place, folder / part)
    return folder


def start(project: Path, results: Path, *words: str, agents: str = "", target: str = TARGET) -> str:
    """Start the tiny study from the project as it stands, in a folder of results; its output."""
    environment = plain_environment() | {"PYTHONPATH": str(project / "workflow")}
    world = ROOT / ".test/tiny_world.yaml"  # the very file that the finished run has read
    config = TINY.read_text(encoding="utf-8").replace(f"{world.relative_to(ROOT)}", f"{world}")
    config = config.replace("    never: null\n", f"    never: null\n{agents}")
    (project / "tiny.yaml").write_text(config, encoding="utf-8")
    command = [str(BIN / "snakemake"), *target.split(), "--directory", str(results), *words]
    done = run([*command, "--configfile", str(project / "tiny.yaml")], project, environment)
    assert done.returncode == 0, done.stdout[-3000:]
    return done.stdout


def needed(project: Path, results: Path) -> dict[str, int]:
    """Stage → finished steps that the code of the project would not have made, or read such."""
    environment = plain_environment() | {"PYTHONPATH": str(project / "workflow")}
    done = run([str(BIN / "python"), "-c", OUT_OF_DATE], results, environment)
    assert done.returncode == 0, done.stdout
    found = json.loads(done.stdout)
    return {stage: count for stage, count in found.items() if stage not in OF_THE_REPORT}


def add(project: Path, name: str, text: str, after: str = "") -> None:
    """Write text into a file of workflow/: after some words, or at the end; a new one is made."""
    path = project / "workflow" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    old = path.read_text(encoding="utf-8") if path.exists() else ""
    assert after in old
    at = old.index(after) + len(after) if after else len(old)
    path.write_text(old[:at] + text + old[at:], encoding="utf-8")


def follow(project: Path, *names: str) -> None:
    """Write files of recipes, or into them below a line, as the page has it."""
    for name in names:
        text, after = RECIPES[name]
        add(project, name, text, f"{after}\n" if after else "")


def words_everywhere(project: Path) -> None:
    """A comment in every module, and another first line of every docstring of a function."""
    for path in (project / "workflow/frugal").rglob("*.py"):
        text = path.read_text(encoding="utf-8").replace('    """', '    """Now: ', 1)
        path.write_text(f"{text}\n# a remark\n", encoding="utf-8")


def a_column(study: str) -> Callable[[Path], None]:
    """A column described in one study."""
    new = '\n    "shoe_size": ("EU", "of the unit"),'
    opening = "COLUMNS: dict[str, tuple[str, str]] = "
    opening += "OF_ANSWERS | {" if study == "afape" else "{"
    return lambda project: add(project, f"frugal/studies/{study}/columns.py", new, opening)


OWN = {"impute_features": 1, "fit_nuisances": 1, "check_graph": 1, **REST, **FIGURES}
OWN["roll_out"] = 4  # which reads imputed copies
EDITED_DQN = "frugal/acquire/policies/dqn.py", "\nEDITED = True\n"
OF_DQN = dict.fromkeys(("train_agent", "roll_out", "fit_nuisances", "check_graph"), 1)
OF_DQN |= REST | FIGURES


@pytest.mark.parametrize(
    ("edit", "again"),
    [
        (words_everywhere, {}),
        (a_column("dadi"), {}),
        (a_column("afape"), OWN),
        (lambda p: follow(p, ESTIMATOR), {**REST, **FIGURES}),
        (lambda p: follow(p, KIND), {}),
        (lambda p: follow(p, FIGURE), FIGURES),
        (lambda p: add(p, *EDITED_DQN), OF_DQN),
    ],
    ids=["words", "column of another study", "column", "estimator", "new kind", "figure", "kind"],
)
def test_an_edit_runs_again_what_it_can_change(tiny_run, copy, edit, again):
    edit(copy)
    assert needed(copy, tiny_run.folder) == again


def test_snakemake_runs_again_what_is_out_of_date(tiny_run, copy):
    add(copy, *EDITED_DQN)
    planned = jobs(start(copy, tiny_run.folder, "-n"))
    assert {rule: count for rule, count in planned.items() if rule != TARGET} == OF_DQN


@pytest.fixture
def results(tiny_run, tmp_path: Path) -> Path:
    """A copy of the finished run, to be added to."""
    return shutil.copytree(tiny_run.folder, tmp_path / "results")


def test_recipes_of_estimator_agent_and_figure_are_judged_and_drawn(copy, results):
    follow(copy, ESTIMATOR, KIND, FIGURE)
    said = start(copy, results, "--cores", "1", agents="    one: {kind: cheapest, panels: 1}\n")
    assert jobs(said)["roll_out"] == 1
    summary = pd.read_parquet(results / "results/summary/afape.parquet")
    rows = summary[summary["estimator"] == "trimmed_blocking"]
    blocking = summary[summary["estimator"] == "blocking"].set_index(["agent", "seed"])["estimate"]
    assert len(rows) == len(blocking)
    assert (rows["status"] == "ok").all()
    assert (rows.set_index(["agent", "seed"])["estimate"] <= blocking).all()
    truth = summary[(summary["agent"] == "one") & (summary["estimator"] == "ground_truth")]
    assert list(truth["status"]) == ["ok", "ok"]
    drawn = next(results.glob("results/figures/**/trust.parquet"))
    assert "trimmed_blocking" in set(pd.read_parquet(drawn)["estimator"])
    table = next(results.glob("results/figures/**/worth.parquet"))
    assert table.with_suffix(".png").stat().st_size > 10_000
    assert {"trimmed_blocking", "blocking"} <= set(pd.read_parquet(table)["estimator"])


def test_recipes_of_a_generator_and_a_planner_make_rows_and_marks(copy, tmp_path):
    """One run of both studies from the start, on a config over the default's."""
    follow(copy, GENERATOR, PLANNER)
    scenario = dict(DEFAULT["recourse"]["scenarios"][0])
    names = ["hamming", "commonest"]
    scenario |= {"generators": names, "source": scenario["source"] | {"draws": 400}}
    figures = {key: scenario[key] for key in ("dataset", "variant")}
    figures |= {"seed": 0, "subset": "all", "mistakes_of": names}
    config = read_yaml(ROOT / "tests/workflow/tiny_search.yaml")
    config["datasets"] = {name: str(ROOT / path) for name, path in config["datasets"].items()}
    for each in config["treatment"]["scenarios"].values():
        for grid in each["grids"].values():
            grid["planners"] = ["cdp", "cg", "ndp", "single"]
    config["recourse"] = {
        "generators": {"commonest": {"kind": "commonest", "augmentation": "none"}},
        "scenarios": [scenario | {"seeds": [0], "subsets": ["all"]}],
        "figures": figures,
    }
    (copy / "mine.yaml").write_text(json.dumps(config), encoding="utf-8")
    results = tmp_path / "results"
    environment = plain_environment() | {"PYTHONPATH": str(copy / "workflow")}
    words = ["--cores", "1", "--directory", str(results), "--configfile", str(copy / "mine.yaml")]
    command = [str(BIN / "snakemake"), "recourse", "treatment", *words]
    done = run(command, copy, environment)
    assert done.returncode == 0, done.stdout[-3000:]
    summary = pd.read_parquet(results / "results/summary/recourse.parquet")
    assert set(summary["generator"]) == set(names)
    drawn = next(results.glob("results/figures/**/recourse_accuracy.parquet"))
    assert "commonest" in set(pd.read_parquet(drawn)["generator"])
    summary = pd.read_parquet(results / "results/summary/treatment.parquet")
    single = summary[summary["planner"] == "single"]
    assert (single["mean_trials"] == 1).all()
    assert len(single) > 0
    drawn = next(results.glob("results/figures/**/tradeoff.parquet"))
    assert "single" in set(pd.read_parquet(drawn)["planner"])


def test_recipes_pass_the_tests_that_try_every_declaration(copy):
    follow(copy, *RECIPES)
    for part in ("tests", "conftest.py", "pyproject.toml", "README.md", "CONTRIBUTING.md"):
        kept = shutil.copytree if (ROOT / part).is_dir() else shutil.copy
        kept(ROOT / part, copy / part)
    files = ["unit/test_figure_style", "unit/test_estimators", "unit/test_stored_models"]
    files += ["studies/recourse/test_recourse_generators", "unit/test_prints"]
    files += ["studies/recourse/test_recourse_unseen_groups"]
    chosen = "commonest or marker or trimmed or distinct or every_estimator or one_place"
    words = ["-q", "-p", "no:cacheprovider", "-k", chosen]
    words += [f"tests/{name}.py" for name in files]
    environment = plain_environment() | {"PYTHONPATH": str(copy / "workflow")}
    done = run([str(BIN / "python"), "-m", "pytest", *words], copy, environment)
    assert done.returncode == 0, done.stdout[-3000:]


ANSWERED = f"""
import sys, frugal
small = {SMALL}
agents = ["never", "always"]
answer = frugal.decide(sys.argv[1], agents=agents, count_panels=True, config=small)
assert answer.document["workload"]["panels"] >= 0, answer.document
assert "panels a case." in answer.summary() and "panels a case." in answer.to_html()
assert frugal.decide(sys.argv[1], agents=["never"], config=small).document["workload"] is None
"""


def test_a_part_is_one_file(copy):
    follow(copy, PART)
    environment = plain_environment() | {"PYTHONPATH": str(copy / "workflow")}
    words = [str(BIN / "python"), "-c", ANSWERED, str(copy / "docs/examples/clinic.yaml")]
    done = run(words, copy, environment)
    assert done.returncode == 0, done.stdout
    flags = [str(BIN / "python"), "-m", "frugal", "decide", "--help"]
    assert "--count-panels" in run(flags, copy, environment).stdout


def test_a_study_is_a_folder_a_file_of_rules_and_a_line(copy, results):
    follow(copy, *STUDY)
    made = jobs(start(copy, results, "--cores", "1", target="ranks"))
    assert made.keys() - {"total"} == {"count_cheapest", "draw_ranks", "ranks"}
    shares = pd.read_parquet(results / "results/summary/ranks.parquet").set_index("estimator")
    assert shares.loc["ground_truth", "cheapest"] == 1
    assert shares["cheapest"].between(0, 1).all()
    assert next(results.glob("results/figures/**/cheapest.png")).stat().st_size > 10_000
    planned = jobs(start(copy, results, "-n", target="all report"))
    assert planned["write_report"] == 1
    environment = plain_environment() | {"PYTHONPATH": str(copy / "workflow")}
    words = [str(BIN / "python"), "-m", "frugal", "ranks", "results/summary/afape.parquet"]
    printed = run(words, results, environment)
    assert printed.returncode == 0, printed.stdout
    assert len(printed.stdout.splitlines()) == 1 + len(shares)
