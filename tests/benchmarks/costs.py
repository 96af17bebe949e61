"""Costs of all stages: fits config/costs.yaml to runs of several sizes, checks it at others.

Run: python -m tests.benchmarks.costs fit         (some 15 CPU minutes; writes config/costs.yaml)
     python -m tests.benchmarks.costs held_out    (some 10; sizes that were not used to fit it)
     python -m tests.benchmarks.costs held_out FOLDER   (measured before, by a run of the same)
All five studies are run at each size, one job at a time, in a folder of their own; CPU seconds and
peak MB are those that jobs wrote as they ended. `held_out` prints predicted against measured.
"""

import copy
import subprocess
import sys
import tempfile
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

import yaml
from frugal.run.cost_fit import costs_yaml, fitted_costs, measured_jobs
from frugal.run.plans import amount, cost_of, load_costs

from tests.defaults import DEFAULT

ROOT = Path(__file__).parents[2]
COSTS = ROOT / "config" / "costs.yaml"
REMARKS = (
    "What one job takes, for `snakemake plan`, the line before a run and `mem_mb` of every rule:",
    "CPU seconds and MB of its start, and `more` of them by its sizes, each to the power given:",
    "  start + more * (size / reference) ^ exponent * …",
    "An amount with most_rows does not grow with more rows: the stage takes blocks of rows.",
    "Measured by the jobs themselves and fitted by `python -m tests.benchmarks.costs fit`, which",
    "writes this file; run it on your machine for seconds of your machine. Entries of what it does",
    "not run (audit, choose, fetch_…, plan, report, …) are kept as they stand: those are guesses.",
)
TABLES = {  # every stage of these, but no figure
    "results/checks/afape.json",
    "results/checks/dadi.json",
    "results/checks/diagnosis.json",
    "results/checks/recourse.json",
    "results/checks/treatment.json",
    "results/summary/treatment.parquet",
    "results/imputers/dataset=sized_clinic/comparison.parquet",
}
LOANS = ["fair X1", "fair X2", "fair X3", "unfair X5", "unfair X6", "unfair X7", "X10"]
CLINIC = ["basic chemistry", "blood count", "hormones", "inflammation", "assay", "full chemistry"]


@dataclass(frozen=True)
class Point:
    """One size of each study.

    Attributes:
        rows: of the afape table.
        panels: of the afape table.
        seeds: of afape.
        training: share of the default's training that agents get; 0: none but dqn is trained.
        loans: rows of dadi.
        loan_panels: of dadi.
        gammas: of dadi.
        iterations: of dadi.
        patients: of diagnosis.
        clinic_panels: of diagnosis.
        pairs: policies of a front.
        loops: outer loops of a front.
        imputed: (rows, seeds) of the comparison of imputers.
        learnt_from: units of the treatment study's policies.
        repeats: of the treatment study.
        draws: of the recourse study.
        actions: of the recourse study.
        epochs: share of the default's, of recourse.
        logistic: a second scenario of afape has logistic nuisances.
    """

    rows: int
    panels: int
    seeds: int
    training: float
    loans: int
    loan_panels: int
    gammas: int
    iterations: int
    patients: int
    clinic_panels: int
    pairs: int
    loops: int
    imputed: tuple[int, int]
    learnt_from: tuple[int, ...]
    repeats: int
    draws: int
    actions: int
    epochs: float
    logistic: bool = False


FIT = {
    "a": Point(3_000, 3, 1, 0.1, 2_000, 8, 3, 200, 1_500, 6, 3, 4, (200, 1), (50, 250), 2,
               2_000, 60, 0.3),
    "b": Point(24_000, 3, 2, 0.0, 24_000, 8, 2, 200, 8_000, 4, 3, 8, (600, 1), (50, 1_000), 5,
               8_000, 60, 0.3),
    "c": Point(5_000, 6, 1, 0.0, 4_000, 4, 3, 400, 3_000, 3, 8, 4, (400, 2), (50, 250), 8,
               3_000, 100, 0.3, logistic=True),
    "d": Point(5_000, 3, 5, 0.0, 8_000, 8, 6, 200, 3_000, 6, 6, 12, (200, 3),
               (50, 250, 1_000, 5_000), 3, 14_000, 100, 0.3, logistic=True),
    "e": Point(12_000, 5, 3, 0.3, 10_000, 6, 3, 600, 5_000, 6, 4, 8, (800, 2), (1_000, 5_000), 4,
               5_000, 80, 0.8),
}  # fmt: skip
HELD_OUT = {
    "small": Point(4_000, 4, 2, 0.15, 3_000, 7, 2, 300, 2_200, 5, 4, 6, (300, 2), (50, 500), 3,
                   2_500, 80, 0.4, logistic=True),
    "middle": Point(9_000, 5, 3, 0.2, 12_000, 8, 4, 300, 5_000, 5, 5, 8, (500, 2), (250, 2_500), 5,
                    6_000, 70, 0.5),
    "large": Point(30_000, 4, 3, 0.2, 30_000, 6, 5, 500, 9_000, 6, 6, 10, (900, 1), (1_000, 8_000),
                   6, 12_000, 100, 0.5),
}  # fmt: skip


def share(count, of):
    """That share of a whole number, at least one."""
    return max(1, round(count * of))


def world(point):
    """Description of a simulated table of that many rows and panels, a column each."""
    document = yaml.safe_load((ROOT / "config/datasets/synthetic_mnar.yaml").read_text())
    names = [f"X{k + 1}" for k in range(point.panels + 1)]
    document |= {"name": "sized_world"}
    document["source"]["generator"]["population"] = 2 * point.rows
    document["columns"] = [{"name": n, "type": "numeric", "unit": "1"} for n in names]
    document["panels"] = [{"name": "X1", "columns": ["X1"], "free": True}]
    document["panels"] += [{"name": n, "columns": [n], "cost": 0.85} for n in names[1:]]
    parts = {"train": 0.1, "agent": 0.1, "nuisance": 0.5, "test": 0.3}
    document["split"]["parts"] = {k: share(point.rows, v) for k, v in parts.items()}
    return document


def clinic(point):
    """Description of a simulated clinic of that many patients and panels."""
    document = yaml.safe_load((ROOT / "config/datasets/clinical_simulator.yaml").read_text())
    document |= {"name": "sized_clinic"}
    kept = CLINIC[: point.clinic_panels]
    document["panels"] = [p for p in document["panels"] if p.get("free") or p["name"] in kept]
    shown = {name for panel in document["panels"] for name in panel["columns"]}
    document["columns"] = [c for c in document["columns"] if c["name"] in shown]
    generator = document["source"]["generator"]
    generator["features"] = [f for f in generator["features"] if f["name"] in shown]
    parts = {"encoder": 0.25, "encoder_validation": 0.05, "agent": 0.5, "validation": 0.1,
             "test": 0.1}  # fmt: skip
    document["split"]["parts"] = {k: share(point.patients, v) for k, v in parts.items()}
    return document


def afape(point, default):
    """The block of afape: one scenario, or two."""
    agents = dict.fromkeys(default["agents"])
    agents |= {name: {} for name in ("random_10", "random_50", "random_90", "always", "never")}
    agents["dqn"] = {"transitions": share(200_000, max(point.training, 0.05))}
    if point.training:
        learn = {name: default["agents"][name] for name in ("cwcf", "greedy", "sm_ddpo", "dadi")}
        agents["sb3_ppo"] = {"steps": share(30_000, point.training)}
        agents["cwcf"] = {
            "dqn": {"transitions": share(learn["cwcf"]["dqn"]["transitions"], point.training)}
        }
        agents["greedy"] = {"updates": share(learn["greedy"]["updates"], point.training)}
        loops = share(learn["sm_ddpo"]["training"]["outer_loops"], point.training)
        agents["sm_ddpo"] = {"training": {"outer_loops": loops, "patience": loops}}
        training = learn["dadi"]["training"]
        kept = ("pretraining_iterations", "iterations", "exploration_iterations", "evaluate_every")
        agents["dadi"] = {"training": {k: share(training[k], point.training) for k in kept}}
    gaps = {f"X{k + 2}": {"intercept": 1.0, "values": {"X1": 0.5}} for k in range(point.panels)}
    scenario = {
        "dataset": "sized_world",
        "missingness": {
            "source": "induced", "standardise": False, "complete_share": 0.2, "panels": gaps,
        },
        "s": None,
    }  # fmt: skip
    scenarios = [scenario | {"mechanism": "mar", "nuisance_method": "network"}]
    if point.logistic:
        scenarios.append(scenario | {"mechanism": "mar_too", "nuisance_method": "logistic"})
    return {"seeds": [*range(point.seeds)], "agents": agents, "scenarios": scenarios}


def dadi(point):
    """The block of dadi: one fold of simulated loans."""
    gammas = [k / max(1, point.gammas - 1) for k in range(point.gammas)]
    training = {
        "pretraining_iterations": point.iterations // 2,
        "iterations": point.iterations,
        "exploration_iterations": point.iterations // 2,
        "evaluate_every": point.iterations // 2,
    }
    scenario = {
        "dataset": "telling_loans", "rows": point.loans,
        "withheld_panels": LOANS[: 8 - point.loan_panels],
        "networks": {"memory_width": 32, "encoding_width": 16, "head_width": 32},
        "gammas": None, "selection_by": "X9", "shown_gammas": [gammas[0]], "caution": None,
    }  # fmt: skip
    return {
        "folds": {"run": [0]}, "gammas": gammas, "training": training, "scenarios": [scenario],
    }  # fmt: skip


def diagnosis(point, default):
    """The block of diagnosis: one front on a simulated clinic."""
    cwcf = share(default["selection"]["cwcf"]["dqn"]["transitions"], 0.02 * point.loops)
    rows, seeds = point.imputed
    shown = {"dataset": "sized_clinic", "method": "sm_ddpo_end2end", "criterion": "f1", "seed": 0}
    return {
        "pairs": {"ratios": [2], "penalties": [*range(2, 2 + point.pairs)]},
        "training": {"outer_loops": point.loops, "patience": point.loops},
        "selection": {"cwcf": {"dqn": {"transitions": cwcf}}},
        "imputer_comparison": {"most_rows": rows, "seeds": [*range(seeds)]},
        "figures": shown, "choose": shown,
        "scenarios": [{
            "dataset": "sized_clinic", "encoder": "emflow", "methods": ["sm_ddpo_end2end"],
            "criteria": ["f1"], "seeds": [0],
            "baselines": default["scenarios"][0]["baselines"],
            "fixed_panels": ["basic chemistry", "blood count"],
            "selection": default["scenarios"][0]["selection"],
            "agents": default["scenarios"][0]["agents"], "compare_imputers": True,
        }],
    }  # fmt: skip


def treatment(point, default):
    """The block of treatment: the default's world and sweep, learnt from fewer units."""
    grids = default["scenarios"]["synthetic"]["grids"]
    sizes = grids["sizes"] | {"n_train": [*point.learnt_from]}
    sweep = grids["sweep"] | {"n_train": [point.learnt_from[-1]]}
    scenario = {"seeds": point.repeats, "grids": {"sizes": sizes, "sweep": sweep}}
    return {"scenarios": {"synthetic": scenario}}


def recourse(point, default):
    """The block of recourse: one simulated world."""
    scenario = dict(default["scenarios"][0])
    scenario["source"] = scenario["source"] | {"draws": point.draws, "actions": point.actions}
    generators = {
        name: {"epochs": share(chosen["epochs"], point.epochs)}
        for name, chosen in default["generators"].items()
        if chosen is not None and "epochs" in chosen
    }
    return {"generators": generators, "scenarios": [scenario | {"subsets": ["all"]}]}


def write_study(folder, point):
    """The config and the descriptions of one size; returns the config's path."""
    default = copy.deepcopy(DEFAULT)
    folder.mkdir(parents=True, exist_ok=True)
    for name, document in (("sized_world", world(point)), ("sized_clinic", clinic(point))):
        (folder / f"{name}.yaml").write_text(yaml.safe_dump(document, sort_keys=False))
    config = {
        "datasets": {n: str(folder / f"{n}.yaml") for n in ("sized_world", "sized_clinic")},
        "afape": afape(point, default["afape"]),
        "dadi": dadi(point),
        "diagnosis": diagnosis(point, default["diagnosis"]),
        "treatment": treatment(point, default["treatment"]),
        "recourse": recourse(point, default["recourse"]),
    }
    path = folder / "study.yaml"
    path.write_text(yaml.safe_dump(config, sort_keys=False))
    return path


def run(folder, point, *, figures):
    """Run all studies at one size; returns the folder of what was measured."""
    config = write_study(folder, point)
    snakemake = str(Path(sys.executable).with_name("snakemake"))
    words = ["--cores", "1", "--directory", str(folder), "--configfile", str(config), "--quiet",
             "all", "--", *(["all"] if figures else sorted(TABLES))]  # fmt: skip
    subprocess.run([snakemake, *words], cwd=ROOT, check=True)
    return folder / "benchmarks"


def fit(folder):
    """Run the sizes to fit, write config/costs.yaml anew."""
    for name, point in FIT.items():
        run(folder / name, point, figures=name == "a")
    refit(folder)


def refit(folder):
    """Write config/costs.yaml anew from the runs of that folder."""
    measured = [job for name in FIT for job in measured_jobs(folder / name / "benchmarks")]
    costs = fitted_costs(measured, load_costs(COSTS))
    COSTS.write_text(costs_yaml(costs, REMARKS))
    load_costs(COSTS)
    cpu_s = sum(job.amounts["cpu_s"] for job in measured)
    print(f"{len(measured)} jobs, {cpu_s:.0f} CPU s, written to {COSTS.relative_to(ROOT)}")
    compare(measured, "the sizes that were fitted")


def held_out(folder):
    """Run the sizes that were left out, and compare them with the plan."""
    for name, point in HELD_OUT.items():
        run(folder / name, point, figures=True)
    held_out_again(folder)


def held_out_again(folder):
    """Compare the runs of that folder with the plan."""
    for name in HELD_OUT:
        compare(measured_jobs(folder / name / "benchmarks"), f"size {name}, not used to fit")


def compare(measured, title):
    """Per stage: CPU seconds of all jobs and peak MB, predicted and measured, and the factor."""
    costs, found = load_costs(COSTS), defaultdict(list)
    for each in measured:
        cost, _ = cost_of(each.job, costs)
        assert cost is not None, f"{each.job.stage} was measured and is not in the table"
        predicted = {n: amount(cost, n, each.job, costs.reference) for n in each.amounts}
        found[each.job.stage].append((each.amounts, predicted))
    names = ("jobs", "CPU s", "planned", "factor", "MB", "planned", "factor")
    print(f"\n{title}\n{'stage':<24}" + "".join(f"{name:>9}" for name in names))
    rows = []
    for stage, pairs in sorted(found.items()):
        cpu, plan = (sum(pair[k]["cpu_s"] for pair in pairs) for k in (0, 1))
        peak, stated = (max(pair[k]["memory_mb"] for pair in pairs) for k in (0, 1))
        rows.append((stage, cpu, plan, cpu / len(pairs), stated / peak))
        print(f"{stage:<24}{len(pairs):>9}{cpu:>9.1f}{plan:>9.1f}{plan / cpu:>9.2f}"
              f"{peak:>9.0f}{stated:>9.0f}{stated / peak:>9.2f}")  # fmt: skip
    for what, least in (("all stages", 0), ("stages with jobs of 3 CPU s and more", 3)):
        factors = [max(plan / cpu, cpu / plan) for _, cpu, plan, mean, _ in rows if mean >= least]
        within = sum(factor <= 1.5 for factor in factors)
        print(f"{what}: CPU within a factor of 1.5 in {within} of {len(factors)}")
    measured_s, planned_s = (sum(row[k] for row in rows) for k in (1, 2))
    print(f"all together: {measured_s:.0f} CPU s, planned {planned_s:.0f}")
    short = [stage for stage, *_, memory in rows if memory * 1.25 < 1]
    print(f"peaks above `mem_mb`, a quarter above the plan: {', '.join(short) or 'none'}")


COMMANDS = {"fit": (fit, refit), "held_out": (held_out, held_out_again)}


def main():
    """`fit` or `held_out`, and the folder of runs made before."""
    words = sys.argv[1:] or ["held_out"]
    if len(words) > 2 or words[0] not in COMMANDS:
        sys.exit(__doc__)
    anew, again = COMMANDS[words[0]]
    if len(words) == 2:
        again(Path(words[1]))
        return
    with tempfile.TemporaryDirectory() as folder:
        anew(Path(folder))


if __name__ == "__main__":
    main()
