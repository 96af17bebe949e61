# Recourse: units with their cheapest actions and certificates, generators and what they are worth.

from frugal.studies.recourse.spec import load_recourse_study

RECOURSE = checked(load_recourse_study, config, PROJECT)
PUBLISHED.append(RECOURSE.fetch_settings)
OUTSIDE.append(RECOURSE.outside_folders)

RECOURSE_FIGURES = config["recourse"]["figures"]
VARIANT = f"{DATASET}/variant={{variant}}/seed={{seed}}"
SUBSET = f"{VARIANT}/subset={{subset}}"


wildcard_constraints:
    variant=r"[A-Za-z0-9_.-]+",
    subset=r"[A-Za-z0-9_.-]+",
    seed=r"[0-9]+",


use rule stage as label_units with:
    input:
        unpack(located(lambda w: RECOURSE.label_inputs(w.dataset, w.variant))),
    output:
        **audited(f"results/recourse/{VARIANT}", "labels instance.safetensors names.json"),
    params:
        settings=lambda w: RECOURSE.label_settings(w.dataset, w.variant),


use rule stage as answer_units with:
    input:
        **outputs_of(rules.label_units, "labels instance names"),
    output:
        **audited(
            f"results/recourse/{SUBSET}",
            "outcomes training augmentation unseen.json generators.safetensors",
        ),
    params:
        settings=lambda w: RECOURSE.answer_settings(w.dataset, w.variant, w.subset),


use rule stage as summarise_recourse with:
    input:
        outcomes=RECOURSE.outcome_files("outcomes.parquet"),
        labels=RECOURSE.label_files("labels.parquet"),
    output:
        **summarised("recourse", "summary groups confidence frequencies sizes"),
    params:
        settings={key: config["recourse"][key] for key in ("bins", "frequency_edges")},


use rule stage as check_recourse with:
    input:
        summary=rules.summarise_recourse.output.summary,
        outcomes=RECOURSE.outcome_files("outcomes.parquet"),
        labels=RECOURSE.label_files("labels.parquet"),
    output:
        **audited(checks="results/checks/recourse.json"),
    params:
        settings={"rows": RECOURSE.wanted_rows()},


use rule stage as draw_recourse_figures with:
    input:
        **outputs_of(rules.summarise_recourse, "summary sizes confidence frequencies"),
        outcomes=RECOURSE.outcome_files("outcomes.parquet"),
    output:
        **figure_outputs(
            "draw_recourse_figures", "study=recourse", dataset=RECOURSE_FIGURES["dataset"]
        ),
    params:
        settings=RECOURSE_FIGURES,


rule recourse:
    """The cheapest sets of actions, and generators that learn them."""
    input:
        rules.summarise_recourse.output.summary,
        rules.check_recourse.output.checks,
        pictures("draw_recourse_figures", "study=recourse"),
    localrule: True


PROMISED["recourse"] = rules.recourse.input

if not MODULE:

    use rule stage as explore_recourse with:
        input:
            **outputs_of(rules.summarise_recourse, "summary groups confidence frequencies sizes"),
            checks=rules.check_recourse.output.checks,
        output:
            **audited(f"{EXPLORED}/study=recourse", "section.json"),
