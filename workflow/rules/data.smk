# Raw files and tables. A raw file is taken from the mirror or the user's path, or fetched.


rule fetch_file:
    output:
        **audited(file="results/raw/dataset={dataset}/{file}"),
    log:
        said="logs/fetch_file/dataset={dataset}/{file}.log",
        used="benchmarks/fetch_file/dataset={dataset}/{file}.jsonl",
    retries: 2
    conda:
        "../../envs/core.yaml"
    resources:
        mem_mb=memory,
    params:
        **stage_params("fetch_file", published),
    shell:
        run_stage("fetch_file")


rule prepare_data:
    input:
        unpack(located(lambda w: STUDY.raw_inputs(w.dataset), also=[".parquet"])),
    output:
        **audited(
            table="results/data/dataset={dataset}/table.parquet",
            catalogue="results/data/dataset={dataset}/catalogue.json",
        ),
    log:
        said="logs/prepare_data/dataset={dataset}.log",
        used="benchmarks/prepare_data/dataset={dataset}.jsonl",
    conda:
        "../../envs/core.yaml"
    resources:
        mem_mb=memory,
    params:
        **stage_params("prepare_data"),
    shell:
        run_stage("prepare_data")
