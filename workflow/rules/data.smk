# Raw files and tables. A raw file is taken from the mirror or the user's path, or fetched.


use rule stage as fetch_file with:
    output:
        **audited(file=f"results/raw/{DATASET}/{{file}}"),
    retries: 2
    localrule: STORED  # a worker may reach the store and nothing else
    params:
        settings=published,


use rule stage as prepare_data with:
    input:
        unpack(located(lambda w: STUDY.raw_inputs(w.dataset), also=[".parquet"])),
    output:
        **audited(f"results/data/{DATASET}", "table catalogue.json"),
    params:
        settings=lambda w: STUDY.prepare_settings(w.dataset),
