# Dadi: an agent per γ on every fold, what it collects and who could tell the group, baselines, figures.

from frugal.studies.dadi.spec import load_dadi_study

try:
    DADI = load_dadi_study(config, STUDY.descriptions)
except FrugalError as error:
    cannot_start(error)

FOLD = "dataset={dataset}/fold={fold}"


wildcard_constraints:
    fold=r"[0-9]+",


rule train_dadi:
    input:
        table=rules.prepare_data.output.table,
        catalogue=rules.prepare_data.output.catalogue,
    output:
        **audited(
            weights=f"results/agents/{FOLD}/weights.safetensors",
            curves=f"results/agents/{FOLD}/curves.parquet",
        ),
    log:
        said=f"logs/train_dadi/{FOLD}.log",
        used=f"benchmarks/train_dadi/{FOLD}.jsonl",
    conda:
        "../../envs/core.yaml"
    resources:
        mem_mb=memory,
    params:
        **stage_params("train_dadi", lambda w: DADI.train_settings(w.dataset)),
    shell:
        run_stage("train_dadi")


rule roll_out_dadi:
    input:
        table=rules.prepare_data.output.table,
        catalogue=rules.prepare_data.output.catalogue,
        weights=rules.train_dadi.output.weights,
    output:
        **audited(
            decisions=f"results/dadi/{FOLD}/decisions.parquet",
            outcomes=f"results/dadi/{FOLD}/outcomes.parquet",
            singles=f"results/dadi/{FOLD}/singles.parquet",
        ),
    log:
        said=f"logs/roll_out_dadi/{FOLD}.log",
        used=f"benchmarks/roll_out_dadi/{FOLD}.jsonl",
    conda:
        "../../envs/core.yaml"
    resources:
        mem_mb=memory,
    params:
        **stage_params("roll_out_dadi", lambda w: DADI.roll_out_settings(w.dataset)),
    shell:
        run_stage("roll_out_dadi")


rule audit_fairness:
    input:
        table=rules.prepare_data.output.table,
        catalogue=rules.prepare_data.output.catalogue,
        outcomes=rules.roll_out_dadi.output.outcomes,
    output:
        **audited(audit=f"results/dadi/{FOLD}/audit.parquet"),
    log:
        said=f"logs/audit_fairness/{FOLD}.log",
        used=f"benchmarks/audit_fairness/{FOLD}.jsonl",
    conda:
        "../../envs/core.yaml"
    resources:
        mem_mb=memory,
    params:
        **stage_params("audit_fairness", lambda w: DADI.audit_settings(w.dataset)),
    shell:
        run_stage("audit_fairness")


rule fit_fair_baselines:
    input:
        table=rules.prepare_data.output.table,
        catalogue=rules.prepare_data.output.catalogue,
        weights=rules.train_dadi.output.weights,
    output:
        **audited(
            predictions=f"results/dadi/{FOLD}/predictions.parquet",
            panels=f"results/dadi/{FOLD}/panels.parquet",
        ),
    log:
        said=f"logs/fit_fair_baselines/{FOLD}.log",
        used=f"benchmarks/fit_fair_baselines/{FOLD}.jsonl",
    conda:
        "../../envs/core.yaml"
    resources:
        mem_mb=memory,
    params:
        **stage_params(
            "fit_fair_baselines", lambda w: DADI.baseline_settings(w.dataset)
        ),
    shell:
        run_stage("fit_fair_baselines")


rule score_dadi:
    input:
        outcomes=rules.roll_out_dadi.output.outcomes,
        predictions=rules.fit_fair_baselines.output.predictions,
        audit=rules.audit_fairness.output.audit,
    output:
        **audited(
            scores=f"results/dadi/{FOLD}/scores.parquet",
            selection=f"results/dadi/{FOLD}/selection.parquet",
        ),
    log:
        said=f"logs/score_dadi/{FOLD}.log",
        used=f"benchmarks/score_dadi/{FOLD}.jsonl",
    conda:
        "../../envs/core.yaml"
    resources:
        mem_mb=memory,
    params:
        **stage_params("score_dadi", DADI.score_settings()),
    shell:
        run_stage("score_dadi")


rule summarise_dadi:
    input:
        scores=DADI.fold_files("scores.parquet"),
        selection=DADI.fold_files("selection.parquet"),
        singles=DADI.fold_files("singles.parquet"),
        audit=DADI.fold_files("audit.parquet"),
    output:
        **audited(
            summary="results/summary/dadi.parquet",
            means="results/summary/dadi_means.parquet",
            least_disparity="results/summary/dadi_least_disparity.parquet",
            selection="results/summary/dadi_selection.parquet",
            singles="results/summary/dadi_singles.parquet",
            audit="results/summary/dadi_audit.parquet",
        ),
    log:
        said="logs/summarise_dadi.log",
        used="benchmarks/summarise_dadi.jsonl",
    conda:
        "../../envs/core.yaml"
    resources:
        mem_mb=memory,
    params:
        **stage_params("summarise_dadi", DADI.summary_settings()),
    shell:
        run_stage("summarise_dadi")


rule check_dadi:
    input:
        summary=rules.summarise_dadi.output.summary,
        means=rules.summarise_dadi.output.means,
        selection=rules.summarise_dadi.output.selection,
        least_disparity=rules.summarise_dadi.output.least_disparity,
    output:
        **audited(checks="results/checks/dadi.json"),
    log:
        said="logs/check_dadi.log",
        used="benchmarks/check_dadi.jsonl",
    conda:
        "../../envs/core.yaml"
    resources:
        mem_mb=memory,
    params:
        **stage_params(
            "check_dadi", {"rows": DADI.wanted_rows(), **DADI.summary_settings()}
        ),
    shell:
        run_stage("check_dadi")


rule draw_dadi_figures:
    input:
        catalogue=rules.prepare_data.output.catalogue,
        means=rules.summarise_dadi.output.means,
        selection=rules.summarise_dadi.output.selection,
        singles=rules.summarise_dadi.output.singles,
        audit=rules.summarise_dadi.output.audit,
        curves=lambda w: [
            f"results/agents/dataset={w.dataset}/fold={fold}/curves.parquet"
            for fold in config["dadi"]["folds"]["run"]
        ],
    output:
        **figure_outputs(
            "draw_dadi_figures",
            "results/figures/study=dadi/dataset={dataset}",
            "dadi: fair acquisition against an adversary",
            dataset="{dataset}",
        ),
    log:
        said="logs/draw_dadi_figures/dataset={dataset}.log",
        used="benchmarks/draw_dadi_figures/dataset={dataset}.jsonl",
    conda:
        "../../envs/core.yaml"
    resources:
        mem_mb=memory,
    params:
        **stage_params("draw_dadi_figures", lambda w: DADI.figure_settings(w.dataset)),
    shell:
        run_stage("draw_dadi_figures")


rule write_dadi_answer:
    input:
        summary=rules.summarise_dadi.output.summary,
        means=rules.summarise_dadi.output.means,
        least_disparity=rules.summarise_dadi.output.least_disparity,
        catalogue=rules.prepare_data.output.catalogue,
        picture="results/figures/study=dadi/dataset={dataset}/dadi_tradeoff.png",
    output:
        **audited(
            choice="results/dadi/dataset={dataset}/choice.json",
            sentence="results/dadi/dataset={dataset}/verdict.txt",
            page="results/dadi/dataset={dataset}/answer.html",
        ),
    log:
        said="logs/write_dadi_answer/dataset={dataset}.log",
        used="benchmarks/write_dadi_answer/dataset={dataset}.jsonl",
    conda:
        "../../envs/core.yaml"
    resources:
        mem_mb=memory,
    params:
        **stage_params("write_dadi_answer", lambda w: DADI.answer_settings(w.dataset)),
    shell:
        run_stage("write_dadi_answer")


rule bundle_dadi:
    input:
        unpack(located("described", lambda w: STUDY.described_input(w.dataset))),
        choice=rules.write_dadi_answer.output.choice,
        table=rules.prepare_data.output.table,
        catalogue=rules.prepare_data.output.catalogue,
        weights=lambda w: DADI.bundle_weights(w.dataset),
    output:
        **audited(
            policy="results/bundles/study=dadi/dataset={dataset}/policy.safetensors",
            cases="results/bundles/study=dadi/dataset={dataset}/cases.json",
        ),
    log:
        said="logs/bundle_dadi/dataset={dataset}.log",
        used="benchmarks/bundle_dadi/dataset={dataset}.jsonl",
    conda:
        "../../envs/core.yaml"
    resources:
        mem_mb=memory,
    params:
        **stage_params("bundle_dadi", lambda w: DADI.bundle_settings(w.dataset)),
    shell:
        run_stage("bundle_dadi")


rule dadi:
    """Which features to collect, so that what is predicted is accurate and fair."""
    input:
        rules.summarise_dadi.output.summary,
        rules.check_dadi.output.checks,
        DADI.answer_files("answer.html"),
        expand(
            "results/bundles/study=dadi/dataset={dataset}/cases.json",
            dataset=DADI.datasets,
        ),
        expand(
            "results/figures/study=dadi/dataset={dataset}/{name}.png",
            dataset=DADI.datasets,
            name=figures_of("draw_dadi_figures"),
        ),
    localrule: True
