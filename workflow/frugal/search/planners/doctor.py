"""The planner `doctor`: what was done before, imitated."""

from frugal.search.planner import Planning, SearchPlanner
from frugal.search.planning.observed import plan_emulated
from frugal.search.records import SearchPolicy


def plan(given: Planning, threshold: float) -> SearchPolicy:
    """The policy of the records."""
    del threshold
    own = given.options
    return plan_emulated(given.counts, outcome_value=own.outcome_value, memory_gib=own.memory_gib)


DOCTOR = SearchPlanner(
    name="doctor",
    place=40,
    label="emulated doctor",
    look=("grey", "D", ":"),
    reads="records",
    thresholds=None,
    plan=plan,
    doc="the policy of the records, imitated",
)
