"""Memory and time of a run before it starts: those measured of each step, once per job.

The table is config/costs.yaml. Knows jobs as steps; must not know stages, nor any engine.
"""

import csv
import math
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated

from annotated_types import Ge, Gt

from frugal.config.blocks import Block, setting
from frugal.core.arguments import command_parser, whole_number
from frugal.core.errors import ConfigError, say
from frugal.core.schema_check import read_yaml
from frugal.results.files import hive_keys

# Peaks of one job differ from run to run by up to 14 %, as memory is given back sooner or later.
_MEMORY_MARGIN = 1.25

_Amount = Annotated[float, Gt(0)]
_Whole = Annotated[int, Ge(1)]


class Amounts(Block):
    """Measured of a job of a step: MB at its peak, CPU seconds."""

    mb: _Amount
    cpu_s: _Amount


class Cost(Amounts):
    """And the minutes to ask a cluster for, unless those of the others do."""

    minutes: _Whole | None = None


class OthersCost(Amounts):
    """The same of steps that the table lacks; its minutes are those of lines without any."""

    minutes: _Whole


class Costs(Block):
    """The table: steps, all others, rows of data sets whose files do not show them, the machine."""

    measured_on: str
    rows: dict[str, _Whole] = setting({})
    others: OthersCost
    steps: dict[str, Cost]

    def job(self, step: str) -> Cost | OthersCost:
        """That of a job of a step."""
        return self.steps.get(step, self.others)

    def stated_mb(self, step: str, attempt: int = 1) -> int:
        """Memory that a job is given: a quarter more than measured, doubled at each new attempt."""
        return math.ceil(self.job(step).mb * _MEMORY_MARGIN) * 2 ** (attempt - 1)

    def stated_minutes(self, step: str, attempt: int = 1) -> int:
        """Run time that a job is given on a cluster, doubled likewise."""
        return (self.job(step).minutes or self.others.minutes) * 2 ** (attempt - 1)


def load_costs(path: Path) -> Costs:
    """The table of a file.

    Raises:
        ConfigError: the file is not of the form of config/costs.yaml.
    """
    return Costs.read(read_yaml(path), where=str(path))


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}{'s' * (count != 1)}"


def _time(seconds: float) -> str:
    """A time in minutes, or in seconds where it is less than two minutes."""
    if seconds < 120:
        return _counted(max(1, round(seconds)), "second")
    return _counted(round(seconds / 60), "minute")


def plan_lines(jobs: Counter[str], *, cores: int, costs: Costs) -> Iterator[str]:
    """The plan in words: first the sum, then the steps, the longest first.

    Args:
        jobs: step → how many will run.
        cores: that run them.
        costs: of each.
    """
    if not jobs:
        yield "Plan: no job has to run"
        return
    cpu_s = {step: count * costs.job(step).cpu_s for step, count in jobs.items()}
    longest = max(costs.job(step).cpu_s for step in jobs)
    total, largest = sum(cpu_s.values()), max(costs.job(step).mb for step in jobs)
    yield (
        f"Plan: {_counted(jobs.total(), 'job')}: {total / 3600:.2f} core-hours, "
        f"at least {_time(max(total / cores, longest))} on {_counted(cores, 'core')}; the largest "
        f"job takes {largest:.0f} MB, the longest {_time(longest)} (measured at the default's "
        f"sizes on {costs.measured_on})"
    )
    for step in sorted(jobs, key=lambda step: -cpu_s[step]):
        note = "" if step in costs.steps else ", never measured"
        yield (
            f"  {step:<24}{_counted(jobs[step], 'job'):>10}{cpu_s[step]:>10.0f} CPU s"
            f"{costs.job(step).mb:>8.0f} MB{note}"
        )


def jobs_of_summary(lines: Iterable[str]) -> Counter[str]:
    """Jobs of each step in an engine's table of outputs (tabs: output_file, …, rule, …, plan).

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
    pending = [row for row in rows if row["plan"] == "update pending"]
    jobs = {(row["rule"], *sorted(hive_keys(Path(row["output_file"])).items())) for row in pending}
    return Counter(step for step, *_ in jobs)


def plan_command(words: list[str]) -> int:
    """`plan --costs FILE --cores N`: reads a table of outputs, prints the plan.

    Raises:
        ConfigError: the costs or the table are not of their form.
    """
    parser = command_parser("plan", __doc__)
    parser.add_argument("--costs", type=Path, required=True)
    parser.add_argument("--cores", type=whole_number(1), required=True)
    parsed = parser.parse_args(words)
    costs = load_costs(parsed.costs)
    say(*plan_lines(jobs_of_summary(sys.stdin), cores=parsed.cores, costs=costs))
    return 0
