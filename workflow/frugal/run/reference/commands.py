"""The page of commands: targets of the workflow, commands with their options, stages."""

import ast
import contextlib
import io
import os
import re
import textwrap
from importlib import import_module
from unittest import mock

from frugal.core.declarations import PACKAGE
from frugal.results.sources import STAGES
from frugal.run.reference.markdown import head, table
from frugal.run.stage_command import COMMANDS, run_job

_TARGET = re.compile(r'^rule (\w+):\n    """(.+?)"""$', re.MULTILINE)
_WIDTH = "88"  # of what --help prints
_UNSHOWN = ("plan", "reference")  # which the workflow and this page call
USED_FIRST = {
    "init TABLE --label COLUMN": "the YAML of one's own table",
    "recourse UNITS ACTIONS": "the cheapest set of actions of every unit, proven",
    "advise POLICY CASES": "what to acquire, or to try, next for each new case",
    "export POLICY FILE.onnx": "a policy as an ONNX graph",
    "audit": "whether results are still what was made",
    "diff A B": "which numbers moved between two runs, and why",
}
TARGETS = {
    "decide --config table=my.yaml": "own table: which policy, what cost, how sure",
    "search --config records=my.yaml": "own records: which treatment to try next",
    "plan": "what a run will take, before it begins",
    "all report": "the embedded default of all studies",
}
REST = {
    "benchmark": "time what was run, as a table",
    "compile": "compile the kernels once",
    "config": "the whole config, every default written out",
    "describe": "a stored policy in words",
    "rocrate": "results described for archives, as a Workflow Run RO-Crate",
    "reference PAGE": "a page of reference: config, commands, columns, agents, …",
    "STAGE --help": "one stage by hand, exactly as Snakemake runs it",
}


def overview() -> str:
    """All commands with a line each."""
    width = max(len(name) for part in (USED_FIRST, TARGETS, REST) for name in part)

    def listed(part: dict[str, str], lead: str) -> list[str]:
        return [f"  {lead} {name:<{width}}  {text}" for name, text in part.items()]

    return "\n".join(
        [
            "Frugal learns what is worth acquiring next, and measures whether to trust that.",
            "",
            "Commands, each with its own --help:",
            *listed(USED_FIRST, "python -m frugal"),
            "",
            "Workflows:",
            *listed(TARGETS, "snakemake --cores 2"),
            "",
            "More:",
            *listed(REST, "python -m frugal"),
            "",
            "With --private, or FRUGAL_PRIVATE=1, refusals show no cell of a table.",
            "Pages: README.md, docs/how-to/own_table.md, docs/tutorials/.",
            "",
            *textwrap.wrap(f"Stages: {', '.join(STAGES)}", width=100),
        ]
    )


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
    parts += [
        f"### {name}\n\n```text\n{help_of(name)}```\n" for name in COMMANDS if name not in _UNSHOWN
    ]
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
    module = import_module(f"frugal.run.{COMMANDS[command]}")
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
