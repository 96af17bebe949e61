"""The planner `cg`: the most promising trial next, until the search may stop."""

from frugal.search.planner import Planning, SearchPlanner
from frugal.search.planning.constrained import plan_greedy
from frugal.search.records import SearchPolicy


def plan(given: Planning, delta: float) -> SearchPolicy:
    """Constrained greedy search at a confidence parameter."""
    assert given.table is not None, "bug: it reads a model"
    assert given.statistic is not None, "bug: it reads a bound"
    return plan_greedy(
        given.table,
        given.statistic,
        delta=delta,
        alpha=given.options.alpha,
        stop_rule=given.stop_rule,
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
