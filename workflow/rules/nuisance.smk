# Propensities and outcome means, cross-fitted; all agents of a scenario in one job, in lock-step.


rule fit_nuisances:
    input:
        unpack(trained_policies),
        table=rules.prepare_data.output.table,
        catalogue=rules.prepare_data.output.catalogue,
        masks=rules.draw_missingness.output.masks,
        graph=rules.draw_missingness.output.graph,
        identification=rules.draw_missingness.output.identification,
        blocked=rollouts("blocked.parquet"),
    output:
        **audited(
            propensities="results/nuisances/dataset={dataset}/mechanism={mechanism}{seeds}/propensities.parquet",
            agents="results/nuisances/dataset={dataset}/mechanism={mechanism}{seeds}/agents.parquet",
            calibration="results/nuisances/dataset={dataset}/mechanism={mechanism}{seeds}/calibration.parquet",
            overlap="results/nuisances/dataset={dataset}/mechanism={mechanism}{seeds}/overlap.parquet",
            losses="results/nuisances/dataset={dataset}/mechanism={mechanism}{seeds}/losses.parquet",
        ),
    log:
        said="logs/fit_nuisances/dataset={dataset}/mechanism={mechanism}{seeds}.log",
        used="benchmarks/fit_nuisances/dataset={dataset}/mechanism={mechanism}{seeds}.jsonl",
    conda:
        "../../envs/core.yaml"
    resources:
        mem_mb=memory,
    params:
        **stage_params(
            "fit_nuisances", lambda w: STUDY.nuisance_settings(w.dataset, w.mechanism)
        ),
    shell:
        run_stage("fit_nuisances")
