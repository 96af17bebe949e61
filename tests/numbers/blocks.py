"""Blocks of pages that are made from the tables of a finished default run.

A page names a block in a comment, `<!-- default run: NAME -->` to `<!-- end -->`; what stands
between is what the function of that name makes. How far a number may be off on another type of
processor, where training ends otherwise, is the block's slack.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

_TABLES = ("afape", "diagnosis", "dadi", "treatment", "recourse", "grid")


@dataclass(frozen=True)
class Run:
    """A folder `results/` of the embedded default."""

    folder: Path

    def table(self, name: str) -> Any:
        """A DataFrame of results/summary; typed as anything, as the stubs know too few keys."""
        return pd.read_parquet(self.folder / "summary" / f"{name}.parquet", partitioning=None)

    def unfinished(self) -> str | None:
        """Why this is no finished run of the default, in a sentence; None if it is one."""
        for name in _TABLES:
            if not (self.folder / "summary" / f"{name}.parquet").is_file():
                return (
                    f"{self.folder} has no finished default run: summary/{name}.parquet is absent"
                )
        seeds = set(self.afape["seed"])
        if set(self.afape["dataset"]) != {"synthetic_mnar", "breast_cancer"} or len(seeds) != 3:
            return f"{self.folder} has the run of another config than the default"
        return None

    @cached_property
    def afape(self) -> Any:
        """The summary of `afape`."""
        return self.table("afape")


@dataclass(frozen=True)
class Block:
    """What makes a block, and by how much its numbers may be off on another processor.

    Attributes:
        make: the text, of a run.
        slack: absolute for numbers up to 1, a share of larger ones; 0: the same digits everywhere.
    """

    make: Callable[[Run], str]
    slack: float


def table(head: list[str], rows: list[list[str]]) -> str:
    """A table of Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def short(value: float, digits: int = 2) -> str:
    """A share."""
    return f"{value:.{digits}f}".replace("-", "−")


def afape_verdict(run: Run) -> str:
    """The sentence of the first scenario."""
    first = (run.folder / "summary" / "verdict.txt").read_text(encoding="utf-8").splitlines()[0]
    return "> " + first.partition(". ")[2]


def _truths(run: Run) -> Any:
    """True cost of each policy, mean over seeds; rows: data set and mechanism."""
    truth = run.afape[run.afape["estimator"] == "ground_truth"]
    return truth.pivot_table(
        index=["dataset", "mechanism"], columns="agent", values="estimate", aggfunc="mean"
    )


def afape_learner(run: Run) -> str:
    """True cost of the learned policy beside others."""
    rows = []
    for (dataset, mechanism), cost in _truths(run).iterrows():
        best = cost.idxmin()
        costs = [f"{cost[agent]:.2f}" for agent in ("dqn", "always", "never")]
        rows.append([f"`{dataset}`", mechanism.upper(), *costs, f"`{best}` {cost[best]:.2f}"])
    head = [
        "table",
        "mechanism of training",
        "DQN",
        "always",
        "never",
        "cheapest of eleven policies",
    ]
    return table(head, rows)


def three_ways(run: Run) -> str:
    """The caption of the first picture of the gallery."""
    words = {11: "Eleven"}
    found = run.afape[run.afape["dataset"] == "synthetic_mnar"]
    truth = found[found["estimator"] == "ground_truth"].set_index(["seed", "agent"])["estimate"]
    more, right = {}, {}
    for name in ("imputation_chained_trees", "blocking", "stabilised_afais_s_policy"):
        told = found[(found["estimator"] == name) & (found["status"] == "ok")]
        regrets = []
        for seed, rows in told.groupby("seed"):
            pick = rows.set_index("agent")["estimate"].idxmin()
            regrets.append(truth[seed][pick] - truth[seed].min())
        more[name], right[name] = regrets[0], sum(r == 0 for r in regrets)
    policies = words[found["agent"].nunique()]
    rows = f"{int(found['n'].max()):,}"
    return (
        "*Missing values mislead the choice of a policy. Filling them in picks one that costs "
        f"{short(more['imputation_chained_trees'])} more per case than the best; reusing "
        "incomplete records, as AFAIS does, picks the best.*\n\n"
        f"{policies} policies are judged on {rows} simulated records. Judged on the records as "
        f"they are, the choice costs {short(more['blocking'])} more. AFAIS (active feature "
        "acquisition importance sampling) is right in "
        f"{right['stabilised_afais_s_policy']} of {len(set(found['seed']))} repetitions of the "
        "default run. `python docs/figures/three_estimators.py .` draws the figure."
    )


_FAMILIES = {
    "sm_ddpo_pretrain": "SM-DDPO, pretrained",
    "sm_ddpo_end2end": "SM-DDPO, end to end",
    "stacked": "`stacked`: trees and a network",
    "lattice": "`lattice` of trees",
    "cascade": "`cascade` of trees",
    "permutation": "permutation importance",
    "greedy": "greedy information gain per cost",
    "cwcf": "CWCF",
    "fixed": "fixed selection",
    "random": "random selection",
    "bayes_static": "exact rule on the best fixed panels",
}


def _chosen(run: Run, dataset: str, criterion: str = "f1") -> Any:
    """Solutions that validation chose, by method and share of the price."""
    found = run.table("diagnosis_budgets")
    mine = (found["dataset"] == dataset) & (found["criterion"] == criterion)
    return found[mine & (found["score"] == criterion)].set_index(["method", "budget_share"])


def diagnosis_clinic(run: Run) -> str:
    """F1 of each family within each budget."""
    chosen = _chosen(run, "clinical_simulator")
    areas = run.table("diagnosis_hypervolumes")
    areas = areas[(areas["dataset"] == "clinical_simulator") & (areas["criterion"] == "f1")]
    area = areas[areas["score"] == "f1"].set_index("method")["hypervolume"]
    rows = []
    for method, label in _FAMILIES.items():
        cells, before = [], None
        for share in (0.1, 0.2, 0.4, 1.0):
            if (method, share) not in chosen.index:
                cells.append("")
                continue
            one = chosen.loc[(method, share)]
            spread = f" ± {one['f1_se']:.3f}" if share == 0.4 else ""
            text = f"{one['f1']:.3f}{spread} at ${one['cost']:.0f}"
            cells.append("the same" if before == one["cost"] else text)
            before = one["cost"]
        rows.append([label, *cells, f"{area[method]:.3f}"])
    best = chosen.loc[("best_full_baseline", 1.0)]
    full = f"{best['f1']:.3f} ± {best['f1_se']:.3f} at ${best['cost']:.0f}"
    fixed = chosen[chosen.index.get_level_values(0).str.endswith("_fixed")].xs(0.4, level=1)
    low, high = fixed["f1"].min(), fixed["f1"].max()
    rows.append(["best classifier on all panels", "", "", "", full, ""])
    some = f"{low:.2f} to {high:.2f} at ${fixed['cost'].iloc[0]:.0f}"
    rows.append(["classifiers on full chemistry and blood count", "", "", some, "", ""])
    return table(["", "within 10 %", "within 20 %", "within 40 %", "no limit", "area"], rows)


def diagnosis_breast_cancer(run: Run) -> str:
    """Its front beside the best classifier on all panels."""
    name = "breast_cancer_diagnosis"
    by_f1, by_am = _chosen(run, name), _chosen(run, name, "am")
    ours, best = (by_f1.loc[(m, 1.0)] for m in ("sm_ddpo_end2end", "best_full_baseline"))
    am, am_best = (by_am.loc[(m, 1.0)] for m in ("sm_ddpo_end2end", "best_full_baseline"))
    areas = run.table("diagnosis_hypervolumes").set_index(
        ["dataset", "method", "criterion", "score"]
    )
    area = areas.loc[(name, "sm_ddpo_end2end", "f1", "f1")]
    return (
        f"SM-DDPO has F1 {ours['f1']:.2f} ± {ours['f1_se']:.2f} at {ours['cost']:.2f} "
        f"({100 * ours['cost_share']:.0f} % of the full cost), the best classifier on all panels "
        f"{best['f1']:.2f} ± {best['f1_se']:.2f}. With the front for AM, the mean of sensitivity "
        f"and specificity, it is {am['am']:.3f} against {am_best['am']:.3f}. The area of the front "
        f"that validation chose is {area['hypervolume']:.3f}, that of the envelope on the test "
        f"units {area['envelope_hypervolume']:.3f}."
    )


def dadi_selection(run: Run) -> str:
    """From whom each feature is collected at γ = 0.5."""
    found = run.table("dadi_selection")
    found = found[(found["dataset"] == "telling_loans") & (found["gamma"] == 0.5)]
    rows = []
    for level in sorted(found["stratum"].unique()):
        mine = found[found["stratum"] == level].set_index("panel")
        unfair = mine[mine.index.str.startswith("unfair")]["frequency"].max()
        cells = [_share(mine.loc[f"fair X{k}"]) for k in (1, 2, 3)]
        cells += [short(unfair), _share(mine.loc["X9"]), _share(mine.loc["X10"])]
        rows.append([f"X9 = {level}", *cells])
    head = ["from those with", "X1", "X2", "X3", "X5, X6, X7 at most", "X9", "X10"]
    return table(head, rows)


def _share(one: Any) -> str:
    """Mean of the folds, and the folds where they differ."""
    low, high = one["frequency_least"], one["frequency_most"]
    folds = f" ({short(low)}, {short(high)})" if high - low > 0.05 else ""
    return f"{short(one['frequency'])}{folds}"


def dadi_means(run: Run) -> str:
    """Accuracy and disparity of the default."""
    found = run.table("dadi_means").set_index("method")
    agents = found.loc["dadi"].set_index("gamma").sort_index()
    half, full = agents.loc[0.5], found.loc["full_features"]
    four = found.loc["forward_fair_4"]
    gammas = ", ".join(f"{gamma:g}" for gamma in agents.index)
    auc = ", ".join(short(value, 3) for value in agents["auc"])
    gap = ", ".join(short(value, 3) for value in agents["disparity"])
    return (
        f"At γ = 0.5 the AUC is {short(half['auc'], 3)} at a disparity of "
        f"{short(half['disparity'], 3)}. The best of three outsiders finds the group with "
        f"{short(half['audit_auc'], 3)}, from all panels with {short(full['audit_auc'], 3)}. "
        "The best set of at most four panels for everybody (`forward_fair_4`) has "
        f"{short(four['auc'], 3)} at {short(four['disparity'], 3)}. At γ = {gammas} the AUC is "
        f"{auc}. Disparity is {gap}, against {short(full['disparity'], 3)} of all panels."
    )


def treatment_growth(run: Run) -> str:
    """Efficacy and trials as records grow."""
    found = run.table("treatment_means")
    asked = found["threshold"].eq(0.4) & found["bound"].eq("upper") & found["planner"].ne("ndp")
    asked |= found["threshold"].eq(0.35) & found["planner"].eq("ndp")
    found = found[asked & found["n_train"].isin([50, 5000])]
    cells = found.set_index(["outcome_model", "planner", "n_train"])
    rows = []
    for model in ("smoothed", "forest"):
        for planner in ("cdp", "cg", "ndp"):
            few, many = (cells.loc[(model, planner, n)] for n in (50, 5000))
            efficacy = [short(one["efficacy"], 3) for one in (few, many)]
            trials = [f"{one['mean_trials']:.2f}" for one in (few, many)]
            rows.append([model, planner.upper(), *efficacy, *trials])
    head = ["model", "planner", "efficacy, n = 50", "n = 5,000", "trials, n = 50", "n = 5,000"]
    return table(head, rows)


def recourse_accuracy(run: Run) -> str:
    """How often each generator is right, before and after the repair."""
    found = run.table("recourse")
    found = found[(found["variant"] == "dim_20") & (found["actions"].astype(str) == "all")]
    every = found[found["subset"] == "all"].set_index("generator")
    frequent = found[found["subset"] == "more_than_10"].set_index("generator")["accuracy"]
    rows = [
        [
            f"`{name}`",
            f"{one['accuracy']:.3f}",
            f"{frequent[name]:.3f}",
            f"{one['repaired_accuracy']:.3f}",
            f"{100 * one['empty_share']:.0f} %",
        ]
        for name, one in every.iterrows()
    ]
    head = ["generator", "all", "sets of more than 10 units", "all, repaired", "without an action"]
    return table(head, rows)


def grid_default(run: Run) -> str:
    """Verdicts in the default's world."""
    worlds = run.table("grid").set_index("graph")
    by = run.table("grid_estimators").set_index(["graph", "estimator"])
    graphs = ("true", "mcar")

    def cells(text: Callable[[str], str]) -> list[str]:
        return [text(graph) for graph in graphs]

    def of(column: str) -> list[str]:
        return cells(lambda g: f"{worlds.loc[g, column]} of {worlds.loc[g, 'draws']}")

    def wrong(name: str) -> list[str]:
        return cells(
            lambda g: f"{by.loc[(g, name), 'wrong_picks']} of {by.loc[(g, name), 'picks']}"
        )

    best = cells(
        lambda g: (
            f"{worlds.loc[g, 'decided']} of {worlds.loc[g, 'draws']}"
            if np.isclose(float(worlds.loc[g, "regret"]), 0.0)
            else f"regret {worlds.loc[g, 'regret']:.3f}"
        )
    )
    hold = cells(lambda g: f"{worlds.loc[g, 'covered']} of {worlds.loc[g, 'intervals']}")
    width = cells(
        lambda g: f"{short(worlds.loc[g, 'bias'], 3)}, {short(worlds.loc[g, 'width'], 3)}"
    )
    rows = [
        ["verdict names the best policy", *best],
        ["sure, of these wrong", *cells(lambda g: f"{worlds.loc[g, 'sure_draws']}")],
        ["records contradict the graph", *of("refuted_draws")],
        ["intervals that hold the truth (stabilised AFAIS(s), policy known)", *hold],
        ["mean error, mean width", *width],
        ["wrong picks by stabilised IPW", *wrong("stabilised_ipw")],
        ["wrong picks by complete cases", *wrong("complete_case")],
        ["wrong picks by blocking", *wrong("blocking")],
    ]
    return table(["", "under the true graph", "under MCAR"], rows)


def gallery_diagnosis(run: Run) -> str:
    """A learned policy beside fixed panels."""
    chosen = _chosen(run, "clinical_simulator")
    learned, fixed = (chosen.loc[(m, 0.4)] for m in ("stacked", "bayes_static"))
    return (
        f"A learned policy (`stacked`) reaches an F1 of {learned['f1']:.2f} at "
        f"{100 * learned['cost_share']:.0f} % of the price of all panels. The exact rule that "
        f"orders the same panels for everyone has {fixed['f1']:.2f} within 40 %."
    )


def gallery_dadi(run: Run) -> str:
    """From whom features are collected, and what that gives away."""
    found = run.table("dadi_selection")
    found = found[(found["dataset"] == "telling_loans") & (found["gamma"] == 0.5)]
    at = found.set_index(["panel", "stratum"])["frequency"]
    fair = min(at[f"fair X{k}"].min() for k in (1, 2, 3))
    means = run.table("dadi_means").set_index(["method", "gamma"])["audit_auc"]
    group = float(means.loc[("dadi", 0.5)])
    everything = float(means.loc["full_features"].iloc[0])
    return (
        f"At γ = 0.5 the fair features X1 to X3 are collected from {100 * fair:.0f} % and more, "
        f"the unfair ones from {100 * max(at[f'unfair X{k}'].max() for k in (5, 6, 7)):.0f} %. "
        "X10, which reveals the group unless X9 = 0, is collected from "
        f"{100 * at['X10'].iloc[0]:.0f} % of those with X9 = 0 and at most "
        f"{100 * at['X10'].iloc[1:].max():.1f} % of the others. Outsiders who learn afterwards "
        f"from the collected panels find the group with an AUC of {group:.2f}, from all features "
        f"with {everything:.2f}."
    )


BLOCKS = {
    "three_ways": Block(three_ways, 0.3),
    "afape_verdict": Block(afape_verdict, 0.3),
    "afape_learner": Block(afape_learner, 0.5),
    "grid_default": Block(grid_default, 0.02),
    "diagnosis_clinic": Block(diagnosis_clinic, 0.3),
    "diagnosis_breast_cancer": Block(diagnosis_breast_cancer, 0.3),
    "dadi_selection": Block(dadi_selection, 0.6),
    "dadi_means": Block(dadi_means, 0.1),
    "treatment_growth": Block(treatment_growth, 0.02),
    "recourse_accuracy": Block(recourse_accuracy, 0.1),
    "gallery_diagnosis": Block(gallery_diagnosis, 0.3),
    "gallery_dadi": Block(gallery_dadi, 0.6),
}
