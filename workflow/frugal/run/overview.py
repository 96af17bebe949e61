"""Text of `python -m frugal --help`: commands, targets and stages, a line each."""

import textwrap

from frugal.results.sources import STAGES
from frugal.run.arguments import program

USED_FIRST = {
    "decide TABLE --label COLUMN": "a table to an answer: panels to order, for whom, how sure",
    "init TABLE --label COLUMN": "the YAML of one's own table",
    "recourse UNITS ACTIONS": "the cheapest set of actions of every unit, proven",
    "advise POLICY CASES": "the next panel, or treatment, for each new case",
    "export POLICY FILE.onnx": "a policy as an ONNX graph",
    "audit": "whether results are unchanged since they were made",
    "diff A B": "which numbers moved between two runs, and why",
}
TARGETS = {
    "decide --config table=my.yaml": "own table: the best policy, its cost, its uncertainty",
    "search --config records=my.yaml": "own records: which treatment to try next",
    "over_time --config records=…": "records over time: when to measure again",
    "plan": "CPU time and memory of a run, before it begins",
    "all report": "the embedded default of all studies",
}
REST = {
    "benchmark": "resources of the steps run, as a table",
    "compile": "compile the kernels once",
    "config": "the whole config, every default written out",
    "describe": "a stored policy in words",
    "rocrate": "results described for archives, as a Workflow Run RO-Crate",
    "reference PAGE": "a page of reference: config, agents, methods, …",
    "STAGE --help": "one stage by hand, exactly as Snakemake runs it",
}


def start() -> str:
    """What one can do first, in ten lines."""
    commands = {
        "decide visits.csv --label pneumonia": "from a table with gaps to an answer",
        "advise visits_answer/policy new.csv": "the next panel for each new case",
        "recourse units.csv actions.csv": "the cheapest set of actions of every unit",
        "init visits.csv --label pneumonia": "a description of a table, to correct first",
        "--help": "all commands, workflows and stages",
    }
    width = max(map(len, commands))
    return "\n".join(
        [
            "Frugal learns which panel to acquire next, and whether to trust that.",
            "",
            *(f"  {program()} {words:<{width}}  {text}" for words, text in commands.items()),
            "",
            'From Python: frugal.decide(visits, "pneumonia", prices={…}, errors={…})',
            "As a workflow: snakemake --cores 2 decide --config table=visits.yaml",
        ]
    )


def overview() -> str:
    """All commands with a line each."""
    width = max(len(name) for part in (USED_FIRST, TARGETS, REST) for name in part)

    def listed(part: dict[str, str], lead: str) -> list[str]:
        return [f"  {lead} {name:<{width}}  {text}" for name, text in part.items()]

    return "\n".join(
        [
            "Frugal learns which panel to acquire next, and whether to trust that.",
            "",
            "Commands, each with its own --help:",
            *listed(USED_FIRST, program()),
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
