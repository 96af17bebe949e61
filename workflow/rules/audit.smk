# Can the numbers be trusted, and the report that shows them.


rule audit:
    log:
        "logs/audit.log",
    localrule: True
    conda:
        "../../envs/core.yaml"
    resources:
        mem_mb=memory,
    params:
        folders=lambda w: f"{STUDY.outside_folders()} {RECOURSE.outside_folders()}",
    shell:
        "python -m frugal audit results {params.folders} 2> {log:q}"


# The page is made beside results/, and put in place with its sidecar once it is whole.
rule report:
    input:
        reported_files,
    output:
        **audited(report="results/report.html"),
    log:
        "logs/report.log",
    localrule: True
    conda:
        "../../envs/core.yaml"
    resources:
        mem_mb=memory,
    params:
        page=".snakemake/report.html",
        arguments=lambda w: engine_arguments(reported_studies()),
        seed=config["seed"],
        source=source_digest("keep_report"),
    shell:
        "python -m snakemake --report {params.page:q} {params.arguments} > {log:q} 2>&1"
        " && python -m frugal keep_report --input page={params.page:q}"
        " --output report={output.report:q} --seed {params.seed:q} 2>> {log:q}"
