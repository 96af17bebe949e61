"""The planner `cdp`: the shortest expected search that stops near-optimally."""

from frugal.search.planner import Planning, SearchPlanner
from frugal.search.planning.constrained import plan_constrained
from frugal.search.records import SearchPolicy


def plan(given: Planning, delta: float) -> SearchPolicy:
    """Constrained dynamic programming at a confidence parameter."""
    assert given.table is not None, "bug: it reads a model"
    assert given.statistic is not None, "bug: it reads a bound"
    return plan_constrained(
        given.table,
        given.statistic,
        delta=delta,
        alpha=given.options.alpha,
        stop_rule=given.stop_rule,
        ties=given.options.ties,
    )


CDP = SearchPlanner(
    name="cdp",
    place=10,
    label="CDP",
    look=("blue", "o", "-"),
    reads="bound",
    thresholds="deltas",
    plan=plan,
    doc="constrained dynamic programming: the shortest search that stops near-optimally",
)
