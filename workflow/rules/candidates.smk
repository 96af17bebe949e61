# Candidates of an answer on tables that are divided into folds: learned on the other folds, followed on
# the last one; and once on all rows, which is what is handed out.

CANDIDATES = "results/candidates/dataset={dataset}/mechanism={mechanism}"

try:
    TRIED = STUDY.candidate_settings()
except FrugalError as error:
    cannot_start(error)


rule learn_candidates:
    input:
        table=rules.prepare_data.output.table,
        catalogue=rules.prepare_data.output.catalogue,
        masks=rules.draw_missingness.output.masks,
    output:
        **audited(
            paths=f"{CANDIDATES}/held_out={{held_out}}/paths.parquet",
            policies=f"{CANDIDATES}/held_out={{held_out}}/policies.safetensors",
        ),
    log:
        said="logs/learn_candidates/dataset={dataset}/mechanism={mechanism}/held_out={held_out}.log",
        used="benchmarks/learn_candidates/dataset={dataset}/mechanism={mechanism}/held_out={held_out}.jsonl",
    conda:
        "../../envs/core.yaml"
    resources:
        mem_mb=memory,
    params:
        **stage_params("learn_candidates", TRIED),
    shell:
        run_stage("learn_candidates")


rule judge_candidates:
    input:
        table=rules.prepare_data.output.table,
        catalogue=rules.prepare_data.output.catalogue,
        masks=rules.draw_missingness.output.masks,
        graph=rules.draw_missingness.output.graph,
        paths=lambda w: [
            f"{CANDIDATES}/held_out={fold}/paths.parquet".format(**w)
            for fold in STUDY.folds(w.dataset)
        ],
        refitted=f"{CANDIDATES}/held_out=none/paths.parquet",
    output:
        **audited(
            choice=f"{CANDIDATES}/choice.json",
            outcomes=f"{CANDIDATES}/outcomes.parquet",
            terms=f"{CANDIDATES}/terms.parquet",
        ),
    log:
        said="logs/judge_candidates/dataset={dataset}/mechanism={mechanism}.log",
        used="benchmarks/judge_candidates/dataset={dataset}/mechanism={mechanism}.jsonl",
    conda:
        "../../envs/core.yaml"
    resources:
        mem_mb=memory,
    params:
        **stage_params("judge_candidates", STUDY.judging_settings()),
    shell:
        run_stage("judge_candidates")
