# The classifier that predicts from whatever was acquired.


use rule stage as fit_classifier with:
    input:
        **outputs_of(rules.prepare_data, "table catalogue"),
    output:
        **audited(f"results/classifiers/{DATASET}", "classifier.safetensors"),
    log:
        **logs("fit_classifier", DATASET),
    params:
        **stage_params("fit_classifier", config["afape"]["classifier"]),
