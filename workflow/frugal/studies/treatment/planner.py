"""Interface of planners of treatment searches; a file of `planners/` declares each.

Knows no planner.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from jaxtyping import Float64

from frugal.core.declarations import declared, load_literals, load_one
from frugal.core.errors import ConfigError
from frugal.studies.treatment.data.records import OutcomeTable, SearchPolicy
from frugal.studies.treatment.models.outcome_counts import OutcomeCounts

Reads = Literal["bound", "model", "records"]


@dataclass(frozen=True, eq=False)
class Planning:
    """Inputs of a planner, as far as it declares them.

    Attributes:
        options: of the comparison; see `ComparisonOptions`.
        counts: of the records.
        table: model of the outcomes; None for planners that read records alone.
        statistic: a bound on the stopping statistic; None for those that read none. (x, h)
        stop_rule: `<=` or `<`, by that bound.
    """

    options: Any
    counts: OutcomeCounts
    table: OutcomeTable | None = None
    statistic: Float64[np.ndarray, "x h"] | None = None
    stop_rule: str = ""


@dataclass(frozen=True, eq=False)
class SearchPlanner:
    """A planner, declared in a file of `planners/` that bears its name.

    Attributes:
        name: in tables and in the config.
        place: tables and figures list planners by this number.
        label: in figures and on pages.
        look: colour, by its word in `draw.style`; marker and stroke of matplotlib.
        reads: "bound": a model of the outcomes and a bound on the stopping statistic; "model": the
            model; "records": counts of treatments and outcomes by history.
        thresholds: key of a grid that lists its thresholds; None if it has none.
        plan: (its input, threshold) → policy.
        doc: a line for the pages.
        may_try_nothing: True where a search may end before its first trial.
    """

    name: str
    place: int
    label: str
    look: tuple[str, str, str]
    reads: Reads
    thresholds: str | None
    plan: Callable[[Planning, float], SearchPolicy]
    doc: str
    may_try_nothing: bool = False


def planners_of(names: Iterable[str]) -> Mapping[str, SearchPlanner]:
    """The planners of these names, in the order in which tables list them.

    Raises:
        ConfigError: there is no such planner.
    """
    planners = declared("frugal.studies.treatment.planners", "SearchPlanner")
    for name in names:
        if name not in planners:
            raise ConfigError(
                f"a comparison names the planner {name!r}; allowed are {', '.join(planners)}"
            )
    declared_planners = [
        load_one("frugal.studies.treatment.planners", "SearchPlanner", name) for name in names
    ]
    return {
        planner.name: planner
        for planner in sorted(declared_planners, key=lambda planner: planner.place)
    }


def planners_with(argument: str, value: str | None) -> list[str]:
    """Names of the planners whose declaration has that value of an argument."""
    declarations = load_literals("frugal.studies.treatment.planners", "SearchPlanner")
    return [name for name, arguments in declarations.items() if arguments[argument] == value]
