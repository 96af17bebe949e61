# The chain of `afape`: gaps, classifier, agents, candidates, bundles, roll-outs, nuisances, estimates.

# Retrospective missingness: drawn once per data set and mechanism, for all seeds.


use rule stage as draw_missingness with:
    input:
        unpack(located(lambda w: STUDY.causes_input(w.dataset, w.mechanism))),
        **outputs_of(rules.prepare_data, "table catalogue"),
    output:
        **audited(f"results/missingness/{SCENARIO}", "masks graph.json identification.json"),
    params:
        settings=lambda w: STUDY.missingness_settings(w.dataset, w.mechanism),


use rule stage as impute_features with:
    input:
        **outputs_of(rules.prepare_data, "table catalogue"),
        masks=rules.draw_missingness.output.masks,
    output:
        **audited(f"results/imputations/{PORTION}", "imputed rounds"),
    params:
        settings=config["afape"]["imputation"],


# The classifier that predicts from what was acquired.


use rule stage as fit_classifier with:
    input:
        **outputs_of(rules.prepare_data, "table catalogue"),
    output:
        **audited(f"results/classifiers/{DATASET}", "classifier.safetensors"),
    params:
        settings=config["afape"]["classifier"],


# Agents that learn, each on the blocked records of its scenario; the others need no file.


use rule stage as train_agent with:
    input:
        **outputs_of(rules.prepare_data, "table catalogue"),
        classifier=rules.fit_classifier.output.classifier,
        masks=rules.draw_missingness.output.masks,
    output:
        **audited(f"results/agents/{AGENT}", "policy.safetensors training"),
    params:
        settings=lambda w: STUDY.agents[w.agent],


# Candidates of an answer on tables that are divided into folds: learned on the other folds, followed on
# the last one. What is handed out are the policies of all folds, which vote.

CANDIDATES = f"results/candidates/{SCENARIO}"

TRIED = checked(STUDY.candidate_settings)


use rule stage as learn_candidates with:
    input:
        **outputs_of(rules.prepare_data, "table catalogue"),
        **outputs_of(rules.draw_missingness, "masks graph"),
    output:
        **audited(f"{CANDIDATES}/held_out={{held_out}}", "paths policies.safetensors"),
    params:
        settings=TRIED,


use rule stage as join_candidates with:
    input:
        unpack(candidates_of_folds),
        **outputs_of(rules.prepare_data, "table catalogue"),
        **outputs_of(rules.draw_missingness, "masks graph"),
    output:
        **audited(f"{CANDIDATES}/joined", "paths policies.safetensors"),
    params:
        settings=TRIED,


use rule stage as judge_candidates with:
    input:
        **outputs_of(rules.prepare_data, "table catalogue"),
        **outputs_of(rules.draw_missingness, "masks graph"),
        paths=lambda w: [
            f"{CANDIDATES}/held_out={fold}/paths.parquet".format(**w)
            for fold in STUDY.folds(w.dataset)
        ],
        joined=rules.join_candidates.output.paths,
    output:
        **audited(CANDIDATES, "choice.json outcomes terms net_benefit"),
    params:
        settings=STUDY.judging_settings(),


# Every agent with all that it takes to ask it about new cases: `snakemake bundles`, `frugal advise`.


use rule stage as bundle_agent with:
    input:
        unpack(bundled_policy),
        unpack(located(lambda w: STUDY.described_input(w.dataset))),
        **outputs_of(rules.prepare_data, "table catalogue"),
        classifier=rules.fit_classifier.output.classifier,
    output:
        **audited(
            f"results/bundles/{AGENT}", "policy.safetensors classifier.safetensors cases.json"
        ),
    params:
        settings=lambda w: STUDY.agents[w.agent],


rule bundles:
    """Every policy of `afape` as a folder for `advise`."""
    input:
        STUDY.bundle_files(),
    localrule: True


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
