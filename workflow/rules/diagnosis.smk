# Diagnosis: encoders, fronts of learned policies, baselines, what each ordered and decided, the summary.

from frugal.studies.diagnosis.spec import load_diagnosis_study
from frugal.studies.diagnosis.spec import EVERY

DIAGNOSIS = checked(load_diagnosis_study, config, STUDY.descriptions)
DIAGNOSED = config["diagnosis"]
SHOWN = DIAGNOSED["figures"]
LEARNED = "|".join(DIAGNOSED["methods"])
CHOSEN_AMONG = "|".join([*DIAGNOSIS.families(), "baselines", "selection", EVERY])
CHOSEN = ("dataset", "family", "criterion", "seed", "budget")
JUDGED = "outcomes decisions scores"
SEED = "criterion={criterion}/seed={seed}"
CRITERION = f"{DATASET}/{SEED}"
ENCODER = f"{DATASET}/encoder={{encoder}}/seed={{seed}}"
FRONT = f"{DATASET}/family={{family}}/{SEED}"
TREES = f"{DATASET}/family={{trees}}/{SEED}"
RUN = f"{DATASET}/family={{run}}/{SEED}"
CHOICE = f"{FRONT}/budget={{budget}}"
PATIENT = f"{CHOICE}/row_id={{row_id}}"


wildcard_constraints:
    encoder=r"[A-Za-z0-9_.-]+",
    family="|".join(DIAGNOSIS.families()),
    trees="|".join(DIAGNOSIS.agent_families()) or "-",
    criterion="f1|am",
    group=r"[0-9]+",
    budget=r"[0-9.]+",
    row_id=r"[0-9]+",


use rule stage as train_encoder with:
    input:
        unpack(lambda w: DIAGNOSIS.table_inputs(w.dataset)),
    output:
        **audited(f"results/encoders/{ENCODER}", "encoder.safetensors validation"),
    params:
        settings=lambda w: dict(DIAGNOSED["encoders"][w.encoder]),


use rule stage as tabulate_states with:
    input:
        unpack(lambda w: DIAGNOSIS.table_inputs(w.dataset)),
        encoder=rules.train_encoder.output.encoder,
    output:
        **audited(f"results/encoders/{ENCODER}", "states.safetensors"),
    params:
        settings={"memory_gib": DIAGNOSED["memory_gib"]},


use rule stage as compare_imputers with:
    input:
        unpack(lambda w: DIAGNOSIS.table_inputs(w.dataset)),
    output:
        **audited(f"results/imputers/{DATASET}", "comparison"),
    params:
        settings=dict(DIAGNOSED["imputer_comparison"]),


use rule stage as train_front with:
    input:
        unpack(lambda w: DIAGNOSIS.completed_inputs(w.dataset, w.seed)),
    output:
        **audited(f"results/agents/{FRONT}/group={{group}}", "policies.safetensors curves"),
    wildcard_constraints:
        family=LEARNED,
    params:
        settings=lambda w: DIAGNOSIS.training_settings(w.family, w.criterion, int(w.group)),


use rule stage as roll_out_front with:
    input:
        unpack(lambda w: DIAGNOSIS.front_inputs(w.dataset, w.family, w.criterion, w.seed)),
    output:
        **audited(f"results/diagnoses/{FRONT}", JUDGED),
    wildcard_constraints:
        family=LEARNED,
    params:
        settings=lambda w: DIAGNOSIS.rollout_settings(w.family),


use rule stage as train_trees with:
    input:
        unpack(lambda w: DIAGNOSIS.table_inputs(w.dataset)),
    output:
        **audited(
            f"results/diagnoses/{TREES}",
            JUDGED,
            policies=f"results/agents/{TREES}/policies.safetensors",
            pooled=f"results/diagnoses/{TREES}/pooled.parquet",
        ),
    params:
        settings=lambda w: DIAGNOSIS.agent_settings(w.trees, w.criterion),


use rule stage as train_baselines with:
    input:
        unpack(lambda w: DIAGNOSIS.table_inputs(w.dataset)),
    output:
        **audited(f"results/diagnoses/{DATASET}/family=baselines/{SEED}", JUDGED),
    params:
        settings=lambda w: DIAGNOSIS.baseline_settings(w.dataset, w.criterion),


use rule stage as train_selection with:
    input:
        unpack(lambda w: DIAGNOSIS.selection_inputs(w.dataset, w.criterion, w.seed)),
    output:
        **audited(f"results/diagnoses/{DATASET}/family=selection/{SEED}", JUDGED),
    params:
        settings=lambda w: DIAGNOSIS.selection_settings(w.dataset, w.criterion),


use rule stage as apply_bayes_rule with:
    input:
        unpack(located(lambda w: DIAGNOSIS.described_inputs(w.dataset))),
    output:
        **audited(f"results/diagnoses/{DATASET}/family=bayes/{SEED}", JUDGED),
    params:
        settings=lambda w: {"criterion": w.criterion},


use rule stage as recount_diagnoses with:
    input:
        outcomes=f"results/diagnoses/{RUN}/outcomes.parquet",
        decisions=f"results/diagnoses/{RUN}/decisions.parquet",
    output:
        **audited(f"results/diagnoses/{RUN}", "recounted"),


use rule stage as summarise_diagnosis with:
    input:
        **DIAGNOSIS.summary_inputs(),
    output:
        **summarised("diagnosis", "summary hypervolumes budgets"),
    params:
        settings={"budget_shares": DIAGNOSED["budget_shares"]},


use rule stage as check_diagnosis with:
    input:
        **outputs_of(rules.summarise_diagnosis, "summary hypervolumes"),
        recounted=DIAGNOSIS.run_files("recounted.parquet"),
    output:
        **audited(checks="results/checks/diagnosis.json"),
    params:
        settings={"rows": DIAGNOSIS.wanted_rows()},


use rule stage as choose_policy with:
    input:
        unpack(lambda w: DIAGNOSIS.choice_inputs(w.dataset, w.family, w.criterion, w.seed)),
    output:
        **audited(
            choice=f"results/choices/{CHOICE}/choice.json",
            sentence=f"results/choices/{CHOICE}/choice.txt",
        ),
    wildcard_constraints:
        family=CHOSEN_AMONG,
    params:
        settings=lambda w: DIAGNOSIS.choice_settings(*map(w.get, CHOSEN)),


use rule stage as bundle_choice with:
    input:
        unpack(located(lambda w: DIAGNOSIS.bundle_inputs(*map(w.get, CHOSEN)))),
    output:
        **audited(f"results/bundles/{CHOICE}", "policy.safetensors cases.json"),
    wildcard_constraints:
        family=CHOSEN_AMONG,


rule chosen_bundle:
    """That policy as a folder for `advise`."""
    input:
        DIAGNOSIS.bundle_file(),
    localrule: True


rule choose:
    """The policy of `diagnosis` that is best within a budget."""
    input:
        DIAGNOSIS.chosen_file("choice.txt"),
    log:
        "logs/choose.log",
    localrule: True
    conda:
        "../../envs/core.yaml"
    resources:
        mem_mb=memory,
    shell:
        "cat {input:q} | tee {log:q}"


use rule stage as draw_patient with:
    input:
        unpack(lambda w: DIAGNOSIS.table_inputs(w.dataset)),
        scores=f"results/diagnoses/{FRONT}/scores.parquet",
        outcomes=f"results/diagnoses/{FRONT}/outcomes.parquet",
        decisions=f"results/diagnoses/{FRONT}/decisions.parquet",
    output:
        **audited(
            patient_png=f"results/patients/{PATIENT}/patient.png",
            patient_pdf=f"results/patients/{PATIENT}/patient.pdf",
            patient_table=f"results/patients/{PATIENT}/patient.parquet",
            patient_page=f"results/patients/{PATIENT}/patient.html",
        ),
    params:
        settings=lambda w: {
            "budget": float(w.budget),
            "score": w.criterion,
            "row_id": int(w.row_id),
        },


use rule stage as draw_diagnosis_figures with:
    input:
        unpack(lambda w: DIAGNOSIS.figure_inputs()),
        summary=rules.summarise_diagnosis.output.summary,
    output:
        **figure_outputs("draw_diagnosis_figures", "study=diagnosis", dataset=SHOWN["dataset"]),
    params:
        settings=DIAGNOSIS.figure_settings(),


use rule stage as draw_fronts with:
    input:
        unpack(lambda w: DIAGNOSIS.belief_inputs(w.dataset)),
        budgets=rules.summarise_diagnosis.output.budgets,
    output:
        **figure_outputs("draw_fronts", f"study=diagnosis/{DATASET}"),
    params:
        settings=lambda w: DIAGNOSIS.fronts_settings(w.dataset),


rule diagnosis:
    """Which panels to order, for every budget, when positives are rare."""
    input:
        rules.summarise_diagnosis.output.summary,
        rules.check_diagnosis.output.checks,
        DIAGNOSIS.comparison_files(),
        pictures("draw_diagnosis_figures", "study=diagnosis"),
        pictures("draw_fronts", f"study=diagnosis/{DATASET}", dataset=DIAGNOSIS.datasets()),
    localrule: True


PROMISED["diagnosis"] = rules.diagnosis.input

if not MODULE:
    CASES["diagnosis"] = [f"dataset={name}" for name in DIAGNOSIS.datasets()]

    use rule stage as explore_diagnosis with:
        input:
            **{f"cases_{k}": path for k, path in enumerate(cases_of("diagnosis"))},
            **outputs_of(rules.summarise_diagnosis, "summary budgets hypervolumes"),
            checks=rules.check_diagnosis.output.checks,
        output:
            **audited(f"{EXPLORED}/study=diagnosis", "section.json"),
        params:
            settings={
                "cost_units": {
                    name: DIAGNOSIS.descriptions[name].cost_unit for name in DIAGNOSIS.datasets()
                },
                "budget_share": config["diagnosis"]["figures"]["budget_share"],
            },

    use rule stage as show_diagnosis_cases with:
        input:
            unpack(lambda w: DIAGNOSIS.cases_inputs(w.dataset)),
        output:
            **audited(f"{EXPLORED}/study=diagnosis/{DATASET}", "cases.json"),
        params:
            settings=lambda w: DIAGNOSIS.cases_settings(w.dataset)
            | {"units": config["report"]["units"]},
