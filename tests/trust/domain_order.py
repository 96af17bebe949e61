"""A fixed order of panels against greedy information gain, on replayed stays: PhysioNet 2012.

  OMP_NUM_THREADS=1 python -m tests.trust.domain_order MIRROR [DRAWS]

MIRROR is that of `ordering_habit`. Conditions are those of the repository Rex123-hash/ClinicVerse
(docs/M4_DESIGN.md, configs). Of the hours with a panel 60 % are hidden. After 12 hours a policy
requests panels within a budget. A request shows the hidden values up to then; it is paid if there
are none. A result is the area under the log-loss over budgets, shares of the price of all panels.
DRAWS (1) draws folds, trees and hidden hours; a last one has logistic regressions, no trees.
"""

import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path

import numpy as np
from frugal.data.stays import Measurements
from scipy.special import expit, logit
from scipy.stats import entropy
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from xgboost import XGBClassifier

from tests.trust.ordering_habit import read

RECORDED, HOURS, REQUESTED_AT, HIDDEN = 48, 24, 12, 0.6
SEED, FOLDS, BOOTSTRAPS, DONORS = 20260809, 5, 1000, 8
BUDGETS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.75, 1.0)
PUBLISHED = {"none": 0.32696, "fixed order": 0.31941, "greedy": 0.32659}
POLICIES = (*PUBLISHED, "greedy, each once", "information, each once")
CATALOGUE = """BMP 1.7 BUN Creatinine Glucose HCO3 K Mg Na; CBC 1.3 HCT Platelets WBC;
  hepatic 1.4 ALP ALT AST Bilirubin; ABG 1.3 PaCO2 PaO2 pH; Lactate 1.1 Lactate; SaO2 1.1 SaO2;
  Albumin 1.1 Albumin; TroponinT 1.1 TroponinT; TroponinI 1.1 TroponinI;
  Cholesterol 1.1 Cholesterol"""  # panel, price, measurements
ORDER = ["BMP", "CBC", "ABG", "Lactate", "hepatic", "SaO2", "Albumin", "TroponinT", "TroponinI"]
ORDER += ["Cholesterol"]
VALID = """ALP 0 2000; ALT 0 5000; AST 0 10000; Albumin 0 6; BUN 0 200; Bilirubin 0 50;
  Cholesterol 0 600; Creatinine 0 25; DiasABP 0 200; FiO2 0.21 1; GCS 3 15; Glucose 0 1000;
  HCO3 0 60; HCT 0 70; HR 0 300; K 0 15; Lactate 0 30; MAP 0 250; MechVent 0 1; Mg 0 15;
  NIDiasABP 0 200; NIMAP 0 250; NISysABP 0 300; Na 80 200; PaCO2 0 150; PaO2 0 600;
  Platelets 0 1500; RespRate 0 80; SaO2 0 100; SysABP 0 300; Temp 20 45; TroponinI 0 100;
  TroponinT 0 50; Urine 0 5000; WBC 0 200; Weight 20 300; pH 6.5 8"""  # values outside are missing
WRONG_UNITS = {("pH", 650, 800): (0, 0.01), ("pH", 0.65, 0.8): (0, 10)}  # (value − a) · b
WRONG_UNITS |= {("FiO2", 21, 100): (0, 0.01), ("Temp", 90, 115): (32, 5 / 9)}
LIMITS = {name: (float(low), float(high)) for name, low, high in map(str.split, VALID.split(";"))}
NAMES = sorted(LIMITS)
PANELS = {name: rest for name, *rest in map(str.split, CATALOGUE.split(";"))}
COLUMNS = {panel: [NAMES.index(name) for name in rest[1:]] for panel, rest in PANELS.items()}
ACTIONS = sorted(PANELS)
PRICE = np.array([float(PANELS[panel][0]) for panel in ACTIONS])
TREES = {"n_estimators": 200, "max_depth": 5, "learning_rate": 0.05, "min_child_weight": 10}
TREES |= {"subsample": 0.8, "colsample_bytree": 0.8, "reg_lambda": 1.0, "tree_method": "hist"}


def grid(stays: Measurements) -> np.ndarray:
    """Mean of each measurement in each hour of two days, NaN where there is none. (n, 48, 37)"""
    name, value = np.array([*stays.parameters, ""])[stays.parameter], stays.value.copy()
    for (which, low, high), (less, factor) in WRONG_UNITS.items():
        wrong = (name == which) & (stays.value >= low) & (stays.value <= high)
        value[wrong] = (stays.value[wrong] - less) * factor
    low, high = np.array([LIMITS.get(each, (np.inf, np.inf)) for each in stays.parameters]).T
    fine = (value >= low[stays.parameter]) & (value <= high[stays.parameter])
    fine &= (stays.parameter >= 0) & (stays.hour < RECORDED)
    cell = (stays.stay[fine], stays.hour[fine].astype(int), np.searchsorted(NAMES, name[fine]))
    total = np.zeros((len(stays.record_id), RECORDED, len(NAMES)))
    count = np.zeros(total.shape)
    np.add.at(total, cell, value[fine])
    np.add.at(count, cell, 1)
    return np.where(count > 0, total / np.maximum(count, 1), np.nan).astype(np.float32)


def features(value: np.ndarray, seen: np.ndarray) -> np.ndarray:
    """Counts, ever, hours since the last, totals; last, mean, least, most, slope. (n, 298)"""
    hours, never = seen.shape[1], ~seen.any(axis=1)
    value = np.where(seen, value, np.nan)
    last, first = hours - 1 - np.argmax(seen[:, ::-1], axis=1), np.argmax(seen, axis=1)
    at_last, at_first = (np.take_along_axis(value, k[:, None], axis=1)[:, 0] for k in (last, first))
    span = np.where(never, 0, last - first).astype(np.float32)
    slope = np.where(span > 0, (at_last - at_first) / np.maximum(span, 1), 0)
    slope[never] = np.nan
    count, since = seen.sum(axis=1), np.where(never, -1, hours - 1 - last)
    totals = [count.sum(axis=1, keepdims=True), (~never).sum(axis=1, keepdims=True)]
    middle = [over(value, axis=1) for over in (np.nanmean, np.nanmin, np.nanmax)]
    parts = [count, ~never, since, *totals, at_last, *middle, slope]
    return np.concatenate(parts, axis=1).astype(np.float32).astype(np.float64)


def completed(known: np.ndarray, panel: str, result: np.ndarray) -> np.ndarray:
    """Features as if a panel had one more result, in the last hour; slope and totals as before."""
    new, k = known.copy(), len(NAMES)
    for j in COLUMNS[panel]:
        count, value = known[:, j], result[j]
        last, mean, least, most = range(3 * k + 2 + j, 7 * k + 2 + j, k)
        new[:, j], new[:, k + j], new[:, 2 * k + j], new[:, last] = count + 1, 1, 0, value
        before = np.where(count > 0, known[:, mean], 0)
        new[:, mean] = (before * count + value) / (count + 1)
        new[:, least] = np.where(count > 0, np.minimum(known[:, least], value), value)
        new[:, most] = np.where(count > 0, np.maximum(known[:, most], value), value)
    return new


def fit(kind: str, rows: np.ndarray, died: np.ndarray, train: np.ndarray, seed: int) -> Callable:
    """Log-odds by three quarters of the training stays, with Platt scaling by the last quarter."""
    learn, scale = train_test_split(train, test_size=0.25, random_state=seed, stratify=died[train])
    medians = np.nan_to_num(np.nanmedian(rows[learn], axis=0))
    trees = XGBClassifier(random_state=seed, n_jobs=1, **TREES)
    linear = make_pipeline(StandardScaler(), LogisticRegression(C=0.003, max_iter=2000))
    classifier = {"trees": trees, "logistic": linear}[kind]
    classifier.fit(np.where(np.isfinite(rows[learn]), rows[learn], medians), died[learn])

    def raw(values: np.ndarray) -> np.ndarray:
        p = classifier.predict_proba(np.where(np.isfinite(values), values, medians))[:, 1]
        return logit(np.clip(p.astype(np.float64), 1e-15, 1 - 1e-15))[:, None]

    platt = LogisticRegression(C=1e12, max_iter=1000).fit(raw(rows[scale]), died[scale])
    return lambda values: platt.decision_function(raw(values))


def hide(recorded: np.ndarray, seed: int) -> np.ndarray:
    """Cells that are hidden at first: of the hours with a panel, 60 %. (n, 24, 37)"""
    hidden = np.zeros_like(recorded)
    for k, stay in enumerate(recorded):
        rng = np.random.default_rng((seed ^ 0x7B10_0001) + 1_000_003 * k)  # their seeds
        for columns in COLUMNS.values():
            hours = np.flatnonzero(stay[:, columns].any(axis=1))
            hours = hours[rng.random(len(hours)) < HIDDEN]
            hidden[k, hours[:, None], columns] = True
    return hidden & recorded


@dataclass(frozen=True, eq=False)
class Replay:
    """Stays of one fold, of which a policy may request hidden values."""

    value: np.ndarray  # (n, 24, 37), as the next two
    recorded: np.ndarray
    hidden: np.ndarray
    model: Callable[[np.ndarray], np.ndarray]  # log-odds of death by features
    quartiles: np.ndarray  # of training stays, as the next. (3, 37)
    results: dict[str, np.ndarray]  # of some of them, by panel. (donors, 37)

    def follow(self, policy: str, budget: float) -> tuple[np.ndarray, np.ndarray]:
        """Log-odds of each stay at last; requests, those repeated, those in vain. ((n,), (3,))"""
        n, a = len(self.value), len(ACTIONS)
        hidden, left = self.hidden.copy(), np.full(n, budget if policy != "none" else 0.0)
        ordered, stale, counts = np.zeros((n, a), dtype=bool), np.zeros(n, dtype=bool), np.zeros(3)
        true, scored = policy.startswith("information"), policy not in ("none", "fixed order")
        order = np.tile([-float(ORDER.index(panel)) for panel in ACTIONS], (n, 1))
        score = self.first[true].copy() if scored else order
        while True:
            able = (left[:, None] + 1e-9 >= PRICE) & ~(ordered & (policy != "greedy"))
            acts = np.flatnonzero(able.any(axis=1))
            if not len(acts):
                break
            if scored and len(again := acts[stale[acts]]):
                score[again] = self.gains(hidden, again, true=true)
            chosen = np.argmax(np.where(able[acts], score[acts], -np.inf), axis=1)
            for panel, name in enumerate(ACTIONS):
                rows = acts[chosen == panel]
                early = np.ix_(rows.tolist(), range(REQUESTED_AT), COLUMNS[name])
                stale[rows] = hidden[early].any(axis=(1, 2))
                counts += len(rows), ordered[rows, panel].sum(), (~stale[rows]).sum()
                hidden[early], ordered[rows, panel] = False, True
            left[acts] -= PRICE[chosen]
        return self.model(features(self.value, self.recorded & ~hidden)), counts

    @cached_property
    def first(self) -> list[np.ndarray]:
        """Gains before any request, by quartiles and by other stays."""
        return [self.gains(self.hidden, np.arange(len(self.value)), true=k) for k in (False, True)]

    def gains(self, hidden: np.ndarray, rows: np.ndarray, *, true: bool) -> np.ndarray:
        """Entropy, or true: that of the mean probability after, less its mean after. (n, panels)"""
        seen = self.recorded[rows] & ~hidden[rows]
        seen[:, REQUESTED_AT:] = False
        known = features(self.value[rows], seen)
        gain, now = np.zeros((len(rows), len(ACTIONS))), expit(self.model(known))
        for k, panel in enumerate(ACTIONS):
            results = self.results[panel] if true else self.quartiles
            after = expit([self.model(completed(known, panel, each)) for each in results])
            before = after.mean(axis=0) if true else now
            gain[:, k] = entropy([before, 1 - before]) - entropy([after, 1 - after]).mean(axis=0)
        return gain


def areas(value: np.ndarray, died: np.ndarray, kind: str, seed: int) -> dict[str, np.ndarray]:
    """Area under the log-loss of each policy, stay by stay; their mean is that of all. (n,)"""
    recorded = np.isfinite(value)
    rows, area = features(value, recorded), {name: np.zeros(len(died)) for name in POLICIES}
    counts = {name: np.zeros(3) for name in POLICIES}
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=seed).split(rows, died)
    for k, (train, test) in enumerate(folds):
        model = fit(kind, rows, died, train, seed + k)
        mean = np.nanmean(value[train, :REQUESTED_AT].astype(np.float64), axis=1)
        results = {}
        for panel, columns in COLUMNS.items():
            whole = np.flatnonzero(np.isfinite(mean[:, columns]).all(axis=1))
            results[panel] = mean[np.random.default_rng(seed + k).choice(whole, DONORS)]
        quartiles = np.nanquantile(value[train].astype(float), (0.25, 0.5, 0.75), axis=(0, 1))
        hidden = hide(recorded[test], seed)
        replay = Replay(value[test], recorded[test], hidden, model, quartiles, results)
        for name in POLICIES:
            ends = [replay.follow(name, share * PRICE.sum()) for share in BUDGETS]
            losses = [np.logaddexp(0, odds) - died[test] * odds for odds, _ in ends]
            area[name][test] = np.trapezoid(losses, BUDGETS, axis=0)
            counts[name] += ends[-1][1]
    for name, (made, *shares) in counts.items():
        again, vain = np.array(shares) / max(made, 1)
        print(f"  {name}: {made / len(died):.2f} requests, {again:.1%} repeat, {vain:.1%} in vain")
    return area


def interval(each: np.ndarray) -> str:
    """Mean with a 95 % bootstrap interval, stays drawn with replacement."""
    rng = np.random.default_rng(SEED)
    means = [each[rng.integers(0, len(each), len(each))].mean() for _ in range(BOOTSTRAPS)]
    low, high = np.percentile(means, (2.5, 97.5))
    return f"{each.mean():+.5f} ({low:+.5f} to {high:+.5f})"


def main() -> None:
    """Print areas and differences of each draw."""
    warnings.simplefilter("ignore", RuntimeWarning)  # nanmean of a measurement that a stay lacks
    draws = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    sets = [(grid(stays), died) for stays, died in islice(read(Path(sys.argv[1])), 2)]
    value, died = (np.concatenate(each) for each in zip(*sets, strict=True))
    print(f"{len(died)} stays, {np.isfinite(value).sum()} values; published {PUBLISHED}")
    for kind, seed in [*(("trees", SEED + 1000 * k) for k in range(draws)), ("logistic", SEED)]:
        print(f"{kind}, seed {seed}")
        area = areas(value[:, :HOURS], died, kind, seed)
        for name, each in area.items():
            print(f"  {name}: {each.mean():.5f}; less fixed order: ", end="")
            print(interval(each - area["fixed order"]), flush=True)


if __name__ == "__main__":
    main()
