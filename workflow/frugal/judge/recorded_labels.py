"""Labels that some records lack: a further panel, recorded by a law with always-known causes.

    ỹ_c = m_c + R / π (1{y = c} − m_c)             [Robins, Rotnitzky and Zhao, JASA 89, 1994]

R is whether the record has a label, π = p(R = 1 | x) with x the columns that every record holds and
the panels that are recorded, and m_c a regression of the class on known columns and on the
predicted probabilities of the policies. ỹ takes the place of the indicators of the class in every
outcome, so the probability of a label multiplies that of the panels of a path. Doubly robust:
right where π is, or m. Both are cross-fitted. Assumes that nothing but x causes R.
"""

from collections.abc import Iterator, Sequence

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.special import expit

from frugal.core.errors import NoSupportError
from frugal.core.scaling import fit_scaling
from frugal.judge.intervals import effective_sample_size, largest_weight_share
from frugal.judge.semi_offline import Paths, log_odds
from frugal.judge.verdicts import LARGEST_SHARE, LEAST_ESS
from frugal.learn.record_law import FREE, Causes, RecordedLabels, RecordLaw, contradictions, mode

RIDGE = 1.0  # prior precision of slopes of the class's regression, per standard deviation
SLOPE = 0.5  # of the slope of the mean log-odds, whose prior mean is 1
LEAST_CHANCE, MOST_BELOW = 0.02, 0.05  # share of rows that may have a smaller chance of a label
CHANCE = 0.001  # of a refusal where every stratum has the same share of labels
STRATA = 10  # even parts of a column in which labels are counted


def class_indicators(
    record_law: RecordLaw, paths: Sequence[Paths], classes: int
) -> Float[np.ndarray, "n k"]:
    """ỹ of every class; rows sum to 1, and entries may lie beyond 0 and 1. (n, k)

    The indicators of the class themselves where every record has a label.

    Args:
        record_law: of the panels and of the labels.
        paths: of the policies on the same rows.
        classes: k.
    """
    labels, label = record_law.labels, record_law.label
    if labels is None:
        return np.eye(classes)[label]
    guess = _guess(labels, paths, label, record_law.fold, classes)
    truth = np.eye(classes)[np.where(labels.present, label, 0)]
    return guess + labels.weight[:, None] * (truth - guess)


def _guess(
    labels: RecordedLabels,
    paths: Sequence[Paths],
    label: Int[np.ndarray, " n"],
    fold: Int[np.ndarray, " n"],
    classes: int,
) -> Float[np.ndarray, "n k"]:
    """m: one logistic regression for each class against all others, scaled to sum to 1."""
    scaled = fit_scaling(labels.columns, constant=np.inf).standardise(labels.columns)
    last = [path.last_belief for path in paths if np.isfinite(path.last_belief).all()]
    guess = np.empty((len(label), classes))
    for c in range(classes):
        odds = [log_odds(probability[:, [c]]) for probability in last]
        mean = np.mean(odds, axis=0) if odds else np.zeros((len(label), 1))
        design = np.hstack([np.ones_like(mean), mean, scaled])
        towards = [0.0, 1.0, *np.zeros(scaled.shape[1])]
        precision = [FREE, SLOPE, *np.full(scaled.shape[1], RIDGE)]
        for part in np.unique(fold):
            learn = labels.present & (fold != part)
            fitted = mode(design[learn], label[learn] == c, precision, towards=towards)
            guess[fold == part, c] = expit(design[fold == part] @ fitted)
    return guess / guess.sum(axis=1, keepdims=True)


def recorded_labels(
    record_law: RecordLaw,
    columns: Float[np.ndarray, "n w"],
    names: Sequence[str],
    panels: Sequence[str],
) -> RecordedLabels:
    """The law of the labels' being recorded, and the columns that contradict it.

    Args:
        record_law: of the panels; its labels are −1 where they are missing.
        columns: those that every record holds, and that vary. (n, w)
        names: of these columns.
        panels: names of the panels.

    Raises:
        NoSupportError: labels are missing where nothing represents the rows without one.
    """
    present, observed = record_law.label >= 0, record_law.observed
    gappy = ~observed.all(axis=0) & observed.any(axis=0)
    inputs = np.hstack([columns, observed[:, gappy].astype(np.float64)])
    of_inputs = [*names, *(f"{panels[j]!r} recorded" for j in np.flatnonzero(gappy).tolist())]
    for problem in _unsupported(present, inputs, of_inputs):
        raise NoSupportError(problem)
    partly = ~np.isfinite(record_law.values).all(axis=0)
    d, w = int(partly.sum()), inputs.shape[1]
    model = RecordLaw(
        present[:, None],
        np.hstack([inputs, record_law.values[:, partly]]),
        np.zeros(len(present), dtype=np.int64),
        record_law.fold,
        [Causes(tuple(range(w)))],
        np.zeros((1, w + d), dtype=bool),
    )
    chance = model.panel[0]
    against = [int(np.flatnonzero(partly)[cause.column - w]) for cause in contradictions(model)]
    labels = RecordedLabels(present, chance, columns, against)
    ess, share = effective_sample_size(labels.weight), largest_weight_share(labels.weight)
    below = float((chance < LEAST_CHANCE).mean())
    if ess < LEAST_ESS or share > LARGEST_SHARE or below > MOST_BELOW:
        raise NoSupportError(
            f"{int((~present).sum()):,} of {len(present):,} rows lack a label, and those with one "
            f"represent them poorly: effective sample size {ess:.0f} (least {LEAST_ESS:g}), "
            f"{share:.0%} of the weight in one row (most {LARGEST_SHARE:.0%}), {below:.0%} of the "
            f"rows with a probability of a label below {LEAST_CHANCE:g} (most {MOST_BELOW:.0%}); "
            "record more labels, or drop rows without one"
        )
    return labels


def _unsupported(
    present: Bool[np.ndarray, " n"], inputs: Float[np.ndarray, "n p"], names: Sequence[str]
) -> Iterator[str]:
    """Ranges of a column in which no row has a label, and that would have some by chance.

    At equal probability in all strata one is named in at most `CHANCE` of tables.
    """
    lacks = 1 - present.mean()
    for name, column in zip(names, inputs.T, strict=True):
        cuts = np.unique(np.quantile(column, np.arange(1, STRATA) / STRATA))
        stratum = np.searchsorted(cuts, column, side="left")
        for k in np.unique(stratum):
            inside = stratum == k
            by_chance = lacks ** int(inside.sum()) * STRATA * len(names)
            if not present[inside].any() and by_chance < CHANCE:
                low, high = column[inside].min(), column[inside].max()
                yield (
                    f"none of {int(inside.sum()):,} rows with {name} from {low:g} to {high:g} has "
                    f"a label, though {1 - lacks:.0%} of all rows do; drop these rows, or record "
                    "labels there"
                )
