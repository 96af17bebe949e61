"""A study is one folder: without it, its rules and its block of the config, all else works."""

import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.workflow.runs import BIN, ROOT, plain_environment, run
from tests.workflow.shared import SMALL
from tests.workflow.test_edits import PARTS

pytestmark = pytest.mark.workflow
RULES = {  # study → files of rules
    "afape": ("afape",),
    "treatment": ("treatment", "search"),
    "recourse": ("recourse",),
    "over_time": ("over_time",),
    "diagnosis": ("diagnosis",),
    "dadi": ("dadi",),
    "field": (),
}
TARGETS = ("afape", "dadi", "diagnosis", "treatment", "recourse")
ANSWER = f"""
import frugal
from frugal.run.overview import overview
from frugal.run.reference.command import PAGES
assert all(page() for page in PAGES.values())
table = frugal.load("docs/examples/clinic.yaml", config={SMALL})
answer = frugal.decide(table, agents=["never", "always"])
print(answer.document["policy"], overview())
"""


def without(study: str, folder: Path) -> Path:
    """A copy of the project that lacks the study."""
    folder.mkdir()
    for part in PARTS:
        if (ROOT / part).is_dir():
            kept = shutil.ignore_patterns("*.png", "__pycache__")
            shutil.copytree(ROOT / part, folder / part, ignore=kept)
        else:
            shutil.copy(ROOT / part, folder / part)
    shutil.rmtree(folder / "workflow/frugal/studies" / study)
    lines = (folder / "workflow/Snakefile").read_text(encoding="utf-8")
    for name in RULES[study]:
        (folder / f"workflow/rules/{name}.smk").unlink()
        lines = lines.replace(f'include: "rules/{name}.smk"\n', "")
    (folder / "workflow/Snakefile").write_text(lines, encoding="utf-8")
    own = ROOT / "workflow/frugal/studies" / study
    kinds = {path.stem for path in own.glob("policies/*.py")}
    for name in ("config.yaml", "config/decide.yaml"):
        config = yaml.safe_load((folder / name).read_text(encoding="utf-8"))
        if (own / "config.py").is_file():  # the block `afape` is that of every answer
            config.pop(study, None)
        text = yaml.safe_dump(lacking(config, kinds), sort_keys=False)
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def lacking(part: Any, kinds: set[str]) -> Any:
    """A part of a config without agents of these kinds, and without their names in lists."""
    if isinstance(part, list):
        return [
            lacking(each, kinds) for each in part if not (isinstance(each, str) and each in kinds)
        ]
    if not isinstance(part, dict):
        return part
    return {
        key: lacking(value, kinds)
        for key, value in part.items()
        if not (isinstance(value, dict) and value.get("kind") in kinds)
    }


@pytest.mark.parametrize("study", RULES)
def test_the_library_and_the_other_studies_work(study, tmp_path):
    project = without(study, tmp_path / "project")
    environment = plain_environment() | {"PYTHONPATH": str(project / "workflow")}
    answered = run([str(BIN / "python"), "-c", ANSWER], project, environment)
    assert answered.returncode == 0, answered.stdout[-3000:]
    assert answered.stdout.split()[0] in ("never", "always")
    assert f" {study} " not in answered.stdout
    others = [target for target in TARGETS if target != study]
    command = [str(BIN / "snakemake"), "-n", "--quiet", "all", "--", "all", "report", *others]
    planned = run(command, project, environment)
    assert planned.returncode == 0, planned.stdout[-3000:]
