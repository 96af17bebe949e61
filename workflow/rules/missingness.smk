# Retrospective missingness: drawn once per data set and mechanism, for all seeds.


rule draw_missingness:
    input:
        table=rules.prepare_data.output.table,
        catalogue=rules.prepare_data.output.catalogue,
    output:
        **audited(
            masks="results/missingness/dataset={dataset}/mechanism={mechanism}/masks.parquet",
            graph="results/missingness/dataset={dataset}/mechanism={mechanism}/graph.json",
            identification="results/missingness/dataset={dataset}/mechanism={mechanism}/identification.json",
        ),
    log:
        said="logs/draw_missingness/dataset={dataset}/mechanism={mechanism}.log",
        used="benchmarks/draw_missingness/dataset={dataset}/mechanism={mechanism}.jsonl",
    conda:
        "../../envs/core.yaml"
    resources:
        mem_mb=memory,
    params:
        **stage_params(
            "draw_missingness",
            lambda w: STUDY.missingness_settings(w.dataset, w.mechanism),
        ),
    shell:
        run_stage("draw_missingness")


rule impute_features:
    input:
        table=rules.prepare_data.output.table,
        catalogue=rules.prepare_data.output.catalogue,
        masks=rules.draw_missingness.output.masks,
    output:
        **audited(
            imputed="results/imputations/dataset={dataset}/mechanism={mechanism}{seeds}/imputed.parquet",
            rounds="results/imputations/dataset={dataset}/mechanism={mechanism}{seeds}/rounds.parquet",
        ),
    log:
        said="logs/impute_features/dataset={dataset}/mechanism={mechanism}{seeds}.log",
        used="benchmarks/impute_features/dataset={dataset}/mechanism={mechanism}{seeds}.jsonl",
    conda:
        "../../envs/core.yaml"
    resources:
        mem_mb=memory,
    params:
        **stage_params("impute_features", config["afape"]["imputation"]),
    shell:
        run_stage("impute_features")
