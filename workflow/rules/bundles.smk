# Every agent with all that it takes to ask it about new cases: `snakemake bundles`, `frugal advise`.


rule bundle_agent:
    input:
        unpack(bundled_policy),
        unpack(located("described", lambda w: STUDY.described_input(w.dataset))),
        table=rules.prepare_data.output.table,
        catalogue=rules.prepare_data.output.catalogue,
        classifier=rules.fit_classifier.output.classifier,
    output:
        **audited(
            policy="results/bundles/dataset={dataset}/mechanism={mechanism}/agent={agent}/policy.safetensors",
            classifier="results/bundles/dataset={dataset}/mechanism={mechanism}/agent={agent}/classifier.safetensors",
            cases="results/bundles/dataset={dataset}/mechanism={mechanism}/agent={agent}/cases.json",
        ),
    log:
        said="logs/bundle_agent/dataset={dataset}/mechanism={mechanism}/agent={agent}.log",
        used="benchmarks/bundle_agent/dataset={dataset}/mechanism={mechanism}/agent={agent}.jsonl",
    conda:
        "../../envs/core.yaml"
    resources:
        mem_mb=memory,
    params:
        **stage_params("bundle_agent", lambda w: STUDY.agents[w.agent]),
    shell:
        run_stage("bundle_agent")


rule bundles:
    """Every policy of `afape` as a folder for `advise`."""
    input:
        STUDY.bundle_files(),
    localrule: True
