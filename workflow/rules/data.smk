# Raw files and tables. A raw file is taken from the mirror or the user's path, or fetched.


rule fetch_file:
    output:
        **audited(file="results/raw/dataset={dataset}/{file}"),
    log:
        said="logs/fetch_file/dataset={dataset}/{file}.log",
        used="benchmarks/fetch_file/dataset={dataset}/{file}.jsonl",
    retries: 2
    localrule: STORED  # a worker may reach the store and nothing else
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
        unpack(located("raw", lambda w: STUDY.raw_inputs(w.dataset), also=[".parquet"])),
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


# A file from outside is put into the store by the machine that has it.
if STORED:

    rule bring_file:
        input:
            lambda w: local(FROM_OUTSIDE[f"{w.place}/{w.outside_file}"]),
        output:
            f"{OUTSIDE}/{{place}}/{{outside_file}}",
        wildcard_constraints:
            place=r"[0-9a-f]{12}",
            outside_file=r"[^/]+",
        localrule: True
        resources:
            mem_mb=memory,
        shell:
            "cp -- {input:q} {output:q}"
