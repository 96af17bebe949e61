# Dadi: an agent per γ on every fold, what it collects and who could tell the group, baselines, figures.

from frugal.studies.dadi.spec import load_dadi_study

DADI = checked(load_dadi_study, config, STUDY.descriptions)

FOLD = f"{DATASET}/fold={{fold}}"


wildcard_constraints:
    fold=r"[0-9]+",


use rule stage as train_dadi with:
    input:
        **outputs_of(rules.prepare_data, "table catalogue"),
    output:
        **audited(f"results/agents/{FOLD}", "weights.safetensors curves"),
    params:
        settings=lambda w: DADI.train_settings(w.dataset),


use rule stage as train_fair_agent with:
    input:
        **outputs_of(rules.prepare_data, "table catalogue"),
    output:
        **audited(
            f"results/agents/{FOLD}/agent={{agent}}", "policy.safetensors classifier.safetensors"
        ),
    params:
        settings=lambda w: DADI.fair_agent_settings(w.dataset, w.agent),


use rule stage as roll_out_dadi with:
    input:
        unpack(lambda w: DADI.agent_files(FOLD.format(**w))),
        **outputs_of(rules.prepare_data, "table catalogue"),
        weights=rules.train_dadi.output.weights,
    output:
        **audited(f"results/dadi/{FOLD}", "decisions outcomes singles"),
    params:
        settings=lambda w: DADI.roll_out_settings(w.dataset),


use rule stage as audit_fairness with:
    input:
        **outputs_of(rules.prepare_data, "table catalogue"),
        outcomes=rules.roll_out_dadi.output.outcomes,
    output:
        **audited(f"results/dadi/{FOLD}", "audit"),
    params:
        settings=lambda w: DADI.audit_settings(w.dataset),


use rule stage as fit_fair_baselines with:
    input:
        **outputs_of(rules.prepare_data, "table catalogue"),
        weights=rules.train_dadi.output.weights,
    output:
        **audited(f"results/dadi/{FOLD}", "predictions panels"),
    params:
        settings=lambda w: DADI.baseline_settings(w.dataset),


use rule stage as score_dadi with:
    input:
        outcomes=rules.roll_out_dadi.output.outcomes,
        predictions=rules.fit_fair_baselines.output.predictions,
        audit=rules.audit_fairness.output.audit,
    output:
        **audited(f"results/dadi/{FOLD}", "scores selection"),
    params:
        settings=DADI.score_settings(),


use rule stage as summarise_dadi with:
    input:
        scores=DADI.fold_files("scores.parquet"),
        selection=DADI.fold_files("selection.parquet"),
        singles=DADI.fold_files("singles.parquet"),
        audit=DADI.fold_files("audit.parquet"),
    output:
        **summarised("dadi", "summary means least_disparity selection singles audit"),
    params:
        settings=DADI.summary_settings(),


use rule stage as check_dadi with:
    input:
        **outputs_of(rules.summarise_dadi, "summary means selection least_disparity"),
    output:
        **audited(checks="results/checks/dadi.json"),
    params:
        settings={"rows": DADI.wanted_rows(), **DADI.summary_settings()},


use rule stage as draw_dadi_figures with:
    input:
        **outputs_of(rules.prepare_data, "catalogue"),
        **outputs_of(rules.summarise_dadi, "means selection singles audit"),
        curves=lambda w: [
            f"results/agents/dataset={w.dataset}/fold={fold}/curves.parquet"
            for fold in config["dadi"]["folds"]["run"]
        ],
    output:
        **figure_outputs("draw_dadi_figures", f"study=dadi/{DATASET}"),
    params:
        settings=lambda w: DADI.figure_settings(w.dataset),


use rule stage as write_dadi_answer with:
    input:
        **outputs_of(rules.summarise_dadi, "summary means least_disparity"),
        catalogue=rules.prepare_data.output.catalogue,
        picture=f"results/figures/study=dadi/{DATASET}/dadi_tradeoff.png",
    output:
        **audited(
            choice=f"results/dadi/{DATASET}/choice.json",
            sentence=f"results/dadi/{DATASET}/verdict.txt",
            page=f"results/dadi/{DATASET}/answer.html",
        ),
    params:
        settings=lambda w: DADI.answer_settings(w.dataset),


use rule stage as bundle_dadi with:
    input:
        unpack(located(lambda w: STUDY.described_input(w.dataset))),
        **outputs_of(rules.write_dadi_answer, "choice"),
        **outputs_of(rules.prepare_data, "table catalogue"),
        weights=lambda w: DADI.bundle_weights(w.dataset),
    output:
        **audited(f"results/bundles/study=dadi/{DATASET}", "policy.safetensors cases.json"),
    params:
        settings=lambda w: DADI.bundle_settings(w.dataset),


rule dadi:
    """Which features to collect, so that what is predicted is accurate and fair."""
    input:
        rules.summarise_dadi.output.summary,
        rules.check_dadi.output.checks,
        DADI.answer_files("answer.html"),
        expand(f"results/bundles/study=dadi/{DATASET}/cases.json", dataset=DADI.datasets),
        pictures("draw_dadi_figures", f"study=dadi/{DATASET}", dataset=DADI.datasets),
    localrule: True


PROMISED["dadi"] = rules.dadi.input
ANSWER_TEXTS["dadi"] = DADI.answer_files("verdict.txt")

if not MODULE:
    CASES["dadi"] = [f"dataset={name}" for name in DADI.datasets]
    SHOWN_FOLD = config["dadi"]["folds"]["run"][0]

    use rule stage as explore_dadi with:
        input:
            **outputs_of(
                rules.summarise_dadi, "summary means least_disparity selection singles audit"
            ),
            checks=rules.check_dadi.output.checks,
        output:
            **audited(f"{EXPLORED}/study=dadi", "section.json"),

    use rule stage as show_dadi_cases with:
        input:
            **outputs_of(rules.prepare_data, "table catalogue"),
            decisions=f"results/dadi/{DATASET}/fold={SHOWN_FOLD}/decisions.parquet",
            outcomes=f"results/dadi/{DATASET}/fold={SHOWN_FOLD}/outcomes.parquet",
        output:
            **audited(f"{EXPLORED}/study=dadi/{DATASET}", "cases.json"),
        params:
            settings={"units": config["report"]["units"], "fold": SHOWN_FOLD},
