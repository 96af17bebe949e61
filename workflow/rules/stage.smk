# Each step is this rule with its own inputs, outputs and settings; `complete_steps` adds its logs and
# its command, which is complete as printed. Both logs are kept when a job fails, and brought back from
# another machine: one has its progress and refusals, the other what it used.


rule stage:
    conda:
        "../../envs/core.yaml"
    resources:
        mem_mb=memory,
        runtime=minutes,
    params:
        settings=None,
    shell:
        in_place(
            "python -m frugal {params.arguments.stage} {params.arguments}"
            f"{BROUGHT} --used {LOGS}{{log.used:q}} 2> {LOGS}{{log.messages:q}}"
        )
