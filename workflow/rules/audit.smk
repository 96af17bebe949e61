# Can the numbers be trusted, and read by others?


rule audit:
    """Recomputes every digest, and runs a sample of steps again."""
    log:
        "logs/audit.log",
    localrule: True
    conda:
        "../../envs/core.yaml"
    resources:
        mem_mb=memory,
    params:
        folders=lambda w: " ".join(folders() for folders in OUTSIDE),
    shell:
        of_a_folder("python -m frugal audit results {params.folders} 2> {log:q}")


rule claims:
    """Which claims of the papers hold in the results that are there."""
    log:
        "logs/claims.log",
    localrule: True
    conda:
        "../../envs/core.yaml"
    resources:
        mem_mb=memory,
    shell:
        of_a_folder("python -m frugal claims results 2> {log:q}")


rule rocrate:
    """Describes results/ for archives, as a Workflow Run RO-Crate."""
    log:
        "logs/rocrate.log",
    localrule: True
    conda:
        "../../envs/core.yaml"
    resources:
        mem_mb=memory,
    shell:
        of_a_folder("python -m frugal rocrate 2> {log:q}")
