# One's own table, from its YAML to an answer: `snakemake decide --config table=my.yaml`. All of it lies
# in results/decide/NAME/, which is the working folder where `table` is given.

if config["table"] is not None and config["objective"] == "cost":
    OWN_PLACE = f"dataset={OWN_TABLE.dataset}/mechanism=own"

    rule write_answer:
        input:
            summary=rules.summarise_afape.output.summary,
            verdicts=rules.give_verdicts.output.verdicts,
            comparisons=rules.give_verdicts.output.comparisons,
            catalogue=f"results/data/dataset={OWN_TABLE.dataset}/catalogue.json",
            picture=f"results/figures/{OWN_PLACE}/answer.png",
        output:
            **audited(text="results/verdict.txt", page="results/answer.html"),
        log:
            said="logs/write_answer.log",
            used="benchmarks/write_answer.jsonl",
        conda:
            "../../envs/core.yaml"
        resources:
            mem_mb=memory,
        params:
            **stage_params("write_answer", OWN_TABLE.answer_settings()),
        shell:
            run_stage("write_answer")


if config["table"] is not None and config["objective"] == "f1":

    rule write_budgets:
        input:
            **{
                f"choice_{k}": DIAGNOSIS.chosen_file("choice.json", budget)
                for k, budget in enumerate(OWN_TABLE.budgets)
            },
            asked=DIAGNOSIS.chosen_file("choice.json", OWN_TABLE.budgets[0], "policies"),
            catalogue=f"results/data/dataset={OWN_TABLE.dataset}/catalogue.json",
        output:
            **audited(text="results/verdict.txt", page="results/answer.html"),
        log:
            said="logs/write_budgets.log",
            used="benchmarks/write_budgets.jsonl",
        conda:
            "../../envs/core.yaml"
        resources:
            mem_mb=memory,
        params:
            **stage_params("write_budgets", OWN_TABLE.answer_settings()),
        shell:
            run_stage("write_budgets")


rule decide:
    """A table of one's own to a verdict: --config table=my.yaml."""
    input:
        decided,
    log:
        "logs/decide.log",
    localrule: True
    conda:
        "../../envs/core.yaml"
    resources:
        mem_mb=memory,
    shell:
        in_place(
            "python -m frugal.core.replacing results/verdict.txt results/answer.html "
            f"{ANSWERS} 2> {LOGS}{{log:q}}"
            f" && cp results/verdict.txt {LOGS}{{log:q}}"
        )
