# Agents that learn, each on the blocked records of its scenario; the others need no file.


use rule stage as train_agent with:
    input:
        **outputs_of(rules.prepare_data, "table catalogue"),
        classifier=rules.fit_classifier.output.classifier,
        masks=rules.draw_missingness.output.masks,
    output:
        **audited(f"results/agents/{AGENT}", "policy.safetensors training"),
    log:
        **logs("train_agent", AGENT),
    params:
        **stage_params("train_agent", lambda w: STUDY.agents[w.agent]),
