# What each policy would cost, by every estimator, from the same stored rollouts.


rule estimate_costs:
    input:
        table=rules.prepare_data.output.table,
        catalogue=rules.prepare_data.output.catalogue,
        masks=rules.draw_missingness.output.masks,
        graph=rules.draw_missingness.output.graph,
        identification=rules.draw_missingness.output.identification,
        blocked=rollouts("blocked.parquet"),
        worlds=rollouts("worlds.parquet"),
        propensities=rules.fit_nuisances.output.propensities,
        agents=rules.fit_nuisances.output.agents,
    output:
        **audited(
            estimates="results/estimates/dataset={dataset}/mechanism={mechanism}{seeds}/estimates.parquet",
            resamples="results/estimates/dataset={dataset}/mechanism={mechanism}{seeds}/resamples.parquet",
            convergence="results/estimates/dataset={dataset}/mechanism={mechanism}{seeds}/convergence.parquet",
            frequencies="results/estimates/dataset={dataset}/mechanism={mechanism}{seeds}/frequencies.parquet",
            efficiency="results/estimates/dataset={dataset}/mechanism={mechanism}{seeds}/efficiency.parquet",
            comparisons="results/estimates/dataset={dataset}/mechanism={mechanism}{seeds}/comparisons.parquet",
            groups="results/estimates/dataset={dataset}/mechanism={mechanism}{seeds}/groups.parquet",
            sensitivity="results/estimates/dataset={dataset}/mechanism={mechanism}{seeds}/sensitivity.parquet",
            tipping="results/estimates/dataset={dataset}/mechanism={mechanism}{seeds}/tipping.parquet",
        ),
    log:
        said="logs/estimate_costs/dataset={dataset}/mechanism={mechanism}{seeds}.log",
        used="benchmarks/estimate_costs/dataset={dataset}/mechanism={mechanism}{seeds}.jsonl",
    conda:
        "../../envs/core.yaml"
    resources:
        mem_mb=memory,
    params:
        **stage_params("estimate_costs", config["afape"]["evaluation"]),
    shell:
        run_stage("estimate_costs")


rule check_graph:
    input:
        table=rules.prepare_data.output.table,
        catalogue=rules.prepare_data.output.catalogue,
        masks=rules.draw_missingness.output.masks,
        identification=rules.draw_missingness.output.identification,
        propensities=rules.fit_nuisances.output.propensities,
    output:
        **audited(
            contrasts="results/nuisances/dataset={dataset}/mechanism={mechanism}{seeds}/contrasts.parquet",
            graph_check="results/nuisances/dataset={dataset}/mechanism={mechanism}{seeds}/graph_check.parquet",
        ),
    log:
        said="logs/check_graph/dataset={dataset}/mechanism={mechanism}{seeds}.log",
        used="benchmarks/check_graph/dataset={dataset}/mechanism={mechanism}{seeds}.jsonl",
    conda:
        "../../envs/core.yaml"
    resources:
        mem_mb=memory,
    params:
        **stage_params("check_graph"),
    shell:
        run_stage("check_graph")


rule summarise_afape:
    input:
        estimates=STUDY.scenario_files("results/estimates/{scenario}/estimates.parquet"),
    output:
        **audited(summary="results/summary/afape.parquet"),
    log:
        said="logs/summarise_afape.log",
        used="benchmarks/summarise_afape.jsonl",
    conda:
        "../../envs/core.yaml"
    resources:
        mem_mb=memory,
    params:
        **stage_params("summarise_afape"),
    shell:
        run_stage("summarise_afape")


rule give_verdicts:
    input:
        summary=rules.summarise_afape.output.summary,
        graph_check=STUDY.scenario_files(
            "results/nuisances/{scenario}/graph_check.parquet"
        ),
        comparisons=STUDY.scenario_files(
            "results/estimates/{scenario}/comparisons.parquet"
        ),
        groups=STUDY.scenario_files("results/estimates/{scenario}/groups.parquet"),
        sensitivity=STUDY.scenario_files(
            "results/estimates/{scenario}/sensitivity.parquet"
        ),
        tipping=STUDY.scenario_files("results/estimates/{scenario}/tipping.parquet"),
    output:
        **audited(
            comparisons="results/summary/comparisons.parquet",
            groups="results/summary/groups.parquet",
            sensitivity="results/summary/sensitivity.parquet",
            verdicts="results/summary/verdicts.parquet",
            sentence="results/summary/verdict.txt",
        ),
    log:
        said="logs/give_verdicts.log",
        used="benchmarks/give_verdicts.jsonl",
    conda:
        "../../envs/core.yaml"
    resources:
        mem_mb=memory,
    params:
        **stage_params(
            "give_verdicts",
            {
                "cost_units": STUDY.cost_units(),
                "gammas": config["afape"]["evaluation"]["hidden_causes"]["gammas"],
                "margin": float(config["margin"]),
            },
        ),
    shell:
        run_stage("give_verdicts")


rule check_afape:
    input:
        summary=rules.summarise_afape.output.summary,
    output:
        **audited(checks="results/checks/afape.json"),
    log:
        said="logs/check_afape.log",
        used="benchmarks/check_afape.jsonl",
    conda:
        "../../envs/core.yaml"
    resources:
        mem_mb=memory,
    params:
        **stage_params(
            "check_afape",
            {
                "seeds": config["afape"]["seeds"],
                "agents": list(STUDY.agents),
                "scenarios": STUDY.scenario_names(),
            },
        ),
    shell:
        run_stage("check_afape")
