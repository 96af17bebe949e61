# Every policy is run on the records, on the full table, and on the imputed ones; each decision is a row.


rule roll_out:
    input:
        unpack(trained_policy),
        table=rules.prepare_data.output.table,
        catalogue=rules.prepare_data.output.catalogue,
        classifier=rules.fit_classifier.output.classifier,
        masks=rules.draw_missingness.output.masks,
        graph=rules.draw_missingness.output.graph,
        identification=rules.draw_missingness.output.identification,
        imputed=rules.impute_features.output.imputed,
        rounds=rules.impute_features.output.rounds,
    output:
        **audited(
            blocked="results/rollouts/dataset={dataset}/mechanism={mechanism}{seeds}/agent={agent}{rows}/blocked.parquet",
            worlds="results/rollouts/dataset={dataset}/mechanism={mechanism}{seeds}/agent={agent}{rows}/worlds.parquet",
            decisions="results/rollouts/dataset={dataset}/mechanism={mechanism}{seeds}/agent={agent}{rows}/decisions.parquet",
        ),
    log:
        said="logs/roll_out/dataset={dataset}/mechanism={mechanism}{seeds}/agent={agent}{rows}.log",
        used="benchmarks/roll_out/dataset={dataset}/mechanism={mechanism}{seeds}/agent={agent}{rows}.jsonl",
    conda:
        "../../envs/core.yaml"
    resources:
        mem_mb=memory,
    params:
        **stage_params("roll_out", lambda w: STUDY.agents[w.agent]),
    shell:
        run_stage("roll_out")
