# What the page of the report is made of: its studies and its parts.

from frugal.draw.explorer.assembly import template_digest


def explored_studies():
    """The studies on the page; of the user's table or records over time its answer."""
    if own_target() == "over_time":
        return ["over_time"]
    if config["table"] is not None:
        return ["decide"]
    return [study for study in reported_studies() if workflow.is_rule(f"explore_{study}")]


def report_parts(wildcards):
    """Every part of the page, by a name of its own."""
    if STORED:
        cannot_start(f"the report {READS_A_FOLDER}")
    sections = {}
    for study in explored_studies():
        sections[study] = f"{EXPLORED}/study={study}/section.json"
        for k, path in enumerate(cases_of(study)):
            sections[f"{study}_{k}"] = path
    return sections
