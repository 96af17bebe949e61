"""Scores of diagnoses: F1, AM, sensitivity, specificity, precision, AUROC and cost, with errors.

Measures of Yu et al., "Deep Reinforcement Learning for Cost-Effective Medical Diagnosis" (2023),
from the diagnoses of K methods for the same n units. Class 1 is ill ("positive"). Must not know
which method made a diagnosis, how a threshold was chosen, or files.
"""

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float, Int

from frugal.core.errors import ConfigError, DataError
from frugal.core.scaling import average_ranks
from frugal.judge.intervals import combined_interval, perfect_area_interval, share_interval

SCORES = ("f1", "am", "sensitivity", "specificity", "precision", "auroc", "cost")


def diagnosis_scores(
    label: Int[np.ndarray, " n"],
    diagnosis: Int[np.ndarray, "K n"],
    probability: Float[np.ndarray, "K n"],
    cost: Float[np.ndarray, "K n"],
) -> pd.DataFrame:
    """Every score of each of K methods, with its standard error over units.

        F1 = 2 TP / (2 TP + FP + FN) = 2 TP / (1 + TP − TN) in shares   [diagnosis, sec. 3.2]
        AM = (TPR + TNR) / 2                                            [diagnosis, sec. F]

    AUROC is the chance that a positive has a higher probability than a negative, ties counting
    half. Errors are the delta method's over units (of AUROC, DeLong's); of few units they are
    rough, and 0 where a score is at its end.

    Args:
        label: 1 for a positive unit, 0 for a negative one. (n,)
        diagnosis: the class predicted by each method. (K, n)
        probability: of the positive class, for AUROC; the policy's share of the positive among
            its diagnosis actions. (K, n)
        cost: paid for each unit, unit of the data set. (K, n)

    Returns:
        K rows: n, positives, true_positive, false_positive, false_negative, true_negative (units),
        then each of `SCORES` with its `_se`. NaN where a score is not defined: precision without
        a positive diagnosis, sensitivity without a positive unit, F1 without either.

    Raises:
        DataError: no unit, a label or diagnosis other than 0 and 1, or a probability outside 0…1.
    """
    _check(label, diagnosis, probability)
    ill, diagnosed = (label == 1)[None], diagnosis == 1
    cells = {
        "true_positive": ill & diagnosed,
        "false_positive": ~ill & diagnosed,
        "false_negative": ill & ~diagnosed,
        "true_negative": ~ill & ~diagnosed,
    }
    frame = pd.DataFrame(
        {"n": len(label), "positives": int(ill.sum())}, index=range(len(diagnosed))
    )
    for name, cell in cells.items():
        frame[name] = cell.sum(axis=1)
    estimates = _of_verdicts(*(cell.astype(np.float64) for cell in cells.values())) | {
        "auroc": _auroc(label, probability),
        "cost": _ratio(cost, np.ones_like(cost)),
    }
    for name, (value, effect) in estimates.items():
        frame[name] = value
        frame[f"{name}_se"] = _standard_error(effect)
    return frame


def score_effects(
    label: Int[np.ndarray, " n"], diagnosis: Int[np.ndarray, "K n"], *, score: str
) -> tuple[Float[np.ndarray, " K"], Float[np.ndarray, "K n"]]:
    """F1 or AM of each of K methods, and each unit's first-order contribution to its error.

    Effects of two methods on the same units are paired: the error of a difference follows from the
    difference of the effects.

    Args:
        label: 1 for a positive unit, 0 for a negative one. (n,)
        diagnosis: the class predicted by each method. (K, n)
        score: f1 or am.
    """
    ill, diagnosed = (label == 1)[None], diagnosis == 1
    cells = (ill & diagnosed, ~ill & diagnosed, ill & ~diagnosed, ~ill & ~diagnosed)
    return _of_verdicts(*(cell.astype(np.float64) for cell in cells))[score]


def _of_verdicts(
    hit: Float[np.ndarray, "K n"],
    false_alarm: Float[np.ndarray, "K n"],
    miss: Float[np.ndarray, "K n"],
    rest: Float[np.ndarray, "K n"],
) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Scores of the diagnoses, and each unit's effect on them."""
    sensitivity, sensitivity_effect = _ratio(hit, hit + miss)
    cleared, cleared_effect = _ratio(rest, rest + false_alarm)
    return {
        "f1": _ratio(2 * hit, 2 * hit + false_alarm + miss),
        "am": ((sensitivity + cleared) / 2, (sensitivity_effect + cleared_effect) / 2),
        "sensitivity": (sensitivity, sensitivity_effect),
        "specificity": (cleared, cleared_effect),
        "precision": _ratio(hit, hit + false_alarm),
    }


def auroc(label: Int[np.ndarray, " n"], probability: Float[np.ndarray, "K n"]) -> np.ndarray:
    """Chance that a positive unit has the higher probability, ties half; NaN with one class. (K,)

    Args:
        label: 1 for a positive unit, 0 for a negative one. (n,)
        probability: of the positive class by each method, or any increasing score. (K, n)
    """
    return _auroc(label, probability)[0]


def score_intervals(
    label: Int[np.ndarray, " n"],
    diagnosis: Int[np.ndarray, " n"],
    probability: Float[np.ndarray, " n"],
    cost: Float[np.ndarray, " n"],
    *,
    resamples: int,
    level: float,
    rng: np.random.Generator,
) -> pd.DataFrame:
    """Intervals of every score of one method.

    Sensitivity, specificity and precision are shares (`share_interval`); AM is the mean of two
    independent ones. F1 = 2 J / (1 + J), where J is the share of true positives among the units
    that are positive or diagnosed so, and the ends of J's interval are mapped by it. AUROC and cost
    have percentile intervals, units drawn with replacement; an AUROC of 0 or 1, which every draw
    repeats, has that of `perfect_area_interval`.

    Args:
        label: 1 for a positive unit, 0 for a negative one. (n,)
        diagnosis: the predicted class. (n,)
        probability: of the positive class. (n,)
        cost: paid for each unit. (n,)
        resamples: number of draws of n units.
        level: coverage, for example 0.95.
        rng: of the draws.

    Returns:
        Columns score, low, high; one row for each of `SCORES`. NaN where a score is not defined;
        draws without both classes are left out of the interval of AUROC.

    Raises:
        ConfigError: fewer than two resamples, or a level outside 0…1.
        DataError: see `diagnosis_scores`.
    """
    if resamples < 2 or not 0 < level < 1:
        raise ConfigError(
            f"{resamples} resamples at level {level} were requested; at least 2, level in 0…1"
        )
    _check(label, diagnosis[None], probability[None])
    weight = rng.multinomial(len(label), np.full(len(label), 1 / len(label)), size=resamples)
    drawn = weight.astype(float)
    intervals = _share_intervals(label == 1, diagnosis == 1, level) | {
        "auroc": _auroc_interval(label, probability, drawn, level),
        "cost": _percentiles(drawn @ cost / drawn.sum(axis=1), level),
    }
    return pd.DataFrame(
        [{"score": name, "low": intervals[name][0], "high": intervals[name][1]} for name in SCORES]
    )


def _share_intervals(
    ill: Bool[np.ndarray, " n"], diagnosed: Bool[np.ndarray, " n"], level: float
) -> dict[str, tuple[float, float]]:
    """Intervals of the scores that are shares, or made of shares."""
    hits, clear = int((ill & diagnosed).sum()), int((~ill & ~diagnosed).sum())
    sensitivity = share_interval(hits, int(ill.sum()), level=level)
    specificity = share_interval(clear, int((~ill).sum()), level=level)
    overlap = share_interval(hits, int((ill | diagnosed).sum()), level=level)
    am = (np.nan, np.nan)
    if ill.any() and not ill.all():
        shares = (hits / ill.sum(), clear / (~ill).sum())
        am = combined_interval(
            [(shares[0], *sensitivity), (shares[1], *specificity)], weights=(0.5, 0.5)
        )
    return {
        "f1": (2 * overlap[0] / (1 + overlap[0]), 2 * overlap[1] / (1 + overlap[1])),
        "am": am,
        "sensitivity": sensitivity,
        "specificity": specificity,
        "precision": share_interval(hits, int(diagnosed.sum()), level=level),
    }


def _auroc_interval(
    label: Int[np.ndarray, " n"],
    probability: Float[np.ndarray, " n"],
    weight: Float[np.ndarray, "b n"],
    level: float,
) -> tuple[float, float]:
    """Percentiles over resamples; of an AUROC of 0 or 1 by the number of pairs."""
    positives = int(label.sum())
    area = float(auroc(label, probability[None])[0])
    if area in (0.0, 1.0):
        least = perfect_area_interval(positives, len(label) - positives, level=level)
        return (least, 1.0) if area else (0.0, 1 - least)
    return _percentiles(_weighted_auroc(label == 1, probability, weight), level)


def _percentiles(drawn: Float[np.ndarray, " b"], level: float) -> tuple[float, float]:
    """Ends between which the share `level` of the draws lies; NaN if none is defined."""
    finite = drawn[np.isfinite(drawn)]
    if not len(finite):
        return np.nan, np.nan
    low, high = np.quantile(finite, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def _check(label: np.ndarray, diagnosis: np.ndarray, probability: np.ndarray) -> None:
    if not len(label):
        raise DataError("diagnoses are scored over at least one unit; there is none")
    for name, values in (("label", label), ("diagnosis", diagnosis)):
        if not np.isin(values, (0, 1)).all():
            raise DataError(
                f"a {name} is {values[~np.isin(values, (0, 1))][0]}; scores of a diagnosis know "
                "classes 0 and 1 alone"
            )
    if not ((probability >= 0) & (probability <= 1)).all():
        raise DataError("a probability of the positive class is outside 0…1 or not a number")


def _ratio(
    numerator: Float[np.ndarray, "K n"], denominator: Float[np.ndarray, "K n"]
) -> tuple[np.ndarray, np.ndarray]:
    """Σ numerator / Σ denominator of each method, and each unit's first-order effect on it."""
    with np.errstate(invalid="ignore", divide="ignore"):
        value = numerator.sum(axis=1) / denominator.sum(axis=1)
        effect = (numerator - value[:, None] * denominator) / denominator.mean(axis=1)[:, None]
    return value, effect


def _standard_error(effect: Float[np.ndarray, "K n"]) -> Float[np.ndarray, " K"]:
    """√(Σ effect² / (n (n − 1))); infinite for a single unit. (K,)"""
    n = effect.shape[1]
    if n < 2:
        return np.full(len(effect), np.inf)
    return np.sqrt(np.square(effect).sum(axis=1) / (n * (n - 1)))


def _auroc(label: np.ndarray, probability: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """AUROC of each method and each unit's effect on it, from ranks (DeLong's placements)."""
    ill = label == 1
    n, positives = len(label), int(ill.sum())
    negatives = n - positives
    if not positives or not negatives:
        return np.full(len(probability), np.nan), np.full(probability.shape, np.nan)
    placement = np.empty(probability.shape)
    among_all = average_ranks(probability)
    above = among_all[:, ill] - average_ranks(probability[:, ill])
    below = positives - (among_all[:, ~ill] - average_ranks(probability[:, ~ill]))
    placement[:, ill], placement[:, ~ill] = above / negatives, below / positives
    value = placement[:, ill].mean(axis=1)
    share = np.where(ill, positives, negatives) / n
    return value, (placement - value[:, None]) / share


def _weighted_auroc(ill: np.ndarray, probability: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Σ over values of positives × (negatives below + half of those that tie). (b,)"""
    order = np.argsort(probability, kind="stable")
    starts = np.flatnonzero(np.diff(probability[order], prepend=-np.inf) > 0)
    sick = np.add.reduceat(weight[:, order] * ill[order], starts, axis=1)
    well = np.add.reduceat(weight[:, order] * ~ill[order], starts, axis=1)
    below = np.cumsum(well, axis=1) - well / 2
    with np.errstate(invalid="ignore", divide="ignore"):
        return (sick * below).sum(axis=1) / (sick.sum(axis=1) * well.sum(axis=1))
