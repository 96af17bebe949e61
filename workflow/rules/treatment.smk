# Treatment search: units and their tests, policies learned and played, the summary and its figures.

from frugal.studies.treatment.spec import load_treatment_study

TREATMENT = checked(load_treatment_study, config, PROJECT)
PUBLISHED.append(TREATMENT.fetch_settings)
DRAWN = f"study=treatment/{DATASET}/units=drawn"
READ = f"study=treatment/{DATASET}/units=read"


use rule stage as prepare_searches with:
    input:
        unpack(located(lambda w: TREATMENT.raw_inputs(w.dataset))),
    output:
        **audited(f"results/searches/{DATASET}", "units catalogue.json searches"),
    params:
        settings=lambda w: TREATMENT.prepare_settings(w.dataset),


use rule stage as compare_planners with:
    input:
        unpack(located(lambda w: TREATMENT.compare_inputs(w.dataset))),
    output:
        **audited(f"results/policies/{DATASET}", "scores trials best_after policies"),
    params:
        settings=lambda w: TREATMENT.compare_settings(w.dataset),


# Outside results/: a measurement is not the same twice, and everything there must be.
use rule stage as time_planners with:
    input:
        unpack(located(lambda w: TREATMENT.compare_inputs(w.dataset))),
    output:
        **audited(f"benchmarks/time_planners/{DATASET}", "timings"),
    params:
        settings=lambda w: TREATMENT.compare_settings(w.dataset),


use rule stage as summarise_treatment with:
    input:
        scores=TREATMENT.files("results/policies/dataset={dataset}/scores.parquet"),
        best_after=TREATMENT.files("results/policies/dataset={dataset}/best_after.parquet"),
    output:
        **summarised("treatment", "repeats means curves"),


# CPU seconds differ from run to run, so that no other step may read what has them
use rule stage as add_cpu_times with:
    input:
        repeats=rules.summarise_treatment.output.repeats,
        timings=TREATMENT.files("benchmarks/time_planners/dataset={dataset}/timings.parquet"),
    output:
        **audited(summary="results/summary/treatment.parquet"),


use rule stage as check_treatment with:
    input:
        repeats=rules.summarise_treatment.output.repeats,
        trials=TREATMENT.files("results/policies/dataset={dataset}/trials.parquet"),
    output:
        **audited(checks="results/checks/treatment.json"),
    params:
        settings=TREATMENT.check_settings(),


use rule stage as draw_world_figures with:
    input:
        **outputs_of(rules.summarise_treatment, "means"),
        **outputs_of(rules.compare_planners, "policies"),
    output:
        **figure_outputs("draw_world_figures", DRAWN),
    params:
        settings=lambda w: TREATMENT.figure_settings(w.dataset),


use rule stage as draw_table_figures with:
    input:
        **outputs_of(rules.summarise_treatment, "means curves"),
        **outputs_of(rules.compare_planners, "policies"),
        **outputs_of(rules.prepare_searches, "units catalogue"),
    output:
        **figure_outputs("draw_table_figures", READ),
    params:
        settings=lambda w: TREATMENT.figure_settings(w.dataset),


rule treatment:
    """Which treatment to try next, and when to stop."""
    input:
        rules.add_cpu_times.output.summary,
        rules.check_treatment.output.checks,
        pictures("draw_world_figures", DRAWN, dataset=TREATMENT.scenarios(simulated=True)),
        pictures("draw_table_figures", READ, dataset=TREATMENT.scenarios(simulated=False)),
    localrule: True


PROMISED["treatment"] = rules.treatment.input

if not MODULE:

    use rule stage as explore_treatment with:
        input:
            **outputs_of(rules.summarise_treatment, "means curves"),
            checks=rules.check_treatment.output.checks,
        output:
            **audited(f"{EXPLORED}/study=treatment", "section.json"),
