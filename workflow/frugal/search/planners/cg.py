"""The planner `cg`: the most promising trial next, until the search may stop."""

from frugal.search.planner import Planning, SearchPlanner
from frugal.search.planning.constrained import plan_greedy
from frugal.search.records import SearchPolicy


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
