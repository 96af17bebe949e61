# The classifier that predicts from whatever was acquired.


rule fit_classifier:
    input:
        table=rules.prepare_data.output.table,
        catalogue=rules.prepare_data.output.catalogue,
    output:
        **audited(
            classifier="results/classifiers/dataset={dataset}/classifier.safetensors"
        ),
    log:
        said="logs/fit_classifier/dataset={dataset}.log",
        used="benchmarks/fit_classifier/dataset={dataset}.jsonl",
    conda:
        "../../envs/core.yaml"
    resources:
        mem_mb=memory,
    params:
        **stage_params("fit_classifier", config["afape"]["classifier"]),
    shell:
        run_stage("fit_classifier")
