"""Text of `python -m frugal --help`: commands, targets and stages, a line each."""

import ast
import re
import textwrap

from frugal.core.arguments import program
from frugal.core.declarations import PACKAGE
from frugal.core.studies import declared_by_studies
from frugal.results.sources import STAGES

USED_FIRST = {
    "decide TABLE --label COLUMN": "a table to an answer: panels to order, for whom, how sure",
    "init TABLE --label COLUMN": "the YAML of one's own table",
    "advise FOLDER CASES": "the next panel, or treatment, for each new case",
    "report FOLDER": "an answer that a command left, in words",
    "export FOLDER FILE": "a policy as SQL, rules in JSON, ONNX, or a form of REDCap",
    "audit": "whether results are unchanged since they were made",
    "diff A B": "which numbers moved between two runs, and why",
}
TARGETS = {
    "decide --config table=my.yaml": "own table: the best policy, its cost, its uncertainty",
    **{
        f"{name} --config records=…": target.literals["doc"]
        for name, target in declared_by_studies("targets", "RecordsTarget").items()
    },
    "plan": "CPU time and memory of a run, before it begins",
    "all report": "the embedded default of all studies",
}
REST = {
    "benchmark": "resources of the steps run, as a table",
    "claims": "every claim of the papers, and whether results still agree",
    "compile": "compile the kernels once",
    "config": "the whole config, every default written out",
    "describe": "a stored policy in words",
    "rocrate": "results described for archives, as a Workflow Run RO-Crate",
    "reference PAGE": "a page of reference: config, agents, methods, …",
    "STAGE --help": "one stage by hand, exactly as Snakemake runs it",
}

_SUMMARY = re.compile(r"`python -m frugal (.+)`: (.+)\.")


def study_commands() -> dict[str, str]:
    """Words of each study's command and what it gives, from the first line of its file."""
    files = sorted(PACKAGE.glob("studies/*/commands/[a-z]*.py"))
    docs = [ast.get_docstring(ast.parse(path.read_bytes())) or "" for path in files]
    return {summary[1]: summary[2] for doc in docs if (summary := _SUMMARY.match(doc))}


def start() -> str:
    """What one can do first, in ten lines."""
    commands = {
        "decide visits.csv --label pneumonia": "from a table with gaps to an answer",
        **study_commands(),
        "advise visits_answer new.csv": "the next panel for each new case",
        "--help": "all commands, workflows and stages",
    }
    width = max(map(len, commands))
    return "\n".join(
        [
            "Frugal learns which panel to acquire next, and whether to trust that.",
            *(f"  {program()} {words:<{width}}  {text}" for words, text in commands.items()),
            'From Python: frugal.decide(visits, "pneumonia", prices={…}, errors={…})',
            "As a workflow: snakemake --cores 2 decide --config table=visits.yaml",
        ]
    )


def overview() -> str:
    """All commands with a line each."""
    of_studies = study_commands()
    width = max(len(name) for part in (USED_FIRST, of_studies, TARGETS, REST) for name in part)

    def listed(part: dict[str, str], lead: str) -> list[str]:
        return [f"  {lead} {name:<{width}}  {text}" for name, text in part.items()]

    return "\n".join(
        [
            "Frugal learns which panel to acquire next, and whether to trust that.",
            "",
            "Commands, each with its own --help:",
            *listed(USED_FIRST | of_studies, program()),
            "",
            "Workflows:",
            *listed(TARGETS, "snakemake --cores 2"),
            "",
            "More:",
            *listed(REST, program()),
            "",
            "With --private, or FRUGAL_PRIVATE=1, refusals show no cell of a table.",
            "Pages: README.md, docs/how-to/own_table.md, docs/tutorials/.",
            "",
            *textwrap.wrap(f"Stages: {', '.join(STAGES)}", width=100),
        ]
    )
