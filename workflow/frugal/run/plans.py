"""Resources of a run before it starts: the jobs of the config, each at its size.

Measured jobs ship with the project (config/costs.yaml); between them amounts are interpolated.
Knows jobs as stage, wildcards and sizes; must not know stages, nor any engine.
"""

import argparse
import csv
import json
import math
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

from frugal.core.blocks import BLOCK_ROWS
from frugal.core.errors import ConfigError, say
from frugal.core.schema_check import check_against_schema, read_yaml
from frugal.results.files import hive_keys
from frugal.run.arguments import command_parser, whole_number
from frugal.run.job_sizes import SIZES, Sizing, sizes_of

AMOUNTS = ("cpu_s", "memory_mb")
KIND = "kind"
_POSITIVE = {"type": "number", "exclusiveMinimum": 0}
_AMOUNTS = {
    "type": "object",
    "required": [*AMOUNTS],
    "additionalProperties": False,
    "properties": dict.fromkeys(AMOUNTS, _POSITIVE),
}
_STAGE = {
    "type": "object",
    "required": ["by", "jobs"],
    "additionalProperties": False,
    "properties": {
        "by": {"type": "array", "items": {"enum": [KIND, *SIZES]}},
        "blocks": {"type": "boolean"},
        "jobs": {"type": "array", "minItems": 1, "items": {"type": "array"}},
    },
}
_SCHEMA = {
    "type": "object",
    "required": ["measured_on", "start", "unmeasured", "rows", "stages"],
    "additionalProperties": False,
    "properties": {
        "measured_on": {"type": "string"},
        "start": _AMOUNTS,
        "unmeasured": _AMOUNTS,
        "rows": {"type": "object", "additionalProperties": {"type": "integer", "minimum": 1}},
        "stages": {"type": "object", "additionalProperties": _STAGE},
    },
}
_MEMORY_MARGIN = 1.25
_ALIKE = 4.0  # between sizes of jobs of one data set
# How memory grows with a size, as a power of it; CPU time grows in proportion to each
_MEMORY_GROWS = {
    "rows": 1.0,
    "columns": 0.5,
    "panels": 0.5,
    "seeds": 0.5,
    "policies": 0.5,
    "steps": 0.0,
}


@dataclass(frozen=True)
class PlannedJob:
    """A job: the stage, its wildcards, its sizes as far as they are known, and its kind."""

    stage: str
    keys: Mapping[str, str]
    sizes: Mapping[str, float] = field(default_factory=dict)
    kind: str | None = None


@dataclass(frozen=True)
class Measured:
    """A measured job: its data set, kind and sizes, as far as they matter, and its resources."""

    dataset: str | None
    kind: str | None
    sizes: Mapping[str, float]
    amounts: Mapping[str, float]


@dataclass(frozen=True)
class Costs:
    """Resources of measured jobs.

    Attributes:
        stages: stage → its measured jobs.
        blocks: stages that take a table block by block: memory stays when rows are more than one.
        start: resources of a job of any size: Python and its imports.
        unmeasured: assumed resources of a job of an unmeasured stage.
        rows: of data sets whose files do not show them.
        measured_on: the machine.
    """

    stages: Mapping[str, Sequence[Measured]]
    blocks: frozenset[str]
    start: Mapping[str, float]
    unmeasured: Mapping[str, float]
    rows: Mapping[str, int]
    measured_on: str


@dataclass
class Plan:
    """Predicted resources of a set of jobs.

    Attributes:
        cpu_s: stage → CPU seconds of all its jobs.
        jobs: stage → number of jobs.
        memory_mb: stage → of its largest job.
        longest_s: of the longest job.
        guessed: stages with a job of a kind that was not measured, or of an unknown size.
        unmeasured: stages that were never measured.
    """

    cpu_s: dict[str, float] = field(default_factory=dict)
    jobs: Counter[str] = field(default_factory=Counter)
    memory_mb: dict[str, float] = field(default_factory=dict)
    longest_s: float = 0.0
    guessed: set[str] = field(default_factory=set)
    unmeasured: set[str] = field(default_factory=set)


def load_costs(path: Path) -> Costs:
    """The measured jobs of all stages.

    Raises:
        ConfigError: the file is not of the form of config/costs.yaml.
    """
    document = read_yaml(path)
    check_against_schema(document, _SCHEMA, where=str(path))
    stages = {
        stage: [_measured(row, entry["by"], f"{path}: a job of {stage}") for row in entry["jobs"]]
        for stage, entry in document["stages"].items()
    }
    start, unmeasured = (
        {n: float(document[key][n]) for n in AMOUNTS} for key in ("start", "unmeasured")
    )
    return Costs(
        stages,
        frozenset(name for name, entry in document["stages"].items() if entry.get("blocks")),
        start,
        unmeasured,
        document["rows"],
        document["measured_on"],
    )


def _measured(row: Sequence[Any], by: Sequence[str], where: str) -> Measured:
    """A line of the table: data set, the value of `by`, CPU seconds and MB."""
    columns = ["dataset", *by, *AMOUNTS]
    named = dict(zip(columns, row, strict=False))
    texts = {key: named.pop(key, None) for key in ("dataset", KIND)}
    numbers = [value for value in named.values() if type(value) in (int, float) and value > 0]
    if len(row) != len(columns) or len(numbers) != len(named):
        raise ConfigError(
            f"{where} is {list(row)}; allowed are {', '.join(columns)}, numbers above 0"
        )
    amounts = {name: float(named.pop(name)) for name in AMOUNTS}
    sizes = {name: float(size) for name, size in named.items()}
    return Measured(texts["dataset"], texts[KIND], sizes, amounts)


def sized(stage: str, keys: Mapping[str, str], sizings: Iterable[Sizing]) -> PlannedJob:
    """A job with its sizes by the config."""
    return PlannedJob(stage, keys, *sizes_of(keys, sizings))


def amount(job: PlannedJob, name: str, costs: Costs) -> float:
    """CPU seconds or MB of one job: of its kind, or of the most expensive one of its stage."""
    measured = costs.stages.get(job.stage)
    if not measured:
        return costs.unmeasured[name]
    kinds: dict[str | None, list[Measured]] = {}
    for each in measured:
        kinds.setdefault(each.kind, []).append(each)
    chosen = [kinds[job.kind]] if job.kind in kinds else kinds.values()
    return max(_interpolated(job, name, of_kind, costs) for of_kind in chosen)


def _interpolated(job: PlannedJob, name: str, measured: Sequence[Measured], costs: Costs) -> float:
    """An amount at a job's size, between measured jobs.

    Those of the same data set count alone where the job is at most `_ALIKE` times as large or as
    small: a name does not make a table the one that was measured. The logarithm of the amount is
    linear in that of the size, the product of all sizes. Beyond the measured sizes the excess over
    the least amount grows in proportion; of a single size, the excess over the start.
    """
    same_dataset = [each for each in measured if each.dataset == job.keys.get("dataset", "")]
    for chosen in (same_dataset, measured):
        points = _points(chosen, job, name, costs)
        target = _size(job.sizes, (same_dataset or measured)[0], name, job, costs)
        if points and points[0][0] / _ALIKE <= target <= points[-1][0] * _ALIKE:
            break
    for (size, value), (larger, most) in pairwise(points):
        if size <= target <= larger:
            share = math.log(target / size) / math.log(larger / size)
            return value ** (1 - share) * most**share
    size, value = points[0] if target < points[0][0] else points[-1]
    start = costs.start[name] if len(points) == 1 else min(amount for _, amount in points)
    return min(start, value) + (value - min(start, value)) * target / size


def _points(
    measured: Sequence[Measured], job: PlannedJob, name: str, costs: Costs
) -> list[tuple[float, float]]:
    """Sizes in rising order with their amount: the mean CPU time, the largest memory."""
    at: dict[float, list[float]] = {}
    for each in measured:
        at.setdefault(_size(each.sizes, each, name, job, costs), []).append(each.amounts[name])
    typical = max if name == "memory_mb" else lambda values: sum(values) / len(values)
    return sorted((size, typical(values)) for size, values in at.items())


def _size(
    sizes: Mapping[str, float], like: Measured, name: str, job: PlannedJob, costs: Costs
) -> float:
    """The product of those sizes that matter; an unknown one counts as that of `like`."""
    named = {key: sizes.get(key, size) for key, size in like.sizes.items()}
    if name == "cpu_s":
        return math.prod(named.values(), start=1.0)
    if job.stage in costs.blocks and "rows" in named:
        named["rows"] = min(named["rows"], BLOCK_ROWS)
    return math.prod((size ** _MEMORY_GROWS[key] for key, size in named.items()), start=1.0)


def planned(jobs: Iterable[PlannedJob], costs: Costs) -> Plan:
    """The sum of the jobs, each at its size."""
    plan = Plan()
    for job in jobs:
        cpu_s, memory_mb = (amount(job, name, costs) for name in AMOUNTS)
        measured = costs.stages.get(job.stage, ())
        kinds = {each.kind for each in measured}
        if not measured:
            plan.unmeasured.add(job.stage)
        elif not kinds & {None, job.kind} or not measured[0].sizes.keys() <= job.sizes.keys():
            plan.guessed.add(job.stage)
        plan.jobs[job.stage] += 1
        plan.cpu_s[job.stage] = plan.cpu_s.get(job.stage, 0.0) + cpu_s
        plan.memory_mb[job.stage] = max(plan.memory_mb.get(job.stage, 0), memory_mb)
        plan.longest_s = max(plan.longest_s, cpu_s)
    return plan


def stated_memory_mb(job: PlannedJob, costs: Costs, attempt: int = 1) -> int:
    """Memory that a job is given: a quarter more than planned, twice as much at each new attempt.

    Peaks of one job differ from run to run by up to 14 %, as memory is given back sooner or later.
    """
    return math.ceil(amount(job, "memory_mb", costs) * _MEMORY_MARGIN) * 2 ** (attempt - 1)


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}{'s' * (count != 1)}"


def _time(seconds: float) -> str:
    """A time in minutes, or in seconds where it is less than two minutes."""
    if seconds < 120:
        return _counted(max(1, round(seconds)), "second")
    return _counted(round(seconds / 60), "minute")


def plan_lines(plan: Plan, *, cores: int, costs: Costs) -> Iterator[str]:
    """The plan in words: first the sum, then the stages, the longest first."""
    total, jobs = sum(plan.cpu_s.values()), sum(plan.jobs.values())
    if not jobs:
        yield "Plan: no job has to run"
        return
    least = max(total / cores, plan.longest_s)
    yield (
        f"Plan: {_counted(jobs, 'job')}: {total / 3600:.2f} core-hours, "
        f"at least {_time(least)} on {_counted(cores, 'core')}; the largest job takes "
        f"{max(plan.memory_mb.values()):.0f} MB, the longest {_time(plan.longest_s)} (measured on "
        f"{costs.measured_on})"
    )
    for stage, cpu_s in sorted(plan.cpu_s.items(), key=lambda item: -item[1]):
        note = ", partly guessed" if stage in plan.guessed else ""
        note = ", never measured" if stage in plan.unmeasured else note
        yield (
            f"  {stage:<24}{_counted(plan.jobs[stage], 'job'):>10}{cpu_s:>10.0f} CPU s"
            f"{plan.memory_mb[stage]:>8.0f} MB{note}"
        )
    if plan.unmeasured:
        cpu_s, memory_mb = (costs.unmeasured[name] for name in AMOUNTS)
        yield (
            f"  never measured: {', '.join(sorted(plan.unmeasured))}; each job is supposed to take "
            f"{cpu_s:g} CPU s and {memory_mb:g} MB"
        )


def jobs_of_summary(lines: Iterable[str], sizings: Sequence[Sizing]) -> list[PlannedJob]:
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
    jobs = {}
    for row in rows:
        if row["plan"] == "update pending":
            keys = hive_keys(Path(row["output_file"]))
            jobs[row["rule"], tuple(sorted(keys.items()))] = sized(row["rule"], keys, sizings)
    return list(jobs.values())


def _sizings(text: str) -> list[Sizing]:
    try:
        return [
            {
                "keys": {str(k): str(v) for k, v in each["keys"].items()},
                "sizes": {str(k): float(v) for k, v in each["sizes"].items()},
                "kind": each["kind"],
            }
            for each in json.loads(text)
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
    say(*plan_lines(plan, cores=parsed.cores, costs=costs))
    return 0
