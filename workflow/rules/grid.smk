# Worlds of known truth: tables × mechanisms × shares of gaps. A world is one step, so that a run that
# was stopped goes on with the next world.

from frugal.studies.afape.grid import Grid

GRID = Grid(STUDY.config["afape"], STUDY.agents)


rule judge_world:
    input:
        table=rules.prepare_data.output.table,
        catalogue=rules.prepare_data.output.catalogue,
        classifier=rules.fit_classifier.output.classifier,
    output:
        **audited(
            draws="results/grid/dataset={dataset}/mechanism={mechanism}/missing_share={missing_share}/draws.parquet",
            estimates="results/grid/dataset={dataset}/mechanism={mechanism}/missing_share={missing_share}/estimates.parquet",
        ),
    log:
        said="logs/judge_world/dataset={dataset}/mechanism={mechanism}/missing_share={missing_share}.log",
        used="benchmarks/judge_world/dataset={dataset}/mechanism={mechanism}/missing_share={missing_share}.jsonl",
    conda:
        "../../envs/core.yaml"
    resources:
        mem_mb=memory,
    params:
        **stage_params(
            "judge_world",
            lambda w: GRID.settings(w.mechanism, float(w.missing_share)),
        ),
    shell:
        run_stage("judge_world")


rule summarise_grid:
    input:
        draws=GRID.files("draws.parquet"),
        estimates=GRID.files("estimates.parquet"),
    output:
        **audited(
            grid="results/summary/grid.parquet",
            grid_estimators="results/summary/grid_estimators.parquet",
        ),
    log:
        said="logs/summarise_grid.log",
        used="benchmarks/summarise_grid.jsonl",
    conda:
        "../../envs/core.yaml"
    resources:
        mem_mb=memory,
    params:
        **stage_params("summarise_grid"),
    shell:
        run_stage("summarise_grid")


rule grid:
    """How often verdicts are right, in worlds of known truth."""
    input:
        rules.summarise_grid.output.grid,
    localrule: True
