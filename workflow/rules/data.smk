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
        unpack(located("raw", lambda w: STUDY.raw_inputs(w.dataset), also=[".parquet"])),
    output:
        **audited(f"results/data/{DATASET}", "table catalogue.json"),
    params:
        settings=lambda w: STUDY.prepare_settings(w.dataset),


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
