# Each step is this rule with its own inputs, outputs, logs and settings: the command is complete as
# printed. Both logs are kept when a job fails, and brought back from another machine: one has its
# progress and refusals, the other what it used.


rule stage:
    log:
        "logs/stage.log",
    conda:
        "../../envs/core.yaml"
    resources:
        mem_mb=memory,
    shell:
        in_place(
            "python -m frugal {params.arguments.stage} {params.arguments}"
            f" --used {LOGS}{{log.used:q}} 2> {LOGS}{{log.said:q}}"
        )
