# One's own records over time, from their YAML to policies: `snakemake over_time --config records=my.yaml`.
# All of it lies in results/over_time/NAME/, which is the working folder with `records`.

if own_target() == "over_time":

    use rule stage as prepare_over_time with:
        input:
            **own_inputs(),
        output:
            **audited("results", "records.safetensors catalogue.json"),

    use rule stage as learn_over_time with:
        input:
            **outputs_of(rules.prepare_over_time, "records catalogue"),
        output:
            **audited("results", "policies.safetensors"),

    use rule stage as fit_over_time with:
        input:
            **rules.learn_over_time.input,
            **outputs_of(rules.learn_over_time, "policies"),
        output:
            **audited("results", "cases.safetensors"),

    use rule stage as answer_over_time with:
        input:
            **rules.fit_over_time.input,
            **outputs_of(rules.fit_over_time, "cases"),
        output:
            **audited(
                "results",
                "outcomes estimates support",
                orders="results/policy/orders.json",
                arrays="results/policy/orders.safetensors",
                sentence="results/verdict.txt",
                page="results/answer.html",
            ),
        params:
            settings={"margin": float(config["margin"])},

    if not MODULE:

        use rule stage as explore_over_time with:
            input:
                **rules.answer_over_time.input,
                **outputs_of(rules.answer_over_time, "outcomes orders"),
            output:
                **audited(f"{EXPLORED}/study=over_time", "section.json"),


rule over_time:
    """Your records over time to a policy: --config records=my.yaml."""
    input:
        lambda w: (
            require_records("over_time", "wards")
            or [*outputs_of(rules.answer_over_time, "sentence page outcomes orders").values()]
        ),
    log:
        "logs/over_time.log",
    localrule: True
    conda:
        "../../envs/core.yaml"
    resources:
        mem_mb=memory,
    shell:
        in_place(
            "python -m frugal.results.replacing results/verdict.txt results/answer.html "
            f"{ANSWERS} 2> {LOGS}{{log:q}}"
            f" && cp results/verdict.txt {LOGS}{{log:q}}"
        )
