"""What a run will take before it starts: the jobs of the config, each at its size.

The costs of the stages, and how they grow, ship with the project (config/costs.yaml). Knows jobs as
stage, wildcards and sizes; must not know what a stage computes, nor any engine.
"""

import argparse
import csv
import json
import math
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from frugal.core.errors import ConfigError, say
from frugal.core.schema_check import check_against_schema, read_yaml
from frugal.results.files import hive_keys
from frugal.run.arguments import command_parser, whole_number
from frugal.run.job_sizes import SIZES, Sizing, sizes_of

AMOUNTS = ("cpu_s", "memory_mb")
_AMOUNT = {"type": "number", "minimum": 0}
_GROWTH = {
    "type": "object",
    "required": ["start", "more"],
    "additionalProperties": False,
    "properties": {
        "start": _AMOUNT,
        "more": _AMOUNT,
        **dict.fromkeys(SIZES, _AMOUNT),
        "most_rows": {"type": "integer", "minimum": 1},
    },
}
_ENTRY = {
    "type": "object",
    "required": ["stage", *AMOUNTS],
    "additionalProperties": False,
    "properties": {
        "stage": {"type": "string"},
        "kind": {"type": "string"},
        **dict.fromkeys(AMOUNTS, _GROWTH),
    },
}
_POSITIVE = {"type": "number", "exclusiveMinimum": 0}
_SCHEMA = {
    "type": "object",
    "required": ["measured_on", "reference", "rows", "costs"],
    "additionalProperties": False,
    "properties": {
        "measured_on": {"type": "string"},
        "reference": {
            "type": "object",
            "required": [*SIZES],
            "additionalProperties": False,
            "properties": dict.fromkeys(SIZES, _POSITIVE),
        },
        "rows": {"type": "object", "additionalProperties": {"type": "integer", "minimum": 1}},
        "costs": {"type": "array", "minItems": 1, "items": _ENTRY},
    },
}
_MEMORY_MARGIN = 1.25


@dataclass(frozen=True)
class Job:
    """A job that will run: the stage, what tells it apart, and its sizes as far as they are told.

    Attributes:
        kind: which of the stage's several costs is its own; None where there is one.
    """

    stage: str
    keys: Mapping[str, str]
    sizes: Mapping[str, float] = field(default_factory=dict)
    kind: str | None = None


@dataclass(frozen=True)
class Costs:
    """What a stage takes, and how that grows.

        amount = start + more · Π (size / reference) ^ exponent

    An amount that has `most_rows` does not grow with more rows than that: memory of a stage that
    takes a table block by block.

    Attributes:
        entries: `stage`, `kind` where a stage has several, and start, more and exponents of each
            amount (`cpu_s`, `memory_mb`).
        reference: size at which `more` was taken, for each name of a size.
        rows: of data sets whose files do not tell them.
        measured_on: the machine.
    """

    entries: Sequence[Mapping[str, Any]]
    reference: Mapping[str, float]
    rows: Mapping[str, int]
    measured_on: str


@dataclass
class Plan:
    """What a set of jobs will take.

    Attributes:
        cpu_s: stage → CPU seconds of all its jobs.
        jobs: stage → number of jobs.
        memory_mb: stage → of its largest job.
        longest_s: of the longest job.
        guessed: stages with a job of a kind that was not measured, or of a size that is not told.
        unmeasured: stage → number of jobs that no measurement speaks of; not in `cpu_s`.
    """

    cpu_s: dict[str, float] = field(default_factory=dict)
    jobs: Counter[str] = field(default_factory=Counter)
    memory_mb: dict[str, float] = field(default_factory=dict)
    longest_s: float = 0.0
    guessed: set[str] = field(default_factory=set)
    unmeasured: Counter[str] = field(default_factory=Counter)


def load_costs(path: Path) -> Costs:
    """What the stages take.

    Raises:
        ConfigError: the file is not of the form of config/costs.yaml.
    """
    document = read_yaml(path)
    check_against_schema(document, _SCHEMA, where=str(path))
    reference = {name: float(size) for name, size in document["reference"].items()}
    return Costs(document["costs"], reference, document["rows"], document["measured_on"])


def sized(stage: str, keys: Mapping[str, str], sizings: Iterable[Sizing]) -> Job:
    """A job with the sizes that the config tells of it."""
    sizes, kind = sizes_of(stage, keys, sizings)
    return Job(stage, keys, sizes, kind)


def amount(cost: Mapping[str, Any], name: str, job: Job, reference: Mapping[str, float]) -> float:
    """CPU seconds or MB of one job; a size that is not told counts as that of the reference."""
    growth = cost[name]
    sizes = {**reference, **job.sizes}
    sizes["rows"] = min(sizes.get("rows", 0.0), growth.get("most_rows", math.inf))
    factors = (
        (sizes[size] / reference[size]) ** growth[size] for size in reference if size in growth
    )
    return float(growth["start"] + growth["more"] * math.prod(factors))


def planned(jobs: Iterable[Job], costs: Costs) -> Plan:
    """Sum up the jobs, each at its stage's cost, of its kind where the stage has several."""
    plan = Plan()
    for job in jobs:
        cost, guessed = cost_of(job, costs)
        if cost is None:
            plan.unmeasured[job.stage] += 1
            continue
        if guessed:
            plan.guessed.add(job.stage)
        cpu_s, memory_mb = (amount(cost, name, job, costs.reference) for name in AMOUNTS)
        plan.jobs[job.stage] += 1
        plan.cpu_s[job.stage] = plan.cpu_s.get(job.stage, 0.0) + cpu_s
        plan.memory_mb[job.stage] = max(plan.memory_mb.get(job.stage, 0), memory_mb)
        plan.longest_s = max(plan.longest_s, cpu_s)
    return plan


def stated_memory_mb(job: Job, costs: Costs) -> int:
    """Memory that a job is given: what `planned` takes for it, and a quarter more.

    Peaks of one job differ from run to run by up to 14 % (seen), as memory is given back sooner or
    later. A stage that no cost speaks of is given as much as the largest of all.
    """
    cost, _ = cost_of(job, costs)
    several = costs.entries if cost is None else [cost]
    largest = max(amount(each, "memory_mb", job, costs.reference) for each in several)
    return math.ceil(largest * _MEMORY_MARGIN)


def cost_of(job: Job, costs: Costs) -> tuple[Mapping[str, Any] | None, bool]:
    """The cost of a job's stage and kind, and whether it is a guess.

    Of a kind that was not measured the dearest of the stage's stands in. A size that the cost grows
    with and that is not told is that of the reference.
    """
    known = [cost for cost in costs.entries if cost["stage"] == job.stage]
    if not known:
        return None, True
    own = [cost for cost in known if cost.get("kind") in (None, job.kind)]
    cost = max(own or known, key=lambda each: amount(each, "cpu_s", job, costs.reference))
    grows = {size for name in AMOUNTS for size in cost[name] if cost[name][size]} & SIZES.keys()
    return cost, not own or not grows <= job.sizes.keys()


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


def jobs_of_summary(lines: Iterable[str], sizings: Sequence[Sizing]) -> list[Job]:
    """The jobs of an engine's table of outputs (tab-separated: output_file, …, rule, …, plan).

    Outputs of one job lie in the same `key=value` folders. Jobs that need not run are left out.
    Their sizes are those of `sizings`.

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
            job = sized(row["rule"], keys, sizings)
            found[row["rule"], tuple(sorted(keys.items()))] = job
    return list(found.values())


def _sizings(text: str) -> list[Sizing]:
    try:
        found = json.loads(text)
        return [
            {
                "stages": [str(stage) for stage in each["stages"]],
                "keys": {str(k): str(v) for k, v in each["keys"].items()},
                "sizes": {str(k): float(v) for k, v in each["sizes"].items()},
                "kind": each["kind"],
            }
            for each in found
        ]
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        raise argparse.ArgumentTypeError(f"{text[:50]!r} are no sizes of jobs") from None


def plan_command(words: list[str]) -> int:
    """`plan --costs FILE --sizes JSON --cores N`: reads a table of outputs, prints the plan.

    Raises:
        ConfigError: the costs or the table are not of their form.
    """
    parser = command_parser("plan", __doc__)
    parser.add_argument("--costs", type=Path, required=True)
    parser.add_argument("--sizes", type=_sizings, required=True, metavar="JSON")
    parser.add_argument("--cores", type=whole_number(1), required=True)
    parsed = parser.parse_args(words)
    costs = load_costs(parsed.costs)
    plan = planned(jobs_of_summary(sys.stdin, parsed.sizes), costs)
    say(*plan_lines(plan, cores=parsed.cores, measured_on=costs.measured_on))
    return 0
