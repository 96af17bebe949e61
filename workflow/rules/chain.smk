# From a table to policies: gaps, classifier, agents, candidates of an answer, bundles.

# Retrospective missingness: drawn once per data set and mechanism, for all seeds.


use rule stage as draw_missingness with:
    input:
        unpack(located(lambda w: STUDY.causes_input(w.dataset, w.mechanism))),
        **outputs_of(rules.prepare_data, "table catalogue"),
    output:
        **audited(f"results/missingness/{SCENARIO}", "masks graph.json identification.json"),
    params:
        settings=lambda w: STUDY.missingness_settings(w.dataset, w.mechanism),


# The classifier that predicts from what was acquired.


use rule stage as fit_classifier with:
    input:
        **outputs_of(rules.prepare_data, "table catalogue"),
    output:
        **audited(f"results/classifiers/{DATASET}", "classifier.safetensors"),
    params:
        settings=config["afape"]["classifier"],


# Agents that learn, each on the blocked records of its scenario; the others need no file.


use rule stage as train_agent with:
    input:
        **outputs_of(rules.prepare_data, "table catalogue"),
        classifier=rules.fit_classifier.output.classifier,
        masks=rules.draw_missingness.output.masks,
    output:
        **audited(f"results/agents/{AGENT}", "policy.safetensors training"),
    params:
        settings=lambda w: STUDY.agents[w.agent],


# Candidates of an answer on tables that are divided into folds: learned on the other folds, followed on
# the last one. What is handed out are the policies of all folds, which vote.

CANDIDATES = f"results/candidates/{SCENARIO}"

TRIED = checked(STUDY.candidate_settings)


use rule stage as learn_candidates with:
    input:
        **outputs_of(rules.prepare_data, "table catalogue"),
        **outputs_of(rules.draw_missingness, "masks graph"),
    output:
        **audited(f"{CANDIDATES}/held_out={{held_out}}", "paths policies.safetensors"),
    params:
        settings=TRIED,


use rule stage as join_candidates with:
    input:
        unpack(candidates_of_folds),
        **outputs_of(rules.prepare_data, "table catalogue"),
        **outputs_of(rules.draw_missingness, "masks graph"),
    output:
        **audited(f"{CANDIDATES}/joined", "paths policies.safetensors"),
    params:
        settings=TRIED,


use rule stage as judge_candidates with:
    input:
        **outputs_of(rules.prepare_data, "table catalogue"),
        **outputs_of(rules.draw_missingness, "masks graph"),
        paths=lambda w: [
            f"{CANDIDATES}/held_out={fold}/paths.parquet".format(**w)
            for fold in STUDY.folds(w.dataset)
        ],
        joined=rules.join_candidates.output.paths,
    output:
        **audited(CANDIDATES, "choice.json outcomes terms net_benefit"),
    params:
        settings=STUDY.judging_settings(),


# Every agent with all that it takes to ask it about new cases: `snakemake bundles`, `frugal advise`.


use rule stage as bundle_agent with:
    input:
        unpack(bundled_policy),
        unpack(located(lambda w: STUDY.described_input(w.dataset))),
        **outputs_of(rules.prepare_data, "table catalogue"),
        classifier=rules.fit_classifier.output.classifier,
    output:
        **audited(
            f"results/bundles/{AGENT}", "policy.safetensors classifier.safetensors cases.json"
        ),
    params:
        settings=lambda w: STUDY.agents[w.agent],


rule bundles:
    """Every policy of `afape` as a folder for `advise`."""
    input:
        STUDY.bundle_files(),
    localrule: True
