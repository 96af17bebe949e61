# Every agent with all that it takes to ask it about new cases: `snakemake bundles`, `frugal advise`.


use rule stage as bundle_agent with:
    input:
        unpack(bundled_policy),
        unpack(located("described", lambda w: STUDY.described_input(w.dataset))),
        **outputs_of(rules.prepare_data, "table catalogue"),
        classifier=rules.fit_classifier.output.classifier,
    output:
        **audited(
            f"results/bundles/{AGENT}", "policy.safetensors classifier.safetensors cases.json"
        ),
    log:
        **logs("bundle_agent", AGENT),
    params:
        **stage_params("bundle_agent", lambda w: STUDY.agents[w.agent]),


rule bundles:
    """Every policy of `afape` as a folder for `advise`."""
    input:
        STUDY.bundle_files(),
    localrule: True
