# Agents that learn, each on the blocked records of its scenario; the others need no file.


rule train_agent:
    input:
        table="results/data/dataset={dataset}/table.parquet",
        catalogue="results/data/dataset={dataset}/catalogue.json",
        classifier="results/classifiers/dataset={dataset}/classifier.safetensors",
        masks="results/missingness/dataset={dataset}/mechanism={mechanism}/masks.parquet",
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
