# Retrospective missingness: drawn once per data set and mechanism, for all seeds.


use rule stage as draw_missingness with:
    input:
        **outputs_of(rules.prepare_data, "table catalogue"),
    output:
        **audited(f"results/missingness/{SCENARIO}", "masks graph.json identification.json"),
    log:
        **logs("draw_missingness", SCENARIO),
    params:
        **stage_params(
            "draw_missingness", lambda w: STUDY.missingness_settings(w.dataset, w.mechanism)
        ),


use rule stage as impute_features with:
    input:
        **outputs_of(rules.prepare_data, "table catalogue"),
        masks=rules.draw_missingness.output.masks,
    output:
        **audited(f"results/imputations/{PORTION}", "imputed rounds"),
    log:
        **logs("impute_features", PORTION),
    params:
        **stage_params("impute_features", config["afape"]["imputation"]),
