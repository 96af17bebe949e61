# Figures: each as PNG and PDF with the table that it shows beside it, and a caption in the report.

FIGURE_CATEGORY = "afape: acquisition policies judged under missing data"


rule draw_scenario_figures:
    input:
        catalogue=rules.prepare_data.output.catalogue,
        estimates="results/estimates/dataset={dataset}/mechanism={mechanism}/estimates.parquet",
        frequencies="results/estimates/dataset={dataset}/mechanism={mechanism}/frequencies.parquet",
        calibration="results/nuisances/dataset={dataset}/mechanism={mechanism}/calibration.parquet",
        verdicts=rules.give_verdicts.output.verdicts,
    output:
        **figure_outputs(
            "draw_scenario_figures",
            "results/figures/dataset={dataset}/mechanism={mechanism}",
            FIGURE_CATEGORY,
            dataset="{dataset}",
            mechanism="{mechanism}",
        ),
    log:
        said="logs/draw_scenario_figures/dataset={dataset}/mechanism={mechanism}.log",
        used="benchmarks/draw_scenario_figures/dataset={dataset}/mechanism={mechanism}.jsonl",
    conda:
        "../../envs/core.yaml"
    resources:
        mem_mb=memory,
    params:
        **stage_params("draw_scenario_figures", config["afape"]["figures"]),
    shell:
        run_stage("draw_scenario_figures")


rule draw_study_figures:
    input:
        summary=rules.summarise_afape.output.summary,
        resamples=STUDY.scenario_files("results/estimates/{scenario}/resamples.parquet"),
        convergence=STUDY.scenario_files(
            "results/estimates/{scenario}/convergence.parquet"
        ),
    output:
        **figure_outputs(
            "draw_study_figures",
            "results/figures/study=afape",
            FIGURE_CATEGORY,
            dataset="all",
            mechanism="all",
        ),
    log:
        said="logs/draw_study_figures.log",
        used="benchmarks/draw_study_figures.jsonl",
    conda:
        "../../envs/core.yaml"
    resources:
        mem_mb=memory,
    params:
        **stage_params(
            "draw_study_figures",
            config["afape"]["figures"] | {"cost_unit": STUDY.cost_unit()},
        ),
    shell:
        run_stage("draw_study_figures")


rule afape:
    """What acquisition policies cost at run time, judged from records with gaps."""
    input:
        rules.summarise_afape.output.summary,
        rules.check_afape.output.checks,
        rules.give_verdicts.output.sentence,
        expand(
            "results/figures/study=afape/{name}.png",
            name=figures_of("draw_study_figures"),
        ),
        [
            STUDY.scenario_files(f"results/figures/{{scenario}}/{name}.png")
            for name in figures_of("draw_scenario_figures")
        ],
    localrule: True
