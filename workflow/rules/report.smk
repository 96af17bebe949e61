# The report: what each study puts on it, some units of each step by step, and the page of all parts.


rule explore_afape:
    input:
        summary=rules.summarise_afape.output.summary,
        comparisons=rules.give_verdicts.output.comparisons,
        verdicts=rules.give_verdicts.output.verdicts,
        sensitivity=rules.give_verdicts.output.sensitivity,
        groups=rules.give_verdicts.output.groups,
        checks=rules.check_afape.output.checks,
    output:
        **audited(section=f"{EXPLORED}/study=afape/section.json"),
    log:
        said="logs/explore_afape.log",
        used="benchmarks/explore_afape.jsonl",
    conda:
        "../../envs/core.yaml"
    resources:
        mem_mb=memory,
    params:
        **stage_params(
            "explore_afape",
            {
                "cost_units": STUDY.cost_units(),
                "estimators": config["afape"]["figures"]["estimators"],
            },
        ),
    shell:
        run_stage("explore_afape")


if config["table"] is not None:

    rule explore_answer:
        input:
            **{
                name: rules.write_answer.input[name]
                for name in ("choice", "outcomes", "catalogue")
            },
        output:
            **audited(section=f"{EXPLORED}/study=decide/section.json"),
        log:
            said="logs/explore_answer.log",
            used="benchmarks/explore_answer.jsonl",
        conda:
            "../../envs/core.yaml"
        resources:
            mem_mb=memory,
        params:
            **stage_params("explore_answer", {"dataset": OWN_TABLE.dataset}),
        shell:
            run_stage("explore_answer")


rule tell_afape_cases:
    input:
        table=rules.prepare_data.output.table,
        catalogue=rules.prepare_data.output.catalogue,
        decisions=first_rollouts("decisions.parquet"),
        worlds=first_rollouts("worlds.parquet"),
        blocked=first_rollouts("blocked.parquet"),
    output:
        **audited(
            cases=f"{EXPLORED}/study=afape/dataset={{dataset}}/mechanism={{mechanism}}/cases.json",
        ),
    log:
        said="logs/tell_afape_cases/dataset={dataset}/mechanism={mechanism}.log",
        used="benchmarks/tell_afape_cases/dataset={dataset}/mechanism={mechanism}.jsonl",
    conda:
        "../../envs/core.yaml"
    resources:
        mem_mb=memory,
    params:
        **stage_params(
            "tell_afape_cases",
            {
                "units": config["report"]["units"],
                "seed": config["afape"]["seeds"][0],
                "kinds": agent_words(),
            },
        ),
    shell:
        run_stage("tell_afape_cases")


rule explore_diagnosis:
    input:
        **{f"cases_{k}": path for k, path in enumerate(explored_cases("diagnosis"))},
        summary=rules.summarise_diagnosis.output.summary,
        budgets=rules.summarise_diagnosis.output.budgets,
        hypervolumes=rules.summarise_diagnosis.output.hypervolumes,
        checks=rules.check_diagnosis.output.checks,
    output:
        **audited(section=f"{EXPLORED}/study=diagnosis/section.json"),
    log:
        said="logs/explore_diagnosis.log",
        used="benchmarks/explore_diagnosis.jsonl",
    conda:
        "../../envs/core.yaml"
    resources:
        mem_mb=memory,
    params:
        **stage_params(
            "explore_diagnosis",
            {
                "cost_units": {
                    name: DIAGNOSIS.descriptions[name].cost_unit
                    for name in DIAGNOSIS.datasets()
                },
                "budget_share": config["diagnosis"]["figures"]["budget_share"],
            },
        ),
    shell:
        run_stage("explore_diagnosis")


rule tell_diagnosis_cases:
    input:
        unpack(diagnosis_cases_inputs),
    output:
        **audited(cases=f"{EXPLORED}/study=diagnosis/dataset={{dataset}}/cases.json"),
    log:
        said="logs/tell_diagnosis_cases/dataset={dataset}.log",
        used="benchmarks/tell_diagnosis_cases/dataset={dataset}.jsonl",
    conda:
        "../../envs/core.yaml"
    resources:
        mem_mb=memory,
    params:
        **stage_params("tell_diagnosis_cases", diagnosis_cases_settings),
    shell:
        run_stage("tell_diagnosis_cases")


rule explore_dadi:
    input:
        summary=rules.summarise_dadi.output.summary,
        means=rules.summarise_dadi.output.means,
        least_disparity=rules.summarise_dadi.output.least_disparity,
        selection=rules.summarise_dadi.output.selection,
        singles=rules.summarise_dadi.output.singles,
        audit=rules.summarise_dadi.output.audit,
        checks=rules.check_dadi.output.checks,
    output:
        **audited(section=f"{EXPLORED}/study=dadi/section.json"),
    log:
        said="logs/explore_dadi.log",
        used="benchmarks/explore_dadi.jsonl",
    conda:
        "../../envs/core.yaml"
    resources:
        mem_mb=memory,
    params:
        **stage_params("explore_dadi"),
    shell:
        run_stage("explore_dadi")


rule tell_dadi_cases:
    input:
        table=rules.prepare_data.output.table,
        catalogue=rules.prepare_data.output.catalogue,
        decisions=f"results/dadi/{DADI_CASES}/decisions.parquet",
        outcomes=f"results/dadi/{DADI_CASES}/outcomes.parquet",
    output:
        **audited(cases=f"{EXPLORED}/study=dadi/dataset={{dataset}}/cases.json"),
    log:
        said="logs/tell_dadi_cases/dataset={dataset}.log",
        used="benchmarks/tell_dadi_cases/dataset={dataset}.jsonl",
    conda:
        "../../envs/core.yaml"
    resources:
        mem_mb=memory,
    params:
        **stage_params(
            "tell_dadi_cases", {"units": config["report"]["units"], "fold": DADI_FOLD}
        ),
    shell:
        run_stage("tell_dadi_cases")


rule explore_treatment:
    input:
        means=rules.summarise_treatment.output.means,
        curves=rules.summarise_treatment.output.curves,
        checks=rules.check_treatment.output.checks,
    output:
        **audited(section=f"{EXPLORED}/study=treatment/section.json"),
    log:
        said="logs/explore_treatment.log",
        used="benchmarks/explore_treatment.jsonl",
    conda:
        "../../envs/core.yaml"
    resources:
        mem_mb=memory,
    params:
        **stage_params("explore_treatment"),
    shell:
        run_stage("explore_treatment")


rule explore_recourse:
    input:
        summary=rules.summarise_recourse.output.summary,
        groups=rules.summarise_recourse.output.groups,
        confidence=rules.summarise_recourse.output.confidence,
        frequencies=rules.summarise_recourse.output.frequencies,
        sizes=rules.summarise_recourse.output.sizes,
        checks=rules.check_recourse.output.checks,
    output:
        **audited(section=f"{EXPLORED}/study=recourse/section.json"),
    log:
        said="logs/explore_recourse.log",
        used="benchmarks/explore_recourse.jsonl",
    conda:
        "../../envs/core.yaml"
    resources:
        mem_mb=memory,
    params:
        **stage_params("explore_recourse"),
    shell:
        run_stage("explore_recourse")


rule write_report:
    input:
        unpack(report_parts),
    output:
        **audited(report="results/report.html"),
    log:
        said="logs/write_report.log",
        used="benchmarks/write_report.jsonl",
    conda:
        "../../envs/core.yaml"
    resources:
        mem_mb=memory,
    params:
        **stage_params("write_report", {"template": template_digest()}),
    shell:
        run_stage("write_report")


rule report:
    """results/report.html: the answers first, one file, offline."""
    input:
        rules.write_report.output.report,
    localrule: True


# Snakemake's own page is made beside results/, and put in place with its sidecar once it is whole.
rule snakemake_report:
    """Snakemake's own report, in results/snakemake_report.html."""
    input:
        reported_files,
    output:
        **audited(report="results/snakemake_report.html"),
    log:
        "logs/snakemake_report.log",
    localrule: True
    conda:
        "../../envs/core.yaml"
    resources:
        mem_mb=memory,
    params:
        page=".snakemake/report.html",
        arguments=lambda w: engine_arguments(reported_studies()),
        seed=config["seed"],
        source=source_digest("keep_report"),
    shell:
        "python -m snakemake --report {params.page:q} {params.arguments} > {log:q} 2>&1 && "
        + in_place(
            f"python -m frugal keep_report --input page={LOGS}{{params.page:q}}"
            f" --output report=results/snakemake_report.html --seed {{params.seed:q}}"
            f" 2>> {LOGS}{{log:q}}"
        )
