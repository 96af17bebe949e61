# Diagnosis: encoders, fronts of learned policies, baselines, what each ordered and said, the summary.


wildcard_constraints:
    encoder=r"[A-Za-z0-9_.-]+",
    family="|".join(DIAGNOSIS.families()),
    trees="|".join(DIAGNOSIS.tree_families()) or "-",
    criterion="f1|am",
    group=r"[0-9]+",
    budget=r"[0-9.]+",
    row_id=r"[0-9]+",


rule train_encoder:
    input:
        unpack(lambda w: DIAGNOSIS.table_inputs(w.dataset)),
    output:
        **audited(
            encoder="results/encoders/dataset={dataset}/encoder={encoder}/seed={seed}/encoder.safetensors",
            validation="results/encoders/dataset={dataset}/encoder={encoder}/seed={seed}/validation.parquet",
        ),
    log:
        said="logs/train_encoder/dataset={dataset}/encoder={encoder}/seed={seed}.log",
        used="benchmarks/train_encoder/dataset={dataset}/encoder={encoder}/seed={seed}.jsonl",
    conda:
        "../../envs/core.yaml"
    resources:
        mem_mb=memory,
    params:
        **stage_params(
            "train_encoder", lambda w: dict(config["diagnosis"]["encoders"][w.encoder])
        ),
    shell:
        run_stage("train_encoder")


rule tabulate_states:
    input:
        unpack(lambda w: DIAGNOSIS.table_inputs(w.dataset)),
        encoder=rules.train_encoder.output.encoder,
    output:
        **audited(
            states="results/encoders/dataset={dataset}/encoder={encoder}/seed={seed}/states.safetensors",
        ),
    log:
        said="logs/tabulate_states/dataset={dataset}/encoder={encoder}/seed={seed}.log",
        used="benchmarks/tabulate_states/dataset={dataset}/encoder={encoder}/seed={seed}.jsonl",
    conda:
        "../../envs/core.yaml"
    resources:
        mem_mb=memory,
    params:
        **stage_params(
            "tabulate_states", {"memory_gib": config["diagnosis"]["memory_gib"]}
        ),
    shell:
        run_stage("tabulate_states")


rule compare_imputers:
    input:
        unpack(lambda w: DIAGNOSIS.table_inputs(w.dataset)),
    output:
        **audited(comparison="results/imputers/dataset={dataset}/comparison.parquet"),
    log:
        said="logs/compare_imputers/dataset={dataset}.log",
        used="benchmarks/compare_imputers/dataset={dataset}.jsonl",
    conda:
        "../../envs/core.yaml"
    resources:
        mem_mb=memory,
    params:
        **stage_params(
            "compare_imputers", dict(config["diagnosis"]["imputer_comparison"])
        ),
    shell:
        run_stage("compare_imputers")


rule train_front:
    input:
        unpack(lambda w: DIAGNOSIS.completed_inputs(w.dataset, w.seed)),
    output:
        **audited(
            policies=f"results/agents/{FRONT}/group={{group}}/policies.safetensors",
            curves=f"results/agents/{FRONT}/group={{group}}/curves.parquet",
        ),
    log:
        said=f"logs/train_front/{FRONT}/group={{group}}.log",
        used=f"benchmarks/train_front/{FRONT}/group={{group}}.jsonl",
    wildcard_constraints:
        family="|".join(config["diagnosis"]["methods"]),
    conda:
        "../../envs/core.yaml"
    resources:
        mem_mb=memory,
    params:
        **stage_params(
            "train_front",
            lambda w: DIAGNOSIS.training_settings(w.family, w.criterion, int(w.group)),
        ),
    shell:
        run_stage("train_front")


rule roll_out_front:
    input:
        unpack(
            lambda w: DIAGNOSIS.front_inputs(w.dataset, w.family, w.criterion, w.seed)
        ),
    output:
        **diagnosed("{family}"),
    log:
        said=f"logs/roll_out_front/{FRONT}.log",
        used=f"benchmarks/roll_out_front/{FRONT}.jsonl",
    wildcard_constraints:
        family="|".join(config["diagnosis"]["methods"]),
    conda:
        "../../envs/core.yaml"
    resources:
        mem_mb=memory,
    params:
        **stage_params("roll_out_front", lambda w: DIAGNOSIS.rollout_settings(w.family)),
    shell:
        run_stage("roll_out_front")


rule train_trees:
    input:
        unpack(lambda w: DIAGNOSIS.table_inputs(w.dataset)),
    output:
        **diagnosed("{trees}"),
        **audited(
            policies="results/agents/dataset={dataset}/family={trees}/criterion={criterion}/seed={seed}/policies.safetensors",
            pooled="results/diagnoses/dataset={dataset}/family={trees}/criterion={criterion}/seed={seed}/pooled.parquet",
        ),
    log:
        said="logs/train_trees/dataset={dataset}/family={trees}/criterion={criterion}/seed={seed}.log",
        used="benchmarks/train_trees/dataset={dataset}/family={trees}/criterion={criterion}/seed={seed}.jsonl",
    conda:
        "../../envs/core.yaml"
    resources:
        mem_mb=memory,
    params:
        **stage_params(
            "train_trees", lambda w: DIAGNOSIS.tree_settings(w.trees, w.criterion)
        ),
    shell:
        run_stage("train_trees")


rule train_baselines:
    input:
        unpack(lambda w: DIAGNOSIS.table_inputs(w.dataset)),
    output:
        **diagnosed("baselines"),
    log:
        said="logs/train_baselines/dataset={dataset}/criterion={criterion}/seed={seed}.log",
        used="benchmarks/train_baselines/dataset={dataset}/criterion={criterion}/seed={seed}.jsonl",
    conda:
        "../../envs/core.yaml"
    resources:
        mem_mb=memory,
    params:
        **stage_params(
            "train_baselines",
            lambda w: DIAGNOSIS.baseline_settings(w.dataset, w.criterion),
        ),
    shell:
        run_stage("train_baselines")


rule train_selection:
    input:
        unpack(lambda w: DIAGNOSIS.selection_inputs(w.dataset, w.criterion, w.seed)),
    output:
        **diagnosed("selection"),
    log:
        said="logs/train_selection/dataset={dataset}/criterion={criterion}/seed={seed}.log",
        used="benchmarks/train_selection/dataset={dataset}/criterion={criterion}/seed={seed}.jsonl",
    conda:
        "../../envs/core.yaml"
    resources:
        mem_mb=memory,
    params:
        **stage_params(
            "train_selection",
            lambda w: DIAGNOSIS.selection_settings(w.dataset, w.criterion),
        ),
    shell:
        run_stage("train_selection")


rule apply_bayes_rule:
    input:
        unpack(
            located("described_table", lambda w: DIAGNOSIS.described_inputs(w.dataset))
        ),
    output:
        **diagnosed("bayes"),
    log:
        said="logs/apply_bayes_rule/dataset={dataset}/criterion={criterion}/seed={seed}.log",
        used="benchmarks/apply_bayes_rule/dataset={dataset}/criterion={criterion}/seed={seed}.jsonl",
    conda:
        "../../envs/core.yaml"
    resources:
        mem_mb=memory,
    params:
        **stage_params("apply_bayes_rule", lambda w: {"criterion": w.criterion}),
    shell:
        run_stage("apply_bayes_rule")


rule recount_diagnoses:
    input:
        outcomes="results/diagnoses/dataset={dataset}/family={run}/criterion={criterion}/seed={seed}/outcomes.parquet",
        decisions="results/diagnoses/dataset={dataset}/family={run}/criterion={criterion}/seed={seed}/decisions.parquet",
    output:
        **audited(
            recounted="results/diagnoses/dataset={dataset}/family={run}/criterion={criterion}/seed={seed}/recounted.parquet",
        ),
    log:
        said="logs/recount_diagnoses/dataset={dataset}/family={run}/criterion={criterion}/seed={seed}.log",
        used="benchmarks/recount_diagnoses/dataset={dataset}/family={run}/criterion={criterion}/seed={seed}.jsonl",
    conda:
        "../../envs/core.yaml"
    resources:
        mem_mb=memory,
    params:
        **stage_params("recount_diagnoses"),
    shell:
        run_stage("recount_diagnoses")


rule summarise_diagnosis:
    input:
        **DIAGNOSIS.summary_inputs(),
    output:
        **audited(
            summary="results/summary/diagnosis.parquet",
            hypervolumes="results/summary/diagnosis_hypervolumes.parquet",
            budgets="results/summary/diagnosis_budgets.parquet",
        ),
    log:
        said="logs/summarise_diagnosis.log",
        used="benchmarks/summarise_diagnosis.jsonl",
    conda:
        "../../envs/core.yaml"
    resources:
        mem_mb=memory,
    params:
        **stage_params(
            "summarise_diagnosis",
            {"budget_shares": config["diagnosis"]["budget_shares"]},
        ),
    shell:
        run_stage("summarise_diagnosis")


rule check_diagnosis:
    input:
        summary=rules.summarise_diagnosis.output.summary,
        hypervolumes=rules.summarise_diagnosis.output.hypervolumes,
        recounted=DIAGNOSIS.run_files("recounted.parquet"),
    output:
        **audited(checks="results/checks/diagnosis.json"),
    log:
        said="logs/check_diagnosis.log",
        used="benchmarks/check_diagnosis.jsonl",
    conda:
        "../../envs/core.yaml"
    resources:
        mem_mb=memory,
    params:
        **stage_params("check_diagnosis", {"rows": DIAGNOSIS.wanted_rows()}),
    shell:
        run_stage("check_diagnosis")


rule choose_policy:
    input:
        unpack(
            lambda w: DIAGNOSIS.choice_inputs(w.dataset, w.family, w.criterion, w.seed)
        ),
    output:
        **audited(
            choice=f"results/choices/{FRONT}/budget={{budget}}/choice.json",
            sentence=f"results/choices/{FRONT}/budget={{budget}}/choice.txt",
        ),
    log:
        said=f"logs/choose_policy/{FRONT}/budget={{budget}}.log",
        used=f"benchmarks/choose_policy/{FRONT}/budget={{budget}}.jsonl",
    wildcard_constraints:
        family="|".join([*DIAGNOSIS.families(), *CHOSEN_AMONG]),
    conda:
        "../../envs/core.yaml"
    resources:
        mem_mb=memory,
    params:
        **stage_params(
            "choose_policy",
            lambda w: DIAGNOSIS.choice_settings(
                w.dataset, w.family, w.criterion, w.seed, w.budget
            ),
        ),
    shell:
        run_stage("choose_policy")


rule bundle_choice:
    input:
        unpack(
            located(
                "choice",
                lambda w: DIAGNOSIS.bundle_inputs(
                    w.dataset, w.family, w.criterion, w.seed, w.budget
                ),
            )
        ),
    output:
        **audited(
            policy=f"results/bundles/{FRONT}/budget={{budget}}/policy.safetensors",
            cases=f"results/bundles/{FRONT}/budget={{budget}}/cases.json",
        ),
    log:
        said=f"logs/bundle_choice/{FRONT}/budget={{budget}}.log",
        used=f"benchmarks/bundle_choice/{FRONT}/budget={{budget}}.jsonl",
    wildcard_constraints:
        family="|".join([*DIAGNOSIS.families(), *CHOSEN_AMONG]),
    conda:
        "../../envs/core.yaml"
    resources:
        mem_mb=memory,
    params:
        **stage_params("bundle_choice"),
    shell:
        run_stage("bundle_choice")


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


rule draw_patient:
    input:
        unpack(lambda w: DIAGNOSIS.table_inputs(w.dataset)),
        scores=f"results/diagnoses/{FRONT}/scores.parquet",
        outcomes=f"results/diagnoses/{FRONT}/outcomes.parquet",
        decisions=f"results/diagnoses/{FRONT}/decisions.parquet",
    output:
        **audited(
            patient_png=f"results/patients/{FRONT}/budget={{budget}}/row_id={{row_id}}/patient.png",
            patient_pdf=f"results/patients/{FRONT}/budget={{budget}}/row_id={{row_id}}/patient.pdf",
            patient_table=f"results/patients/{FRONT}/budget={{budget}}/row_id={{row_id}}/patient.parquet",
            patient_page=f"results/patients/{FRONT}/budget={{budget}}/row_id={{row_id}}/patient.html",
        ),
    log:
        said=f"logs/draw_patient/{FRONT}/budget={{budget}}/row_id={{row_id}}.log",
        used=f"benchmarks/draw_patient/{FRONT}/budget={{budget}}/row_id={{row_id}}.jsonl",
    conda:
        "../../envs/core.yaml"
    resources:
        mem_mb=memory,
    params:
        **stage_params(
            "draw_patient",
            lambda w: {
                "budget": float(w.budget),
                "score": w.criterion,
                "row_id": int(w.row_id),
            },
        ),
    shell:
        run_stage("draw_patient")


rule draw_diagnosis_figures:
    input:
        unpack(lambda w: DIAGNOSIS.figure_inputs()),
        summary=rules.summarise_diagnosis.output.summary,
    output:
        **figure_outputs(
            "draw_diagnosis_figures",
            "results/figures/study=diagnosis",
            "diagnosis: which panels to order, for every budget",
            dataset=config["diagnosis"]["figures"]["dataset"],
        ),
    log:
        said="logs/draw_diagnosis_figures.log",
        used="benchmarks/draw_diagnosis_figures.jsonl",
    conda:
        "../../envs/core.yaml"
    resources:
        mem_mb=memory,
    params:
        **stage_params("draw_diagnosis_figures", DIAGNOSIS.figure_settings()),
    shell:
        run_stage("draw_diagnosis_figures")


rule draw_fronts:
    input:
        unpack(lambda w: DIAGNOSIS.belief_inputs(w.dataset)),
        budgets=rules.summarise_diagnosis.output.budgets,
    output:
        **figure_outputs(
            "draw_fronts",
            "results/figures/study=diagnosis/dataset={dataset}",
            "diagnosis: which panels to order, for every budget",
            dataset="{dataset}",
        ),
    log:
        said="logs/draw_fronts/dataset={dataset}.log",
        used="benchmarks/draw_fronts/dataset={dataset}.jsonl",
    conda:
        "../../envs/core.yaml"
    resources:
        mem_mb=memory,
    params:
        **stage_params("draw_fronts", lambda w: DIAGNOSIS.fronts_settings(w.dataset)),
    shell:
        run_stage("draw_fronts")


rule diagnosis:
    """Which panels to order, for every budget, when positives are rare."""
    input:
        rules.summarise_diagnosis.output.summary,
        rules.check_diagnosis.output.checks,
        DIAGNOSIS.comparison_files(),
        expand(
            "results/figures/study=diagnosis/{name}.png",
            name=figures_of("draw_diagnosis_figures"),
        ),
        expand(
            "results/figures/study=diagnosis/dataset={dataset}/{name}.png",
            dataset=DIAGNOSIS.datasets(),
            name=figures_of("draw_fronts"),
        ),
    localrule: True
