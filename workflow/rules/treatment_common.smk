# What the rules of the treatment study share: its checked settings, and the files of its figures.

from frugal.studies.treatment.spec import load_treatment_study

try:
    TREATMENT = load_treatment_study(config, PROJECT)
except FrugalError as error:
    cannot_start(error)


def treatment_figures(stage, kind):
    """The outputs of each figure of a scenario."""
    return figure_outputs(
        stage,
        f"results/figures/study=treatment/dataset={{dataset}}/units={kind}",
        "treatment: searches for a near-optimal treatment",
        prefix="treatment_",
        dataset="{dataset}",
    )


def treatment_figure_files(suffix):
    """The figures of every scenario."""
    folder = "results/figures/study=treatment/dataset={}/units={}/{}.{}"
    kinds = (
        ("drawn", True, "draw_world_figures"),
        ("read", False, "draw_table_figures"),
    )
    return [
        folder.format(dataset, kind, name, suffix)
        for kind, simulated, stage in kinds
        for dataset in TREATMENT.scenarios(simulated=simulated)
        for name in figures_of(stage)
    ]
