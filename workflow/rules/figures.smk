# Figures: each as PNG and PDF with the table that it shows beside it, and a caption in the report.

SCENARIO_FIGURES = ["trust", "decision", "cost_split", "frequency", "calibration"]
STUDY_FIGURES = ["convergence", "resamples"]


def figure_outputs(names, folder, **labels):
    """PNG (in the report), PDF and table of each figure, with sidecars."""
    outputs = {}
    for name in names:
        outputs[f"{name}_png"] = report(
            f"{folder}/{name}.png",
            caption=f"../report/{name}.rst",
            category="afape: acquisition policies judged under missing data",
            labels={"figure": name.replace("_", " ")} | labels,
        )
        outputs[f"{name}_pdf"] = f"{folder}/{name}.pdf"
        outputs[f"{name}_table"] = f"{folder}/{name}.parquet"
    return audited(**outputs)


rule draw_scenario_figures:
    input:
        catalogue="results/data/dataset={dataset}/catalogue.json",
        estimates="results/estimates/dataset={dataset}/mechanism={mechanism}/estimates.parquet",
        frequencies="results/estimates/dataset={dataset}/mechanism={mechanism}/frequencies.parquet",
        calibration="results/nuisances/dataset={dataset}/mechanism={mechanism}/calibration.parquet",
    output:
        **figure_outputs(
            SCENARIO_FIGURES,
            "results/figures/dataset={dataset}/mechanism={mechanism}",
            dataset="{dataset}",
            mechanism="{mechanism}",
        ),
    log:
        "logs/draw_scenario_figures/dataset={dataset}/mechanism={mechanism}.log",
    conda:
        "../../envs/core.yaml"
    params:
        arguments=stage_arguments(config["afape"]["figures"]),
        source=source_digest("draw_scenario_figures"),
    shell:
        stage_command


rule draw_study_figures:
    input:
        summary="results/summary/afape.parquet",
        resamples=STUDY.scenario_files("results/estimates/{scenario}/resamples.parquet"),
        convergence=STUDY.scenario_files(
            "results/estimates/{scenario}/convergence.parquet"
        ),
    output:
        **figure_outputs(
            STUDY_FIGURES,
            "results/figures/study=afape",
            dataset="all",
            mechanism="all",
        ),
    log:
        "logs/draw_study_figures.log",
    conda:
        "../../envs/core.yaml"
    params:
        arguments=stage_arguments(
            config["afape"]["figures"] | {"cost_unit": STUDY.cost_unit()}
        ),
        source=source_digest("draw_study_figures"),
    shell:
        stage_command


rule afape:
    input:
        "results/summary/afape.parquet",
        "results/checks/afape.json",
        expand("results/figures/study=afape/{name}.png", name=STUDY_FIGURES),
        STUDY.scenario_files("results/figures/{scenario}/trust.png"),
    localrule: True
