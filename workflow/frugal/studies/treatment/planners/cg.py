"""The planner `cg`: the most promising trial next, until the search may stop."""

from frugal.studies.treatment.data.records import SearchPolicy
from frugal.studies.treatment.planner import Planning, SearchPlanner
from frugal.studies.treatment.planning.constrained import plan_greedy


def plan(planning: Planning, delta: float) -> SearchPolicy:
    """Constrained greedy search at a confidence parameter."""
    assert planning.table is not None, "bug: it reads a model"
    assert planning.statistic is not None, "bug: it reads a bound"
    return plan_greedy(
        planning.table,
        planning.statistic,
        delta=delta,
        alpha=planning.options.alpha,
        stop_rule=planning.stop_rule,
    )


CG = SearchPlanner(
    name="cg",
    place=20,
    label="CG",
    look=("vermillion", "s", "--"),
    reads="bound",
    thresholds="deltas",
    plan=plan,
    doc="constrained greedy: the most promising trial next, until the search may stop",
)
