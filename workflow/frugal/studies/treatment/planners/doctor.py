"""The planner `doctor`: imitation of the recorded treatments."""

from frugal.studies.treatment.data.records import SearchPolicy
from frugal.studies.treatment.planner import Planning, SearchPlanner
from frugal.studies.treatment.planning.observed import plan_emulated


def plan(planning: Planning, threshold: float) -> SearchPolicy:
    """The policy of the records."""
    options = planning.options
    return plan_emulated(
        planning.counts, outcome_value=options.outcome_value, memory_gib=options.memory_gib
    )


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
