# Where several jobs judge the seeds of a scenario: what they told, as one job would have told it.

OF_PORTIONS = {
    "estimates": [
        "estimates",
        "resamples",
        "convergence",
        "frequencies",
        "comparisons",
        "groups",
        "sensitivity",
        "tipping",
    ],
    "nuisances": ["calibration", "overlap", "losses", "contrasts", "graph_check"],
}

if PORTIONS.divided:

    ruleorder: join_seeds > estimate_costs
    ruleorder: join_seeds > fit_nuisances
    ruleorder: join_seeds > check_graph

    rule join_seeds:
        input:
            **{
                name: of_seeds(folder, f"{name}.parquet")
                for folder, names in OF_PORTIONS.items()
                for name in names
            },
            table=rules.prepare_data.output.table,
            catalogue=rules.prepare_data.output.catalogue,
            masks=rules.draw_missingness.output.masks,
            graph=rules.draw_missingness.output.graph,
            identification=rules.draw_missingness.output.identification,
            blocked=all_rollouts("blocked.parquet"),
            worlds=all_rollouts("worlds.parquet"),
            propensities=of_seeds("nuisances", "propensities.parquet"),
            agents=of_seeds("nuisances", "agents.parquet"),
        output:
            **audited(
                efficiency="results/estimates/dataset={dataset}/mechanism={mechanism}/efficiency.parquet",
                **{
                    name: f"results/{folder}/dataset={{dataset}}/mechanism={{mechanism}}/{name}.parquet"
                    for folder, names in OF_PORTIONS.items()
                    for name in names
                },
            ),
        log:
            said="logs/join_seeds/dataset={dataset}/mechanism={mechanism}.log",
            used="benchmarks/join_seeds/dataset={dataset}/mechanism={mechanism}.jsonl",
        wildcard_constraints:
            dataset="|".join(map(re.escape, PORTIONS.divided)),
        conda:
            "../../envs/core.yaml"
        resources:
            mem_mb=memory,
        params:
            **stage_params("join_seeds", config["afape"]["evaluation"]),
        shell:
            run_stage("join_seeds")
