# Agents that learn, each on the blocked records of its scenario; the others need no file.


rule train_agent:
    input:
        table=rules.prepare_data.output.table,
        catalogue=rules.prepare_data.output.catalogue,
        classifier=rules.fit_classifier.output.classifier,
        masks=rules.draw_missingness.output.masks,
    output:
        **audited(
            policy="results/agents/dataset={dataset}/mechanism={mechanism}/agent={agent}/policy.safetensors",
            training="results/agents/dataset={dataset}/mechanism={mechanism}/agent={agent}/training.parquet",
        ),
    log:
        said="logs/train_agent/dataset={dataset}/mechanism={mechanism}/agent={agent}.log",
        used="benchmarks/train_agent/dataset={dataset}/mechanism={mechanism}/agent={agent}.jsonl",
    conda:
        "../../envs/core.yaml"
    resources:
        mem_mb=memory,
    params:
        **stage_params("train_agent", lambda w: STUDY.agents[w.agent]),
    shell:
        run_stage("train_agent")
