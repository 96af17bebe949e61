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
    log:
        **logs("roll_out", ROLLOUT),
    params:
        **stage_params("roll_out", lambda w: STUDY.agents[w.agent]),
