"""What an edit of the code runs again: what it can change, and nothing else.

Each edit is made in a copy of the project; `snakemake -n` then counts the jobs that the finished
tiny study would need.
"""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.workflow.runs import BIN, ROOT, TINY, jobs, plain_environment, run

PARTS = ("Snakefile", "config.yaml", "requirements.lock", "config", "docs", "envs", "workflow")
TARGET = "afape"
REST = {"estimate_costs": 1, "summarise_afape": 1, "check_afape": 1}
FIGURES = {"draw_scenario_figures": 1, "draw_study_figures": 1}
ESTIMATOR = '''
"""A made-up estimator."""

from frugal.judge.estimator import Estimator
from frugal.judge.estimators.unweighted import blocking

TWICE_AS_GOOD = Estimator(
    name="twice_as_good", place=5, label="twice as good", look=("sky", "o"), needs=(),
    terms=lambda case: blocking(case.blocked), doc="As blocking.", equation="[afape, sec. A.9]",
)
'''
KIND = '''
"""The kind `eager`."""

from frugal.acquire.kinds import AgentKind
from frugal.acquire.policies.random import RandomPolicy

EAGER = AgentKind(
    name="eager", build=lambda settings, layout, stored: RandomPolicy(1.0), fit=None,
    settings={"why": ("string", "")}, doc="all that there is",
)
'''


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A copy of the project, to be edited."""
    folder = tmp_path / "project"
    folder.mkdir()
    for part in PARTS:
        place = ROOT / part
        if place.is_dir():
            shutil.copytree(place, folder / part, ignore=shutil.ignore_patterns("*.pyc", "*.png"))
        else:
            shutil.copy(place, folder / part)
    return folder


def needed(project: Path, results: Path) -> dict[str, int]:
    """Rule → jobs that the project as it stands would run in a folder of results."""
    environment = plain_environment() | {"PYTHONPATH": str(project / "workflow")}
    world = ROOT / "tests/workflow/tiny_world.yaml"  # the very file that the finished run has read
    (project / "tiny.yaml").write_text(
        TINY.read_text().replace(f"{world.relative_to(ROOT)}", f"{world}")
    )
    words = ["-n", TARGET, "--directory", str(results), "--configfile", str(project / "tiny.yaml")]
    done = run([str(BIN / "snakemake"), *words], project, environment)
    assert done.returncode == 0, done.stdout[-3000:]
    found = jobs(done.stdout)
    assert found or "Nothing to be done" in done.stdout
    return {rule: count for rule, count in found.items() if rule != TARGET}


def add(project: Path, module: str, text: str, *, after: str = "") -> None:
    """Write text into a module: after some words, or at the end; a new module is made."""
    path = project / "workflow/frugal" / module
    old = path.read_text(encoding="utf-8") if path.exists() else ""
    assert after in old
    at = old.index(after) + len(after) if after else len(old)
    path.write_text(old[:at] + text + old[at:], encoding="utf-8")


def words_everywhere(project: Path) -> None:
    """A comment in every module, and another first line of every docstring of a function."""
    for path in (project / "workflow/frugal").rglob("*.py"):
        text = path.read_text(encoding="utf-8").replace('    """', '    """Now: ', 1)
        path.write_text(f"{text}\n# a remark\n", encoding="utf-8")


def a_column(study: str) -> Callable[[Path], None]:
    """A column described in one study."""
    new = '\n    "shoe_size": ("EU", "of the unit"),'
    opening = "COLUMNS: dict[str, tuple[str, str]] = {"
    return lambda project: add(project, f"studies/{study}/columns.py", new, after=opening)


OWN = {"draw_missingness": 1, "impute_features": 1, "train_agent": 1, "roll_out": 4,
       "fit_nuisances": 1, **REST, **FIGURES}  # fmt: skip


@pytest.mark.parametrize(
    ("edit", "again"),
    [
        (words_everywhere, {}),
        (a_column("dadi"), {}),
        (a_column("afape"), OWN),
        (lambda p: add(p, "judge/estimators/twice_as_good.py", ESTIMATOR), {**REST, **FIGURES}),
        (lambda p: add(p, "acquire/policies/eager.py", KIND), {}),
        (
            lambda p: add(p, "acquire/policies/dqn.py", "\nEDITED = True\n"),
            {"train_agent": 1, "roll_out": 1, "fit_nuisances": 1, **REST, **FIGURES},
        ),
    ],
    ids=["words", "column of another study", "column", "estimator", "new kind", "kind"],
)
def test_an_edit_runs_again_what_it_can_change(tiny_run, copy, edit, again):
    edit(copy)
    assert needed(copy, tiny_run.folder) == again
