# Propensities and outcome means, cross-fitted; all agents of a scenario in one job, in lock-step.


rule fit_nuisances:
    input:
        unpack(trained_policies),
        table=rules.prepare_data.output.table,
        catalogue=rules.prepare_data.output.catalogue,
        masks=rules.draw_missingness.output.masks,
        graph=rules.draw_missingness.output.graph,
        identification=rules.draw_missingness.output.identification,
        blocked=STUDY.rollout_files("blocked.parquet"),
    output:
        **audited(
            propensities="results/nuisances/dataset={dataset}/mechanism={mechanism}/propensities.parquet",
            agents="results/nuisances/dataset={dataset}/mechanism={mechanism}/agents.parquet",
            calibration="results/nuisances/dataset={dataset}/mechanism={mechanism}/calibration.parquet",
            overlap="results/nuisances/dataset={dataset}/mechanism={mechanism}/overlap.parquet",
            losses="results/nuisances/dataset={dataset}/mechanism={mechanism}/losses.parquet",
        ),
    log:
        said="logs/fit_nuisances/dataset={dataset}/mechanism={mechanism}.log",
        used="benchmarks/fit_nuisances/dataset={dataset}/mechanism={mechanism}.jsonl",
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
