# Can the numbers be trusted, and the report that shows them.


rule audit:
    log:
        "logs/audit.log",
    localrule: True
    conda:
        "../../envs/core.yaml"
    params:
        folders=f"{STUDY.outside_folders()} {RECOURSE.outside_folders()}",
    shell:
        "python -m frugal audit results {params.folders} 2> {log}"


rule report:
    input:
        reported_files,
    output:
        "results/report.html",
    log:
        "logs/report.log",
    localrule: True
    conda:
        "../../envs/core.yaml"
    params:
        arguments=lambda w: engine_arguments(reported_studies()),
    shell:
        "python -m snakemake --report {output} {params.arguments} > {log} 2>&1"
