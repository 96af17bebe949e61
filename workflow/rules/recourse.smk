# Recourse: units with their cheapest actions and certificates, generators and what they are worth.

from frugal.studies.recourse.spec import load_recourse_study

try:
    RECOURSE = load_recourse_study(config, PROJECT)
except FrugalError as error:
    cannot_start(error)


wildcard_constraints:
    variant=r"[A-Za-z0-9_.-]+",
    subset=r"[A-Za-z0-9_.-]+",
    seed=r"[0-9]+",


rule label_units:
    input:
        unpack(located("labels", lambda w: RECOURSE.label_inputs(w.dataset, w.variant))),
    output:
        **audited(
            labels="results/recourse/dataset={dataset}/variant={variant}/seed={seed}/labels.parquet",
            instance="results/recourse/dataset={dataset}/variant={variant}/seed={seed}/instance.safetensors",
            names="results/recourse/dataset={dataset}/variant={variant}/seed={seed}/names.json",
        ),
    log:
        said="logs/label_units/dataset={dataset}/variant={variant}/seed={seed}.log",
        used="benchmarks/label_units/dataset={dataset}/variant={variant}/seed={seed}.jsonl",
    conda:
        "../../envs/core.yaml"
    resources:
        mem_mb=memory,
    params:
        **stage_params(
            "label_units", lambda w: RECOURSE.label_settings(w.dataset, w.variant)
        ),
    shell:
        run_stage("label_units")


rule answer_units:
    input:
        labels=rules.label_units.output.labels,
        instance=rules.label_units.output.instance,
        names=rules.label_units.output.names,
    output:
        **audited(
            outcomes="results/recourse/dataset={dataset}/variant={variant}/seed={seed}/subset={subset}/outcomes.parquet",
            training="results/recourse/dataset={dataset}/variant={variant}/seed={seed}/subset={subset}/training.parquet",
            augmentation="results/recourse/dataset={dataset}/variant={variant}/seed={seed}/subset={subset}/augmentation.parquet",
            unseen="results/recourse/dataset={dataset}/variant={variant}/seed={seed}/subset={subset}/unseen.json",
            generators="results/recourse/dataset={dataset}/variant={variant}/seed={seed}/subset={subset}/generators.safetensors",
        ),
    log:
        said="logs/answer_units/dataset={dataset}/variant={variant}/seed={seed}/subset={subset}.log",
        used="benchmarks/answer_units/dataset={dataset}/variant={variant}/seed={seed}/subset={subset}.jsonl",
    conda:
        "../../envs/core.yaml"
    resources:
        mem_mb=memory,
    params:
        **stage_params(
            "answer_units",
            lambda w: RECOURSE.answer_settings(w.dataset, w.variant, w.subset),
        ),
    shell:
        run_stage("answer_units")


rule summarise_recourse:
    input:
        outcomes=RECOURSE.outcome_files("outcomes.parquet"),
        labels=RECOURSE.label_files("labels.parquet"),
    output:
        **audited(
            summary="results/summary/recourse.parquet",
            groups="results/summary/recourse_groups.parquet",
            confidence="results/summary/recourse_confidence.parquet",
            frequencies="results/summary/recourse_frequencies.parquet",
            sizes="results/summary/recourse_sizes.parquet",
        ),
    log:
        said="logs/summarise_recourse.log",
        used="benchmarks/summarise_recourse.jsonl",
    conda:
        "../../envs/core.yaml"
    resources:
        mem_mb=memory,
    params:
        **stage_params(
            "summarise_recourse",
            {key: config["recourse"][key] for key in ("bins", "frequency_edges")},
        ),
    shell:
        run_stage("summarise_recourse")


rule check_recourse:
    input:
        summary=rules.summarise_recourse.output.summary,
        outcomes=RECOURSE.outcome_files("outcomes.parquet"),
        labels=RECOURSE.label_files("labels.parquet"),
    output:
        **audited(checks="results/checks/recourse.json"),
    log:
        said="logs/check_recourse.log",
        used="benchmarks/check_recourse.jsonl",
    conda:
        "../../envs/core.yaml"
    resources:
        mem_mb=memory,
    params:
        **stage_params("check_recourse", {"rows": RECOURSE.wanted_rows()}),
    shell:
        run_stage("check_recourse")


rule draw_recourse_figures:
    input:
        summary=rules.summarise_recourse.output.summary,
        sizes=rules.summarise_recourse.output.sizes,
        confidence=rules.summarise_recourse.output.confidence,
        frequencies=rules.summarise_recourse.output.frequencies,
        outcomes=RECOURSE.outcome_files("outcomes.parquet"),
    output:
        **figure_outputs(
            "draw_recourse_figures",
            "results/figures/study=recourse",
            "recourse: cheapest actions, proven and learnt",
            dataset=config["recourse"]["figures"]["dataset"],
        ),
    log:
        said="logs/draw_recourse_figures.log",
        used="benchmarks/draw_recourse_figures.jsonl",
    conda:
        "../../envs/core.yaml"
    resources:
        mem_mb=memory,
    params:
        **stage_params("draw_recourse_figures", config["recourse"]["figures"]),
    shell:
        run_stage("draw_recourse_figures")


rule recourse:
    """The cheapest sets of actions, and generators that learn them."""
    input:
        rules.summarise_recourse.output.summary,
        rules.check_recourse.output.checks,
        expand(
            "results/figures/study=recourse/{name}.png",
            name=figures_of("draw_recourse_figures"),
        ),
    localrule: True
