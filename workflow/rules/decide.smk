# The user's table, from its YAML to an answer: `snakemake decide --config table=my.yaml`. All of it lies
# in results/decide/NAME/, which is the working folder with `table`.

if config["table"] is not None:
    OWN_PLACE = f"dataset={OWN_TABLE.dataset}/mechanism=own"
    MOVED = {}

    if config["transport"] is not None:
        OWN_DATA = f"results/data/dataset={OWN_TABLE.dataset}"
        MOVED = {"elsewhere": f"results/candidates/{OWN_PLACE}/elsewhere.parquet"}

        use rule stage as judge_elsewhere with:
            input:
                unpack(located(lambda w: STUDY.described_input(OWN_TABLE.dataset))),
                unpack(located(lambda w: {"cases": config["transport"]})),
                table=f"{OWN_DATA}/table.parquet",
                catalogue=f"{OWN_DATA}/catalogue.json",
                terms=f"results/candidates/{OWN_PLACE}/terms.parquet",
            output:
                **audited(**MOVED),

    use rule stage as write_answer with:
        input:
            **MOVED,
            choice=f"results/candidates/{OWN_PLACE}/choice.json",
            outcomes=f"results/candidates/{OWN_PLACE}/outcomes.parquet",
            net_benefit=f"results/candidates/{OWN_PLACE}/net_benefit.parquet",
            catalogue=f"results/data/dataset={OWN_TABLE.dataset}/catalogue.json",
        output:
            **audited(
                text="results/verdict.txt",
                page="results/answer.html",
                document="results/answer.json",
            ),
        params:
            settings=OWN_TABLE.answer_settings(),


rule decide:
    """Your table to an answer: --config table=my.yaml."""
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
            "python -m frugal.results.replacing results/verdict.txt results/answer.html "
            f"results/answer.json {ANSWERS} 2> {LOGS}{{log:q}}"
            f" && cp results/verdict.txt {LOGS}{{log:q}}"
        )
