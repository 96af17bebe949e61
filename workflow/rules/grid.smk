# Worlds of known truth: tables × mechanisms × shares of gaps. A world is one step, so that a run that
# was stopped goes on with the next world.

from frugal.studies.afape.spec import Grid

GRID = Grid(STUDY.config["afape"], STUDY.agents)
WORLD = f"{SCENARIO}/missing_share={{missing_share}}"


use rule stage as judge_world with:
    input:
        **outputs_of(rules.prepare_data, "table catalogue"),
        classifier=rules.fit_classifier.output.classifier,
    output:
        **audited(f"results/grid/{WORLD}", "draws estimates"),
    params:
        settings=lambda w: checked(GRID.settings, w.mechanism, float(w.missing_share)),


use rule stage as summarise_grid with:
    input:
        draws=GRID.files("draws.parquet"),
        estimates=GRID.files("estimates.parquet"),
    output:
        **audited("results/summary", "grid grid_estimators"),


rule grid:
    """How often verdicts are right, in worlds of known truth."""
    input:
        rules.summarise_grid.output.grid,
    localrule: True
