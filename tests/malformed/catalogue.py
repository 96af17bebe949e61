"""Every malformed input, group by group."""

from tests.malformed import (
    commands,
    configs,
    descriptions,
    doors,
    downloads,
    new_cases,
    recourses,
    searches,
    starts,
    stored,
    tables,
)

CASES = [
    case
    for module in (
        configs,
        descriptions,
        tables,
        searches,
        recourses,
        stored,
        downloads,
        commands,
        doors,
        new_cases,
        starts,
    )
    for case in module.cases()
]
