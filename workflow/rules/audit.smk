# Can the numbers be trusted, and the report that shows them.


rule audit:
    log:
        "logs/audit.log",
    localrule: True
    conda:
        "../../envs/core.yaml"
    params:
        folders=STUDY.outside_folders(),
    shell:
        "python -m frugal audit results {params.folders} 2> {log}"


rule report:
    input:
        rules.afape.input,
    output:
        "results/report.html",
    log:
        "logs/report.log",
    localrule: True
    params:
        config=report_arguments(),
    shell:
        "snakemake {params.config} --nolock --report {output} all > {log} 2>&1"
