# Figures: each as PNG and PDF with the table that it shows, and a caption in the report.


use rule stage as draw_scenario_figures with:
    input:
        catalogue=rules.prepare_data.output.catalogue,
        estimates=f"results/estimates/{SCENARIO}/estimates.parquet",
        frequencies=f"results/estimates/{SCENARIO}/frequencies.parquet",
        calibration=f"results/nuisances/{SCENARIO}/calibration.parquet",
        verdicts=rules.give_verdicts.output.verdicts,
    output:
        **figure_outputs("draw_scenario_figures", SCENARIO),
    params:
        settings=config["afape"]["figures"],


use rule stage as draw_study_figures with:
    input:
        summary=rules.summarise_afape.output.summary,
        resamples=STUDY.scenario_files("results/estimates/{scenario}/resamples.parquet"),
        convergence=STUDY.scenario_files("results/estimates/{scenario}/convergence.parquet"),
    output:
        **figure_outputs("draw_study_figures", "study=afape", dataset="all", mechanism="all"),
    params:
        settings=config["afape"]["figures"] | {"cost_unit": STUDY.cost_unit()},


rule afape:
    """What acquisition policies cost at run time, judged from records with gaps."""
    input:
        rules.summarise_afape.output.summary,
        rules.check_afape.output.checks,
        rules.give_verdicts.output.sentence,
        pictures("draw_study_figures", "study=afape"),
        [
            STUDY.scenario_files(f"results/figures/{{scenario}}/{name}.png")
            for name in figures_of("draw_scenario_figures")
        ],
    localrule: True
