# Every policy is run on the records, on the full table, and on the imputed ones; each decision is a row.


rule roll_out:
    input:
        unpack(trained_policy),
        table="results/data/dataset={dataset}/table.parquet",
        catalogue="results/data/dataset={dataset}/catalogue.json",
        classifier="results/classifiers/dataset={dataset}/classifier.safetensors",
        masks="results/missingness/dataset={dataset}/mechanism={mechanism}/masks.parquet",
        graph="results/missingness/dataset={dataset}/mechanism={mechanism}/graph.json",
        identification="results/missingness/dataset={dataset}/mechanism={mechanism}/identification.json",
        imputed="results/imputations/dataset={dataset}/mechanism={mechanism}/imputed.parquet",
        rounds="results/imputations/dataset={dataset}/mechanism={mechanism}/rounds.parquet",
    output:
        **audited(
            blocked="results/rollouts/dataset={dataset}/mechanism={mechanism}/agent={agent}/blocked.parquet",
            worlds="results/rollouts/dataset={dataset}/mechanism={mechanism}/agent={agent}/worlds.parquet",
            decisions="results/rollouts/dataset={dataset}/mechanism={mechanism}/agent={agent}/decisions.parquet",
        ),
    log:
        said="logs/roll_out/dataset={dataset}/mechanism={mechanism}/agent={agent}.log",
        used="benchmarks/roll_out/dataset={dataset}/mechanism={mechanism}/agent={agent}.jsonl",
    conda:
        "../../envs/core.yaml"
    resources:
        mem_mb=memory,
    params:
        **stage_params("roll_out", lambda w: STUDY.agents[w.agent]),
    shell:
        run_stage("roll_out")
