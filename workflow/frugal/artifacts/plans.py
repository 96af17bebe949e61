"""What a run will take before it starts: jobs of the config times measured unit costs.

The costs ship with the project (config/costs.yaml) or come from one's own benchmarks. Knows jobs as
stage and wildcards; must not know what a stage computes, nor any engine.
"""

import argparse
import csv
import math
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from frugal.artifacts.arguments import whole_number
from frugal.artifacts.files import hive_keys
from frugal.contracts import ConfigError
from frugal.data.schema_check import check_against_schema, read_yaml

_ENTRY = {
    "type": "object",
    "required": ["stage", "cpu_s", "memory_mb"],
    "additionalProperties": False,
    "properties": {
        "scale": {"enum": ["default", "paper"]},
        "stage": {"type": "string"},
        "dataset": {"type": "string"},
        "variant": {"type": "string"},
        "cpu_s": {"type": "number", "minimum": 0},
        "memory_mb": {"type": "number", "minimum": 0},
    },
}
_SCHEMA = {
    "type": "object",
    "required": ["measured_on", "costs"],
    "additionalProperties": False,
    "properties": {
        "measured_on": {"type": "string"},
        "costs": {"type": "array", "minItems": 1, "items": _ENTRY},
    },
}
_NUMBERS = {"cpu_s", "memory_mb"}
_MEMORY_MARGIN = 1.25


@dataclass(frozen=True)
class Job:
    """A job that will run: the stage, and what tells it apart."""

    stage: str
    keys: Mapping[str, str]


@dataclass
class Plan:
    """What a set of jobs will take.

    Attributes:
        cpu_s: stage → CPU seconds of all its jobs.
        jobs: stage → number of jobs.
        memory_mb: stage → of its largest job.
        longest_s: of the longest job.
        guessed: stages with a job whose data set has no measurement; their mean was taken.
        unmeasured: stage → number of jobs that no measurement speaks of; not in `cpu_s`.
    """

    cpu_s: dict[str, float] = field(default_factory=dict)
    jobs: Counter[str] = field(default_factory=Counter)
    memory_mb: dict[str, float] = field(default_factory=dict)
    longest_s: float = 0.0
    guessed: set[str] = field(default_factory=set)
    unmeasured: Counter[str] = field(default_factory=Counter)


def load_costs(path: Path) -> dict[str, Any]:
    """Unit costs and where they were measured.

    Raises:
        ConfigError: the file is not of the form of config/costs.yaml.
    """
    document = read_yaml(path)
    check_against_schema(document, _SCHEMA, where=str(path))
    return document


def planned(jobs: Iterable[Job], costs: Sequence[Mapping[str, Any]], *, scale: str) -> Plan:
    """Sum up the jobs, each at the measured cost that fits it best.

    A cost fits if all that it names is the job's; the one that names most is taken. Where none of
    the stage fits, one of the same data set at the other scale stands in (a study's own config
    brings the papers' tables and sizes, not their scale), else the mean of the stage's costs at
    that scale, and the most memory of any.
    """
    plan = Plan()
    by_stage: dict[str, list[Mapping[str, Any]]] = {}
    for cost in costs:
        by_stage.setdefault(cost["stage"], []).append(cost)
    for job in jobs:
        known = by_stage.get(job.stage)
        if known is None:
            plan.unmeasured[job.stage] += 1
            continue
        cost, guessed = _cost_of(job, known, scale)
        if guessed:
            plan.guessed.add(job.stage)
        plan.jobs[job.stage] += 1
        plan.cpu_s[job.stage] = plan.cpu_s.get(job.stage, 0.0) + cost["cpu_s"]
        plan.memory_mb[job.stage] = max(plan.memory_mb.get(job.stage, 0), cost["memory_mb"])
        plan.longest_s = max(plan.longest_s, cost["cpu_s"])
    return plan


def stated_memory_mb(job: Job, costs: Sequence[Mapping[str, Any]], *, scale: str) -> int:
    """Memory that a job is given: the cost that `planned` takes, and a quarter more.

    Peaks of one job differ from run to run by up to 14 % (seen), as memory is given back sooner or
    later. A stage that no cost speaks of is given as much as the largest of all.
    """
    known = [cost for cost in costs if cost["stage"] == job.stage]
    cost = _cost_of(job, known, scale)[0] if known else _typical(costs, scale)
    return math.ceil(cost["memory_mb"] * _MEMORY_MARGIN)


def _cost_of(
    job: Job, known: Sequence[Mapping[str, Any]], scale: str
) -> tuple[Mapping[str, Any], bool]:
    """The cost of its stage that fits a job best, and whether it is a guess."""
    own = {"scale": scale, "stage": job.stage, **job.keys}
    fitting = [cost for cost in known if _named(cost).items() <= own.items()]
    if fitting:
        return max(fitting, key=len), False
    alike = own.items() - {("scale", scale)}
    fitting = [c for c in known if "dataset" in c and _named(c, "scale").items() <= alike]
    return (max(fitting, key=len) if fitting else _typical(known, scale)), True


def _named(cost: Mapping[str, Any], *but: str) -> dict[str, Any]:
    """What a cost says of the jobs it is of."""
    return {key: cost[key] for key in cost.keys() - _NUMBERS - set(but)}


def _typical(known: Sequence[Mapping[str, Any]], scale: str) -> Mapping[str, Any]:
    """Mean CPU time and peak memory of a stage's costs, of those at this scale if there are any."""
    alike = [cost for cost in known if cost.get("scale", scale) == scale] or known
    mean = sum(cost["cpu_s"] for cost in alike) / len(alike)
    return {"cpu_s": mean, "memory_mb": max(cost["memory_mb"] for cost in alike)}


def _jobs(count: int) -> str:
    return f"{count} job" if count == 1 else f"{count} jobs"


def plan_lines(plan: Plan, *, cores: int, measured_on: str) -> Iterator[str]:
    """The plan in words: first the sum, then the stages, dearest first, then what is not known."""
    total, jobs = sum(plan.cpu_s.values()), sum(plan.jobs.values())
    if not jobs:
        yield "Plan: no job whose cost is known"
    else:
        least, left_out = max(total / cores, plan.longest_s), sum(plan.unmeasured.values())
        blank = f", {left_out} of them never measured and left out of the sums" if left_out else ""
        yield (
            f"Plan: {_jobs(jobs + left_out)}{blank}: {total / 3600:.2f} core-hours, "
            f"at least {least / 60:.0f} minutes on {cores} cores; the largest job takes "
            f"{max(plan.memory_mb.values()):.0f} MB, the longest "
            f"{plan.longest_s / 60:.0f} minutes (measured on {measured_on})"
        )
    for stage, cpu_s in sorted(plan.cpu_s.items(), key=lambda item: -item[1]):
        note = ", partly guessed" if stage in plan.guessed else ""
        yield (
            f"  {stage:<24}{_jobs(plan.jobs[stage]):>10}{cpu_s:>10.0f} CPU s"
            f"{plan.memory_mb[stage]:>8.0f} MB{note}"
        )
    if plan.unmeasured:
        names = ", ".join(f"{n} of {stage}" for stage, n in sorted(plan.unmeasured.items()))
        yield f"  not measured, so not in the sum: {names}"


def jobs_of_summary(lines: Iterable[str]) -> list[Job]:
    """The jobs of an engine's table of outputs (tab-separated: output_file, …, rule, …, plan).

    Outputs of one job lie in the same `key=value` folders. Jobs that need not run are left out.

    Raises:
        ConfigError: the lines are no such table.
    """
    try:
        reader = csv.DictReader(lines, delimiter="\t")
        names, rows = set(reader.fieldnames or ()), list(reader)
    except (csv.Error, UnicodeDecodeError):
        names, rows = set(), []
    if not {"output_file", "rule", "plan"} <= names:
        raise ConfigError(
            "the standard input is no table of outputs ('output_file', 'rule', 'plan')"
        )
    found = {}
    for row in rows:
        if row["plan"] == "update pending":
            keys = hive_keys(Path(row["output_file"]))
            found[row["rule"], tuple(sorted(keys.items()))] = Job(row["rule"], keys)
    return list(found.values())


def plan_command(words: list[str]) -> int:
    """`plan --costs FILE --scale SCALE --cores N`: reads a table of outputs, prints the plan.

    Raises:
        ConfigError: the costs or the table are not of their form.
    """
    parser = argparse.ArgumentParser(prog="python -m frugal plan", description=__doc__)
    parser.add_argument("--costs", type=Path, required=True)
    parser.add_argument("--scale", required=True, choices=_ENTRY["properties"]["scale"]["enum"])
    parser.add_argument("--cores", type=whole_number(1), required=True)
    parsed = parser.parse_args(words)
    costs = load_costs(parsed.costs)
    plan = planned(jobs_of_summary(sys.stdin), costs["costs"], scale=parsed.scale)
    print("\n".join(plan_lines(plan, cores=parsed.cores, measured_on=costs["measured_on"])))
    return 0
