"""Tables of the page of methods: the planners."""

from frugal.core.studies import MethodTable

PLANNERS = MethodTable(
    name="Planners",
    words="Words of `planners` in the grids of `treatment.scenarios`.",
    package="frugal.studies.treatment.planners",
    of="SearchPlanner",
    columns={
        "planner": "name",
        "in figures": "label",
        "description": "doc",
        "reads": "reads",
        "thresholds": "thresholds",
    },
)
