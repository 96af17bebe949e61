# Candidates of an answer on tables that are divided into folds: learned on the other folds, followed on
# the last one; and once on all rows, which is what is handed out.

CANDIDATES = f"results/candidates/{SCENARIO}"

TRIED = checked(STUDY.candidate_settings)


use rule stage as learn_candidates with:
    input:
        **outputs_of(rules.prepare_data, "table catalogue"),
        masks=rules.draw_missingness.output.masks,
    output:
        **audited(f"{CANDIDATES}/held_out={{held_out}}", "paths policies.safetensors"),
    log:
        **logs("learn_candidates", f"{SCENARIO}/held_out={{held_out}}"),
    params:
        **stage_params("learn_candidates", TRIED),


use rule stage as judge_candidates with:
    input:
        **outputs_of(rules.prepare_data, "table catalogue"),
        **outputs_of(rules.draw_missingness, "masks graph"),
        paths=lambda w: [
            f"{CANDIDATES}/held_out={fold}/paths.parquet".format(**w)
            for fold in STUDY.folds(w.dataset)
        ],
        refitted=f"{CANDIDATES}/held_out=none/paths.parquet",
    output:
        **audited(CANDIDATES, "choice.json outcomes terms"),
    log:
        **logs("judge_candidates", SCENARIO),
    params:
        **stage_params("judge_candidates", STUDY.judging_settings()),
