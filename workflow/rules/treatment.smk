# Treatment search: units and their tests, policies learned and played, the summary and its figures.


include: "treatment_common.smk"


rule prepare_searches:
    input:
        unpack(located("searches", lambda w: TREATMENT.raw_inputs(w.dataset))),
    output:
        **audited(
            units="results/searches/dataset={dataset}/units.parquet",
            catalogue="results/searches/dataset={dataset}/catalogue.json",
            searches="results/searches/dataset={dataset}/searches.parquet",
        ),
    log:
        said="logs/prepare_searches/dataset={dataset}.log",
        used="benchmarks/prepare_searches/dataset={dataset}.jsonl",
    conda:
        "../../envs/core.yaml"
    resources:
        mem_mb=memory,
    params:
        **stage_params(
            "prepare_searches", lambda w: TREATMENT.prepare_settings(w.dataset)
        ),
    shell:
        run_stage("prepare_searches")


rule compare_planners:
    input:
        unpack(located("compared", lambda w: TREATMENT.compare_inputs(w.dataset))),
    output:
        **audited(
            scores="results/policies/dataset={dataset}/scores.parquet",
            trials="results/policies/dataset={dataset}/trials.parquet",
            best_after="results/policies/dataset={dataset}/best_after.parquet",
            policies="results/policies/dataset={dataset}/policies.parquet",
        ),
    log:
        said="logs/compare_planners/dataset={dataset}.log",
        used="benchmarks/compare_planners/dataset={dataset}.jsonl",
    conda:
        "../../envs/core.yaml"
    resources:
        mem_mb=memory,
    params:
        **stage_params(
            "compare_planners", lambda w: TREATMENT.compare_settings(w.dataset)
        ),
    shell:
        run_stage("compare_planners")


# Outside results/: a measurement is not the same twice, and everything there must be.
rule time_planners:
    input:
        unpack(located("compared", lambda w: TREATMENT.compare_inputs(w.dataset))),
    output:
        **audited(timings="benchmarks/time_planners/dataset={dataset}/timings.parquet"),
    log:
        said="logs/time_planners/dataset={dataset}.log",
        used="benchmarks/time_planners/dataset={dataset}.jsonl",
    conda:
        "../../envs/core.yaml"
    resources:
        mem_mb=memory,
    params:
        **stage_params("time_planners", lambda w: TREATMENT.compare_settings(w.dataset)),
    shell:
        run_stage("time_planners")


rule summarise_treatment:
    input:
        scores=TREATMENT.files("results/policies/dataset={dataset}/scores.parquet"),
        best_after=TREATMENT.files(
            "results/policies/dataset={dataset}/best_after.parquet"
        ),
    output:
        **audited(
            repeats="results/summary/treatment_repeats.parquet",
            means="results/summary/treatment_means.parquet",
            curves="results/summary/treatment_curves.parquet",
        ),
    log:
        said="logs/summarise_treatment.log",
        used="benchmarks/summarise_treatment.jsonl",
    conda:
        "../../envs/core.yaml"
    resources:
        mem_mb=memory,
    params:
        **stage_params("summarise_treatment"),
    shell:
        run_stage("summarise_treatment")


# CPU seconds differ from run to run, so that no other step may read what has them
rule add_cpu_times:
    input:
        repeats=rules.summarise_treatment.output.repeats,
        timings=TREATMENT.files(
            "benchmarks/time_planners/dataset={dataset}/timings.parquet"
        ),
    output:
        **audited(summary="results/summary/treatment.parquet"),
    log:
        said="logs/add_cpu_times.log",
        used="benchmarks/add_cpu_times.jsonl",
    conda:
        "../../envs/core.yaml"
    resources:
        mem_mb=memory,
    params:
        **stage_params("add_cpu_times"),
    shell:
        run_stage("add_cpu_times")


rule check_treatment:
    input:
        repeats=rules.summarise_treatment.output.repeats,
        trials=TREATMENT.files("results/policies/dataset={dataset}/trials.parquet"),
    output:
        **audited(checks="results/checks/treatment.json"),
    log:
        said="logs/check_treatment.log",
        used="benchmarks/check_treatment.jsonl",
    conda:
        "../../envs/core.yaml"
    resources:
        mem_mb=memory,
    params:
        **stage_params("check_treatment", TREATMENT.check_settings()),
    shell:
        run_stage("check_treatment")


rule draw_world_figures:
    input:
        means=rules.summarise_treatment.output.means,
        policies=rules.compare_planners.output.policies,
    output:
        **treatment_figures("draw_world_figures", "drawn"),
    log:
        said="logs/draw_world_figures/dataset={dataset}.log",
        used="benchmarks/draw_world_figures/dataset={dataset}.jsonl",
    conda:
        "../../envs/core.yaml"
    resources:
        mem_mb=memory,
    params:
        **stage_params(
            "draw_world_figures", lambda w: TREATMENT.figure_settings(w.dataset)
        ),
    shell:
        run_stage("draw_world_figures")


rule draw_table_figures:
    input:
        means=rules.summarise_treatment.output.means,
        curves=rules.summarise_treatment.output.curves,
        policies=rules.compare_planners.output.policies,
        units=rules.prepare_searches.output.units,
        catalogue=rules.prepare_searches.output.catalogue,
    output:
        **treatment_figures("draw_table_figures", "read"),
    log:
        said="logs/draw_table_figures/dataset={dataset}.log",
        used="benchmarks/draw_table_figures/dataset={dataset}.jsonl",
    conda:
        "../../envs/core.yaml"
    resources:
        mem_mb=memory,
    params:
        **stage_params(
            "draw_table_figures", lambda w: TREATMENT.figure_settings(w.dataset)
        ),
    shell:
        run_stage("draw_table_figures")


rule treatment:
    """Which treatment to try next, and when to stop."""
    input:
        rules.add_cpu_times.output.summary,
        rules.check_treatment.output.checks,
        treatment_figure_files("png"),
    localrule: True
