# One's own records of searches, from their YAML to a policy: `snakemake search --config records=my.yaml`.
# All of it lies in results/search/NAME/, which is the working folder where `records` is given.

if config["records"] is not None:

    rule judge_searches:
        input:
            description=outside(str(OWN_RECORDS.description)),
            records=outside(str(OWN_RECORDS.records)),
        output:
            **audited(
                estimates="results/estimates.parquet",
                steps="results/steps.parquet",
                policy="results/policy/policy.json",
                arrays="results/policy/policy.safetensors",
            ),
        log:
            said="logs/judge_searches.log",
            used="benchmarks/judge_searches.jsonl",
        conda:
            "../../envs/core.yaml"
        resources:
            mem_mb=memory,
        params:
            **stage_params("judge_searches"),
        shell:
            run_stage("judge_searches")

    rule draw_search:
        input:
            steps=rules.judge_searches.output.steps,
            policy=rules.judge_searches.output.policy,
        output:
            **audited(tree="results/tree.png"),
        log:
            said="logs/draw_search.log",
            used="benchmarks/draw_search.jsonl",
        conda:
            "../../envs/core.yaml"
        resources:
            mem_mb=memory,
        params:
            **stage_params("draw_search"),
        shell:
            run_stage("draw_search")

    rule write_search_answer:
        input:
            policy=rules.judge_searches.output.policy,
            arrays=rules.judge_searches.output.arrays,
        output:
            **audited(text="results/verdict.txt", words="results/policy.txt"),
        log:
            said="logs/write_search_answer.log",
            used="benchmarks/write_search_answer.jsonl",
        conda:
            "../../envs/core.yaml"
        resources:
            mem_mb=memory,
        params:
            **stage_params("write_search_answer"),
        shell:
            run_stage("write_search_answer")


rule search:
    """Records of one's own to a search policy: --config records=my.yaml."""
    input:
        searched,
    log:
        "logs/search.log",
    localrule: True
    conda:
        "../../envs/core.yaml"
    resources:
        mem_mb=memory,
    shell:
        in_place(
            "python -m frugal.core.replacing results/verdict.txt results/policy.txt "
            f"{ANSWERS} 2> {LOGS}{{log:q}}"
            f" && cp results/verdict.txt {LOGS}{{log:q}}"
        )
