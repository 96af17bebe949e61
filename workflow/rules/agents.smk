# Agents that learn, each on the blocked records of its scenario; the others need no file.


def trained_policy(wildcards):
    """The stored policy of an agent that learns; nothing for the others."""
    agents = [wildcards.agent]
    paths = STUDY.policy_inputs(wildcards.dataset, wildcards.mechanism, agents)
    return {"policy": path for path in paths.values()}


def trained_policies(wildcards):
    """The stored policies of all agents that learn, in the order of the config."""
    agents = list(STUDY.agents)
    return STUDY.policy_inputs(wildcards.dataset, wildcards.mechanism, agents)


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
        "logs/train_agent/dataset={dataset}/mechanism={mechanism}/agent={agent}.log",
    benchmark:
        "benchmarks/train_agent/dataset={dataset}/mechanism={mechanism}/agent={agent}.jsonl"
    conda:
        "../../envs/core.yaml"
    params:
        **stage_params("train_agent", lambda w: STUDY.agents[w.agent]),
    shell:
        run_stage("train_agent")
