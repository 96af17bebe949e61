"""The page of commands: targets of the workflow, commands with their options, stages."""

import ast
import contextlib
import io
import os
import re
from importlib import import_module
from unittest import mock

from frugal.core.declarations import PACKAGE
from frugal.results.sources import STAGES
from frugal.run.overview import REST, USED_FIRST
from frugal.run.reference.markdown import head, table
from frugal.run.stage_command import run_job

_TARGET = re.compile(r'^rule (\w+):\n    """(.+?)"""$', re.MULTILINE)
_WIDTH = "88"  # of what --help prints
_MODULES = {  # command → module whose NAME_command reads its words
    "init": "init_command", "recourse": "recourse_command", "advise": "advise",
    "export": "export", "audit": "audit", "diff": "comparison", "describe": "describe",
    "benchmark": "benchmarks", "compile": "compiled", "rocrate": "rocrate",
    "config": "config_files",
}  # fmt: skip


def commands_page() -> str:
    """Targets, commands, stages."""
    targets = sorted(target_words().items())
    stages = [(f"`{name}`", _first_line(name)) for name in STAGES]
    about = {**USED_FIRST, **REST}
    parts = [
        head("Commands", "commands"),
        "## Targets\n\n`snakemake --cores 2 TARGET`, from the project's folder or with "
        "`--directory` from another.\n",
        table(["target", "what it makes"], [(f"`{name}`", words) for name, words in targets]),
        "## Commands\n\n`python -m frugal COMMAND`. A refusal is a sentence, and exit status 2.\n",
        table(["command", "what it does"], [(f"`{name}`", words) for name, words in about.items()]),
    ]
    parts += [f"### {name}\n\n```text\n{help_of(name)}```\n" for name in _MODULES]
    parts += [
        "## Stages\n\n`python -m frugal STAGE --help` has the words. Snakemake prints the whole "
        "command of every job.\n",
        table(["stage", "what it makes"], stages),
    ]
    return "\n".join(parts)


def target_words() -> dict[str, str]:
    """Targets of the workflow, each with its sentence."""
    folder = PACKAGE.parent
    files = [folder / "Snakefile", *sorted((folder / "rules").glob("*.smk"))]
    return dict(f for path in files for f in _TARGET.findall(path.read_text(encoding="utf-8")))


def help_of(command: str) -> str:
    """What `--help` of a command prints."""
    module = import_module(f"frugal.run.{_MODULES[command]}")
    call = getattr(module, f"{command}_command")
    runs = [run_job] if command == "audit" else []
    said = io.StringIO()
    with (
        mock.patch.dict(os.environ, {"COLUMNS": _WIDTH}),
        contextlib.redirect_stdout(said),
        contextlib.suppress(SystemExit),
    ):
        call(["--help"], *runs)
    return said.getvalue()


def _first_line(stage: str) -> str:
    """First line of the docstring of a stage's function."""
    path = PACKAGE.joinpath(*STAGES[stage].split(".")[1:]).with_suffix(".py")
    for node in ast.parse(path.read_bytes()).body:
        if isinstance(node, ast.FunctionDef) and node.name == stage:
            return (ast.get_docstring(node) or "").partition("\n\n")[0]
    return ""
