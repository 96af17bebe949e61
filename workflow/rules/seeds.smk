# Where several jobs judge the seeds of a scenario: their results joined, as one job would have written them.

OF_PORTIONS = {
    "estimates": "estimates resamples convergence frequencies comparisons groups sensitivity tipping",
    "nuisances": "calibration overlap losses contrasts graph_check",
}

if PORTIONS.divided:

    ruleorder: join_seeds > estimate_costs
    ruleorder: join_seeds > fit_nuisances
    ruleorder: join_seeds > check_graph

    use rule stage as join_seeds with:
        input:
            **{
                name: of_seeds(folder, f"{name}.parquet")
                for folder, names in OF_PORTIONS.items()
                for name in names.split()
            },
            **outputs_of(rules.prepare_data, "table catalogue"),
            **outputs_of(rules.draw_missingness, "masks graph identification"),
            blocked=all_rollouts("blocked.parquet"),
            worlds=all_rollouts("worlds.parquet"),
            propensities=of_seeds("nuisances", "propensities.parquet"),
            agents=of_seeds("nuisances", "agents.parquet"),
        output:
            **audited(
                efficiency=f"results/estimates/{SCENARIO}/efficiency.parquet",
                **{
                    name: f"results/{folder}/{SCENARIO}/{name}.parquet"
                    for folder, names in OF_PORTIONS.items()
                    for name in names.split()
                },
            ),
        wildcard_constraints:
            dataset="|".join(map(re.escape, PORTIONS.divided)),
        params:
            settings=config["afape"]["evaluation"],
