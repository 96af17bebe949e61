"""The planner `cdp`: the shortest expected search that stops near-optimally."""

from frugal.studies.treatment.data.records import SearchPolicy
from frugal.studies.treatment.planner import Planning, SearchPlanner
from frugal.studies.treatment.planning.constrained import plan_constrained


def plan(planning: Planning, delta: float) -> SearchPolicy:
    """Constrained dynamic programming at a confidence parameter."""
    assert planning.table is not None, "bug: it reads a model"
    assert planning.statistic is not None, "bug: it reads a bound"
    return plan_constrained(
        planning.table,
        planning.statistic,
        delta=delta,
        alpha=planning.options.alpha,
        stop_rule=planning.stop_rule,
        ties=planning.options.ties,
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
