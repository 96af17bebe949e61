# What a run takes: an estimate before it starts, and the table of what was measured after.


onstart:
    say_plan()
    if workflow.local_exec:
        limit_memory()
        say_too_large(steps_to_run())


onsuccess:
    note_engine()
    say_results()


rule plan:
    """What a run will take, stage by stage; runs nothing."""
    log:
        "logs/plan.log",
    localrule: True
    conda:
        "../../envs/core.yaml"
    resources:
        mem_mb=memory,
    params:
        arguments=lambda w: engine_arguments(
            reported_studies() if DEFAULT_TARGET == "all" else [DEFAULT_TARGET], "--summary"
        ),
        costs=lambda w: str(COSTS),
        cores=workflow.resource_settings.cores or 1,
    shell:
        "python -m snakemake {params.arguments} 2> {log:q}"
        " | python -m frugal plan --costs {params.costs:q} --cores {params.cores}"


rule benchmark:
    """What the jobs of a run took, as a table and a picture."""
    log:
        "logs/benchmark.log",
    localrule: True
    conda:
        "../../envs/core.yaml"
    resources:
        mem_mb=memory,
    params:
        studies=lambda w: study_words(),
    shell:
        "python -m frugal benchmark benchmarks {params.studies} 2> {log:q}"
