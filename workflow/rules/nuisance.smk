# Propensities and outcome means, cross-fitted; all agents of a scenario in one job, in lock-step.


use rule stage as fit_nuisances with:
    input:
        unpack(trained_policies),
        **outputs_of(rules.prepare_data, "table catalogue"),
        **outputs_of(rules.draw_missingness, "masks graph identification"),
        blocked=rollouts("blocked.parquet"),
    output:
        **audited(f"results/nuisances/{PORTION}", "propensities agents calibration overlap losses"),
    log:
        **logs("fit_nuisances", PORTION),
    params:
        **stage_params("fit_nuisances", lambda w: STUDY.nuisance_settings(w.dataset, w.mechanism)),
