# The report: the answer of one's own table, and the page of all parts.


if config["table"] is not None:

    use rule stage as explore_answer with:
        input:
            **{name: rules.write_answer.input[name] for name in ("choice", "outcomes", "catalogue")},
        output:
            **audited(f"{EXPLORED}/study=decide", "section.json"),
        params:
            settings={"dataset": OWN_TABLE.dataset},


use rule stage as write_report with:
    input:
        unpack(report_parts),
    output:
        **audited("results", "report.html"),
    params:
        settings={"template": template_digest()},


rule report:
    """results/report.html: the answers first, one file, offline."""
    input:
        rules.write_report.output.report,
    localrule: True


# Snakemake's own page is made outside results/, and put in place with its manifest once it is whole.
rule snakemake_report:
    """Snakemake's own report, in results/snakemake_report.html."""
    input:
        reported_files,
    output:
        **audited(report="results/snakemake_report.html"),
    log:
        "logs/snakemake_report.log",
    localrule: True
    conda:
        "../../envs/core.yaml"
    resources:
        mem_mb=memory,
    params:
        page=".snakemake/report.html",
        arguments=lambda w: engine_arguments(reported_studies()),
        seed=config["seed"],
        source=source_digest("keep_report"),
    shell:
        "python -m snakemake --report {params.page:q} {params.arguments} > {log:q} 2>&1 && "
        + in_place(
            f"python -m frugal keep_report --input page={LOGS}{{params.page:q}}"
            f" --output report=results/snakemake_report.html --seed {{params.seed:q}}"
            f" 2>> {LOGS}{{log:q}}"
        )
