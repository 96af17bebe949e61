# What acquisition policies cost at run time: roll-outs, nuisances, estimates, verdicts, and the grid.

from frugal.studies.afape.spec import Grid


include: "afape_common.smk"


use rule stage as impute_features with:
    input:
        **outputs_of(rules.prepare_data, "table catalogue"),
        masks=rules.draw_missingness.output.masks,
    output:
        **audited(f"results/imputations/{PORTION}", "imputed rounds"),
    params:
        settings=config["afape"]["imputation"],


# Every policy is run on the records, on the full table, and on the imputed ones; each decision is a row.

ROLLOUT = f"{PORTION}/agent={{agent}}{{rows}}"


use rule stage as roll_out with:
    input:
        unpack(trained_policy),
        **outputs_of(rules.prepare_data, "table catalogue"),
        **outputs_of(rules.fit_classifier, "classifier"),
        **outputs_of(rules.draw_missingness, "masks graph identification"),
        **outputs_of(rules.impute_features, "imputed rounds"),
    output:
        **audited(f"results/rollouts/{ROLLOUT}", "blocked worlds decisions"),
    params:
        settings=lambda w: STUDY.agents[w.agent],


# Propensities and outcome means, cross-fitted; all agents of a scenario in one job, in lock-step.


use rule stage as fit_nuisances with:
    input:
        unpack(trained_policies),
        **outputs_of(rules.prepare_data, "table catalogue"),
        **outputs_of(rules.draw_missingness, "masks graph identification"),
        blocked=rollouts("blocked.parquet"),
    output:
        **audited(f"results/nuisances/{PORTION}", "propensities agents calibration overlap losses"),
    params:
        settings=lambda w: STUDY.nuisance_settings(w.dataset, w.mechanism),


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
    params:
        settings=config["afape"]["evaluation"],


use rule stage as check_graph with:
    input:
        **outputs_of(rules.prepare_data, "table catalogue"),
        **outputs_of(rules.draw_missingness, "masks identification"),
        propensities=rules.fit_nuisances.output.propensities,
    output:
        **audited(f"results/nuisances/{PORTION}", "contrasts graph_check"),


use rule stage as summarise_afape with:
    input:
        estimates=STUDY.scenario_files("results/estimates/{scenario}/estimates.parquet"),
    output:
        **audited(summary="results/summary/afape.parquet"),


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
            "results/summary",
            "comparisons groups sensitivity verdicts",
            sentence="results/summary/verdict.txt",
        ),
    params:
        settings=STUDY.verdict_settings(),


use rule stage as check_afape with:
    input:
        summary=rules.summarise_afape.output.summary,
    output:
        **audited(checks="results/checks/afape.json"),
    params:
        settings={
            "seeds": config["afape"]["seeds"],
            "agents": list(STUDY.agents),
            "scenarios": STUDY.scenario_names(),
        },


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


use rule stage as draw_scenario_figures with:
    input:
        catalogue=rules.prepare_data.output.catalogue,
        estimates=f"results/estimates/{SCENARIO}/estimates.parquet",
        frequencies=f"results/estimates/{SCENARIO}/frequencies.parquet",
        calibration=f"results/nuisances/{SCENARIO}/calibration.parquet",
        verdicts=rules.give_verdicts.output.verdicts,
    output:
        **figure_outputs("draw_scenario_figures", SCENARIO),
    params:
        settings=config["afape"]["figures"],


use rule stage as draw_study_figures with:
    input:
        summary=rules.summarise_afape.output.summary,
        resamples=STUDY.scenario_files("results/estimates/{scenario}/resamples.parquet"),
        convergence=STUDY.scenario_files("results/estimates/{scenario}/convergence.parquet"),
    output:
        **figure_outputs("draw_study_figures", "study=afape", dataset="all", mechanism="all"),
    params:
        settings=config["afape"]["figures"] | {"cost_unit": STUDY.cost_unit()},


rule afape:
    """What acquisition policies cost at run time, judged from records with gaps."""
    input:
        rules.summarise_afape.output.summary,
        rules.check_afape.output.checks,
        rules.give_verdicts.output.sentence,
        pictures("draw_study_figures", "study=afape"),
        [
            STUDY.scenario_files(f"results/figures/{{scenario}}/{name}.png")
            for name in figures_of("draw_scenario_figures")
        ],
    localrule: True


PROMISED["afape"] = rules.afape.input
ANSWER_TEXTS["afape"] = ["results/summary/verdict.txt"]


# Worlds of known truth: tables × mechanisms × shares of gaps. A world is one step, so that a run that
# was stopped goes on with the next world.

GRID = Grid(STUDY.config["afape"], STUDY.agents)
WORLD = f"{SCENARIO}/missing_share={{missing_share}}"


use rule stage as judge_world with:
    input:
        **outputs_of(rules.prepare_data, "table catalogue"),
        classifier=rules.fit_classifier.output.classifier,
    output:
        **audited(f"results/grid/{WORLD}", "draws estimates"),
    params:
        settings=lambda w: checked(GRID.settings, w.mechanism, float(w.missing_share)),


use rule stage as summarise_grid with:
    input:
        draws=GRID.files("draws.parquet"),
        estimates=GRID.files("estimates.parquet"),
    output:
        **audited("results/summary", "grid grid_estimators"),


rule grid:
    """How often verdicts are right, in worlds of known truth."""
    input:
        rules.summarise_grid.output.grid,
    localrule: True


ALSO.append(rules.grid.input)

if not MODULE:
    CASES["afape"] = [f"dataset={d}/mechanism={m}" for d, m in STUDY.scenario_names()]

    use rule stage as explore_afape with:
        input:
            **outputs_of(rules.summarise_afape, "summary"),
            **outputs_of(rules.give_verdicts, "comparisons verdicts sensitivity groups"),
            **outputs_of(rules.check_afape, "checks"),
        output:
            **audited(f"{EXPLORED}/study=afape", "section.json"),
        params:
            settings={
                "cost_units": STUDY.cost_units(),
                "estimators": config["afape"]["figures"]["estimators"],
            },

    use rule stage as show_afape_cases with:
        input:
            **outputs_of(rules.prepare_data, "table catalogue"),
            decisions=first_rollouts("decisions.parquet"),
            worlds=first_rollouts("worlds.parquet"),
            blocked=first_rollouts("blocked.parquet"),
        output:
            **audited(f"{EXPLORED}/study=afape/{SCENARIO}", "cases.json"),
        params:
            settings={
                "units": config["report"]["units"],
                "seed": config["afape"]["seeds"][0],
                "kinds": agent_words(),
            },
