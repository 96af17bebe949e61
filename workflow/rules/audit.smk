# Can the numbers be trusted?


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
