# What the page of the report is made of: its studies, its parts, the units it shows step by step.

from frugal.core.declarations import declared
from frugal.draw.explorer.assembly import template_digest

DADI_FOLD = config["dadi"]["folds"]["run"][0]
DADI_CASES = f"{DATASET}/fold={DADI_FOLD}"


def agent_words():
    """Agent → what its kind does, in a sentence."""
    kinds = declared("frugal.acquire.policies", "AgentKind")
    chosen = {name: agent["kind"] for name, agent in STUDY.agents.items()}
    return {
        name: f"Its kind, {kind}: {kinds[kind].literals['doc']}." for name, kind in chosen.items()
    }


def explored_studies():
    """The studies on the page; of the user's table or records over time its answer."""
    if own_target() == "over_time":
        return ["over_time"]
    return reported_studies() if config["table"] is None else ["decide"]


def explored_cases(study):
    """The files that hold units of a study step by step."""
    places = {
        "afape": [f"dataset={d}/mechanism={m}" for d, m in STUDY.scenario_names()],
        "diagnosis": [f"dataset={name}" for name in DIAGNOSIS.datasets()],
        "dadi": [f"dataset={name}" for name in DADI.datasets],
    }
    folder = f"{EXPLORED}/study={study}"
    return [f"{folder}/{place}/cases.json" for place in places.get(study, ())]


def report_parts(wildcards):
    """Every part of the page, by a name of its own."""
    if STORED:
        cannot_start(f"the report {READS_A_FOLDER}")
    sections = {}
    for study in explored_studies():
        sections[study] = f"{EXPLORED}/study={study}/section.json"
        for k, path in enumerate(explored_cases(study)):
            sections[f"{study}_{k}"] = path
    return sections


def diagnosis_cases_settings(wildcards):
    """Settings of `tell_diagnosis_cases`: the scenario's first criterion and seed."""
    scenario = DIAGNOSIS.scenario(wildcards.dataset)
    return {
        "units": config["report"]["units"],
        "criterion": scenario["criteria"][0],
        "seed": scenario["seeds"][0],
        "budget_shares": config["diagnosis"]["budget_shares"],
        "budget_share": config["diagnosis"]["figures"]["budget_share"],
    }


def diagnosis_cases_inputs(wildcards):
    """Scores, outcomes and decisions of all families of the scenario's first criterion and seed."""
    settings = diagnosis_cases_settings(wildcards)
    inputs = DIAGNOSIS.choice_inputs(
        wildcards.dataset, "all", settings["criterion"], str(settings["seed"])
    )
    logs = [path.replace("outcomes.parquet", "decisions.parquet") for path in inputs["outcomes"]]
    return DIAGNOSIS.table_inputs(wildcards.dataset) | inputs | {"decisions": logs}
