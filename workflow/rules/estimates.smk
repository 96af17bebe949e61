# What each policy would cost, by every estimator, from the same stored rollouts.


use rule stage as estimate_costs with:
    input:
        **outputs_of(rules.prepare_data, "table catalogue"),
        **outputs_of(rules.draw_missingness, "masks graph identification"),
        blocked=rollouts("blocked.parquet"),
        worlds=rollouts("worlds.parquet"),
        propensities=rules.fit_nuisances.output.propensities,
        agents=rules.fit_nuisances.output.agents,
    output:
        **audited(
            f"results/estimates/{PORTION}",
            "estimates resamples convergence frequencies efficiency comparisons groups sensitivity tipping",
        ),
    log:
        **logs("estimate_costs", PORTION),
    params:
        **stage_params("estimate_costs", config["afape"]["evaluation"]),


use rule stage as check_graph with:
    input:
        **outputs_of(rules.prepare_data, "table catalogue"),
        **outputs_of(rules.draw_missingness, "masks identification"),
        propensities=rules.fit_nuisances.output.propensities,
    output:
        **audited(f"results/nuisances/{PORTION}", "contrasts graph_check"),
    log:
        **logs("check_graph", PORTION),
    params:
        **stage_params("check_graph"),


use rule stage as summarise_afape with:
    input:
        estimates=STUDY.scenario_files("results/estimates/{scenario}/estimates.parquet"),
    output:
        **audited(summary="results/summary/afape.parquet"),
    log:
        **logs("summarise_afape"),
    params:
        **stage_params("summarise_afape"),


use rule stage as give_verdicts with:
    input:
        summary=rules.summarise_afape.output.summary,
        graph_check=STUDY.scenario_files("results/nuisances/{scenario}/graph_check.parquet"),
        comparisons=STUDY.scenario_files("results/estimates/{scenario}/comparisons.parquet"),
        groups=STUDY.scenario_files("results/estimates/{scenario}/groups.parquet"),
        sensitivity=STUDY.scenario_files("results/estimates/{scenario}/sensitivity.parquet"),
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
        **logs("give_verdicts"),
    params:
        **stage_params("give_verdicts", STUDY.verdict_settings()),


use rule stage as check_afape with:
    input:
        summary=rules.summarise_afape.output.summary,
    output:
        **audited(checks="results/checks/afape.json"),
    log:
        **logs("check_afape"),
    params:
        **stage_params(
            "check_afape",
            {
                "seeds": config["afape"]["seeds"],
                "agents": list(STUDY.agents),
                "scenarios": STUDY.scenario_names(),
            },
        ),
