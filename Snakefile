# Entry of the workflow: reads and validates the config, includes the rules, names the targets.

from snakemake.utils import min_version

min_version("9.0")


report: "workflow/report/workflow.rst"


include: "workflow/rules/config.smk"


configfile: strict(f"{workflow.basedir}/config.yaml")


if config["scale"] == "paper":
    for name in ("", "_dadi", "_treatment", "_diagnosis", "_recourse"):
        if Path(f"{workflow.basedir}/config/paper{name}.yaml").is_file():

            configfile: strict(f"{workflow.basedir}/config/paper{name}.yaml")


if config["table"] is not None:

    configfile: strict(f"{workflow.basedir}/config/decide.yaml")

    include: "workflow/rules/own_table.smk"

    workdir: str(OWN_TABLE.folder)


if config["records"] is not None:

    include: "workflow/rules/own_records.smk"

    workdir: str(OWN_RECORDS.folder)


include: "workflow/rules/common.smk"
include: "workflow/rules/memory_common.smk"
include: "workflow/rules/data.smk"
include: "workflow/rules/missingness.smk"
include: "workflow/rules/models.smk"
include: "workflow/rules/agents.smk"
include: "workflow/rules/bundles.smk"
include: "workflow/rules/rollouts.smk"
include: "workflow/rules/nuisance.smk"
include: "workflow/rules/estimates.smk"
include: "workflow/rules/figures.smk"
include: "workflow/rules/grid.smk"
include: "workflow/rules/dadi.smk"
include: "workflow/rules/diagnosis_common.smk"
include: "workflow/rules/diagnosis.smk"
include: "workflow/rules/treatment.smk"
include: "workflow/rules/recourse.smk"
include: "workflow/rules/decide.smk"
include: "workflow/rules/search.smk"
include: "workflow/rules/audit.smk"
include: "workflow/rules/report.smk"
include: "workflow/rules/plan.smk"


rule all:
    default_target: True
    input:
        rules.afape.input,
        rules.grid.input,
        rules.dadi.input,
        rules.diagnosis.input,
        rules.treatment.input,
        rules.recourse.input,
    localrule: True


if config["table"] is not None:
    workflow.default_target = "decide"
if config["records"] is not None:
    workflow.default_target = "search"
