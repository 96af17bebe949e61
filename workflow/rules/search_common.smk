# What the rules of the treatment study share: its checked settings, and the files of its figures.

from frugal.studies.treatment.spec import load_search_study

try:
    SEARCHES = load_search_study(config, Path(workflow.basedir))
except FrugalError as error:
    cannot_start(error)


WORLD_FIGURES = ["data_size", "size_curves", "tradeoff", "bounds", "thresholds", "tree"]
TABLE_FIGURES = ["search_curves", "table_tradeoff", "delta", "price", "tree"]


def search_figures(names, kind):
    """The outputs of each figure of a scenario."""
    return figure_outputs(
        names,
        f"results/figures/study=treatment/dataset={{dataset}}/units={kind}",
        "treatment: searches for a near-optimal treatment",
        caption="../report/search_{}.rst",
        dataset="{dataset}",
    )


def search_figure_files(suffix):
    """One figure per scenario stands for all that its job draws."""
    folder = "results/figures/study=treatment/dataset={}/units={}/tree.{}"
    return [
        folder.format(name, kind, suffix)
        for kind, simulated in (("drawn", True), ("read", False))
        for name in SEARCHES.scenarios(simulated=simulated)
    ]
