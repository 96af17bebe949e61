# One's own records of searches, from their YAML to a policy: `snakemake search --config records=my.yaml`.
# All of it lies in results/search/NAME/, which is the working folder with `records`.

if own_target() == "search":

    use rule stage as judge_searches with:
        input:
            **own_inputs(),
        output:
            **audited(
                "results",
                "estimates steps",
                policy="results/policy/policy.json",
                arrays="results/policy/policy.safetensors",
            ),

    use rule stage as draw_search with:
        input:
            **outputs_of(rules.judge_searches, "steps policy"),
        output:
            **audited("results", "tree.png"),

    use rule stage as write_search_answer with:
        input:
            **outputs_of(rules.judge_searches, "policy arrays"),
        output:
            **audited(text="results/verdict.txt", words="results/policy.txt"),


rule search:
    """Your records to a search policy: --config records=my.yaml."""
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
            "python -m frugal.results.replacing results/verdict.txt results/policy.txt "
            f"{ANSWERS} 2> {LOGS}{{log:q}}"
            f" && cp results/verdict.txt {LOGS}{{log:q}}"
        )
