"""Tables that need no file: simulated worlds, and one that comes inside scikit-learn.

`afape`: clusters of two classes. `dadi`: loan approvals with fair, unfair and conditionally fair
features. `diagnosis`: a simulated clinic whose Bayes rule is known (posteriors, best F1 of any
fixed set of features). There, a patient's group is known; features are Gaussian in each group and
class, with one covariance for both classes, so every posterior is a logistic function of a
linear score, and the score is Gaussian again. Knows no missingness, panel, policy or split.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float, Int
from scipy.special import expit, ndtr

from frugal.config.dataset import ClinicalGenerator, MakeClassification
from frugal.core.errors import ConfigError
from frugal.core.scaling import fit_scaling
from frugal.core.table import Table

GROUP, LABEL = "group", "ill"  # raw columns other than the features
_SCAN_POINTS = 1001  # of the threshold's logit, before refinement
FAIR, UNFAIR = 4, 4  # features of each kind


def two_class_clusters(
    generator: MakeClassification, *, rows: int, features: int, classes: int
) -> pd.DataFrame:
    """Rows of a world of Gaussian clusters at corners of a hypercube, classes in equal numbers.

    A population is drawn first, features scaled to mean 0 and standard deviation 1 in it, and its
    first rows of each class are the table: tables of different size share one world and its rows.

        X₁..X_d informative, Y uniform over the classes                      [afape, sec. A.11]

    Args:
        generator: population size, clusters per class, separation and seed.
        rows: rows of the table; classes differ by one row at most.
        features: number of columns, named X1, X2, …
        classes: number of classes, written "0", "1", …

    Returns:
        Columns X1..Xd and `Y` (text).

    Raises:
        ConfigError: the population is too small, or the clusters have too few corners.
    """
    from sklearn.datasets import make_classification  # a second to import

    population, clusters = generator.population, generator.clusters_per_class
    per_class = [len(range(k, rows, classes)) for k in range(classes)]
    if rows > population // classes * classes:
        raise ConfigError(
            f"'split.parts' needs {rows} rows, but 'source.generator.population' is {population}"
        )
    if classes * clusters > 2**features:
        raise ConfigError(
            f"'source.generator.clusters_per_class' is {clusters}; "
            f"{classes} classes in {features} columns allow at most {2**features // classes}"
        )
    drawn = make_classification(
        n_samples=population // classes * classes,
        n_features=features,
        n_informative=features,
        n_redundant=0,
        n_classes=classes,
        n_clusters_per_class=clusters,
        class_sep=generator.class_separation,
        flip_y=0.0,
        random_state=generator.seed,
    )
    values, label = np.asarray(drawn[0]), np.asarray(drawn[1])
    values = fit_scaling(values).standardise(values)
    chosen = np.sort(
        np.concatenate([np.flatnonzero(label == k)[:count] for k, count in enumerate(per_class)])
    )
    frame = pd.DataFrame(values[chosen], columns=[f"X{j + 1}" for j in range(features)])
    frame["Y"] = label[chosen].astype(str)
    return frame


def loan_applications(*, rows: int, divisor: float, seed: int) -> pd.DataFrame:
    """Applicants of two equally likely groups, ten features, and whether they would pay back.

        X₁..X₄ ~ N(0, 1);  X₅..X₈ ~ N(b − ½, 1);  X₉ ~ U{0, 1, 2};  X₁₀ ~ N(± X₉/2, 1)
        P(Y = 1 | X) = σ(βᵀX / divisor),   β = (1, −1, 1, −1, …)                  [dadi, app. D]

    The sign of X₁₀'s mean is that of b − ½. β has ten entries, one for each feature: X₉ enters as
    the number 0, 1 or 2 with weight +1, and X₁₀ with weight −1. (With an entry for each one-hot
    column of X₉ instead, its weights would be +1, −1, +1, and X₁₀'s still −1.)

    Args:
        rows: number of applicants; the first rows of a larger table of the same seed are the same.
        divisor: 10 in the paper; a smaller one makes the label depend more on the features.
        seed: of the world and its rows.

    Returns:
        Columns X1..X10 (X9 as text "0", "1", "2"), `group` ("0", "1") and `repaid` ("0", "1").
    """
    normal, uniform = (np.random.default_rng([seed, part]) for part in (0, 1))
    noise = normal.standard_normal((rows, FAIR + UNFAIR + 1))
    chance = uniform.random((rows, 3))  # group, X9, repayment
    group = (chance[:, 0] < 0.5).astype(np.int64)
    kind = np.minimum((3 * chance[:, 1]).astype(np.int64), 2)
    side = group - 0.5
    features = np.column_stack(
        [
            noise[:, :FAIR],
            noise[:, FAIR : FAIR + UNFAIR] + side[:, None],
            kind,
            noise[:, -1] + side * kind,
        ]
    )
    beta = np.where(np.arange(features.shape[1]) % 2 == 0, 1.0, -1.0)
    repaid = chance[:, 2] < 1 / (1 + np.exp(-features @ beta / divisor))
    frame = pd.DataFrame(features, columns=[f"X{j + 1}" for j in range(features.shape[1])])
    frame["X9"] = kind.astype(str)
    frame["group"] = group.astype(str)
    frame["repaid"] = repaid.astype(np.int64).astype(str)
    return frame


def load_bundled(name: str) -> pd.DataFrame:
    """A bundled table with its features as numbers and its label as text.

    `breast_cancer`: 569 fine-needle aspirates, 30 image features, label `diagnosis`
    (`malignant` or `benign`).

    Raises:
        ConfigError: there is no such table.
    """
    if name != "breast_cancer":
        raise ConfigError(f"there is no bundled table {name!r}; allowed is breast_cancer")
    from sklearn.datasets import load_breast_cancer  # a second to import

    bunch: Any = load_breast_cancer()
    frame = pd.DataFrame(bunch.data, columns=[str(c) for c in bunch.feature_names])
    frame["diagnosis"] = [str(bunch.target_names[k]) for k in bunch.target]
    return frame


@dataclass(frozen=True, eq=False)
class ClinicalWorld:
    """Parameters of the clinic. Shapes: g groups, d features.

    Attributes:
        groups: names.
        features: names.
        share: share of each group among patients; sums to 1. (g,)
        prevalence: share of ill patients in each group. (g,)
        effect: shift of the means where a patient is ill. (g, d)
        covariance: of the features within group and class; ones on the diagonal. (d, d)
    """

    groups: tuple[str, ...]
    features: tuple[str, ...]
    share: Float[np.ndarray, " g"]
    prevalence: Float[np.ndarray, " g"]
    effect: Float[np.ndarray, "g d"]
    covariance: Float[np.ndarray, "d d"]


@dataclass(frozen=True)
class BayesRule:
    """The rule with the highest F1 that sees one fixed set of features.

    Attributes:
        f1: its expected F1, 2 TP / (2 TP + FP + FN) of the population.
        threshold: a patient is called ill where the posterior is above it.
        sensitivity: share of ill patients who are called ill.
        specificity: share of healthy patients who are called healthy.
    """

    f1: float
    threshold: float
    sensitivity: float
    specificity: float


@dataclass(frozen=True)
class StaticRule:
    """A fixed set of panels with its cost and the best rule that sees it."""

    panels: tuple[str, ...]
    cost: float
    rule: BayesRule


def clinical_world(generator: ClinicalGenerator) -> ClinicalWorld:
    """The world of a description: covariance = loadings · loadingsᵀ + diagonal noise."""
    loadings = np.array([f.loadings for f in generator.features], dtype=np.float64)
    loadings = loadings.reshape(len(generator.features), -1)
    covariance = loadings @ loadings.T
    np.fill_diagonal(covariance, 1.0)
    return ClinicalWorld(
        groups=tuple(g.name for g in generator.groups),
        features=tuple(f.name for f in generator.features),
        share=np.array([g.share for g in generator.groups]),
        prevalence=np.array([g.prevalence for g in generator.groups]),
        effect=np.array([f.effect for f in generator.features], dtype=np.float64).T.copy(),
        covariance=covariance,
    )


def sample_patients(world: ClinicalWorld, n: int, *, rng: np.random.Generator) -> pd.DataFrame:
    """Patients of the clinic: columns `group` and `ill` ("0", "1") as text, and the features.

    g ~ share,   y | g ~ Bernoulli(prevalence_g),   x | g, y ~ N(y · effect_g, covariance)
    """
    group = rng.choice(len(world.groups), size=n, p=world.share)
    ill = rng.random(n) < world.prevalence[group]
    noise = rng.standard_normal((n, len(world.features)))
    values = ill[:, None] * world.effect[group] + noise @ np.linalg.cholesky(world.covariance).T
    frame = pd.DataFrame(values, columns=list(world.features))
    frame.insert(0, GROUP, np.array(world.groups, dtype=object)[group])
    frame[LABEL] = ill.astype(np.int64).astype(str)
    return frame


def posterior(
    world: ClinicalWorld,
    group: Int[np.ndarray, " n"],
    values: Float[np.ndarray, "n d"],
    observed: Bool[np.ndarray, "n d"],
) -> Float[np.ndarray, " n"]:
    """Exact probability that each patient is ill, given group and the features that are known.

        logit P(y = 1 | g, x_S) = logit π_g + δᵀ Σ_S⁻¹ (x_S − δ/2),   δ = effect_g restricted to S

    Args:
        world: the clinic.
        group: index into its groups. (n,)
        values: features; those that are not observed are not read. (n, d)
        observed: True where a feature is known. (n, d)
    """
    logit = np.log(world.prevalence / (1 - world.prevalence))[group]
    patterns, index = np.unique(observed, axis=0, return_inverse=True)
    for k, pattern in enumerate(patterns):
        rows = np.flatnonzero(index == k)
        weight, offset = _score(world, pattern)
        x = values[np.ix_(rows, np.flatnonzero(pattern))]
        logit[rows] += (x * weight[group[rows]]).sum(axis=1) - offset[group[rows]]
    return expit(logit)


def best_f1(world: ClinicalWorld, observed: Bool[np.ndarray, " d"]) -> BayesRule:
    """The best F1 of any rule that sees the group and one fixed set of features, exactly.

    The best rule calls ill whoever's posterior is above a threshold. In group g the posterior's
    logit is Gaussian with variance D_g = δᵀ Σ_S⁻¹ δ and mean logit π_g ± D_g / 2, so

        TP(t) = Σ_g share_g π_g Φ((m_g + D_g/2 − t) / √D_g),   FP(t) likewise with −D_g/2,
        F1 = max_t 2 TP / (P + TP + FP),   P = Σ_g share_g π_g.
    """
    weight, _ = _score(world, observed)
    distance = (weight * world.effect[:, observed]).sum(axis=1)  # D_g
    logit = np.log(world.prevalence / (1 - world.prevalence))

    positive = float(world.share @ world.prevalence)

    def rates(thresholds: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        called = [_called_ill(logit + s * distance / 2, distance, thresholds) for s in (1, -1)]
        true_positive = (world.share * world.prevalence) @ called[0]
        return true_positive, (world.share * (1 - world.prevalence)) @ called[1]

    def f1(thresholds: np.ndarray) -> np.ndarray:
        true_positive, false_positive = rates(thresholds)
        return 2 * true_positive / (positive + true_positive + false_positive)

    reach = 6 * np.sqrt(distance) + distance / 2 + 1e-3
    grid = np.linspace((logit - reach).min(), (logit + reach).max(), _SCAN_POINTS)
    scanned = f1(grid)
    top = int(np.argmax(scanned))
    around = (grid[max(top - 1, 0)], grid[min(top + 1, len(grid) - 1)])
    from scipy.optimize import minimize_scalar

    optimum: Any = minimize_scalar(lambda t: -float(f1(np.array([t]))[0]), bounds=around)
    best = np.array([optimum.x, grid[top]])
    best = best[[int(np.argmax(f1(best)))]]
    true_positive, false_positive = (float(rate[0]) for rate in rates(best))
    return BayesRule(
        f1=float(f1(best)[0]),
        threshold=float(expit(best[0])),
        sensitivity=true_positive / positive,
        specificity=1 - false_positive / (1 - positive),
    )


def static_rules(world: ClinicalWorld, table: Table) -> tuple[StaticRule, ...]:
    """The best rule for each fixed set of panels that a table of this clinic offers.

    In the order of the sets' codes Σⱼ acquiredⱼ 2ʲ; free panels are always seen.
    """
    panels = table.actions
    names = list(table.columns)
    rules = []
    for code in range(2 ** len(panels)):
        chosen = np.array([[code >> j & 1 for j in range(len(panels))]], dtype=bool)
        columns = table.columns_observed(chosen)[0]
        observed = np.array([f in names and bool(columns[names.index(f)]) for f in world.features])
        rules.append(
            StaticRule(
                panels=tuple(p.name for p, c in zip(panels, chosen[0], strict=True) if c),
                cost=float(chosen[0] @ table.action_cost),
                rule=best_f1(world, observed),
            )
        )
    return tuple(rules)


def patients_of(
    world: ClinicalWorld, columns: Sequence[str], values: Float[np.ndarray, "n w"]
) -> tuple[Int[np.ndarray, " n"], Float[np.ndarray, "n d"]]:
    """Group and features of some units, in the world's order. ((n,), (n, d))

    Args:
        world: the clinic.
        columns: names of the values; the group as 0/1 columns `group=name`, features as they are.
        values: of the units; the groups are known. (n, w)
    """
    names = list(columns)
    indicators = [values[:, names.index(f"{GROUP}={g}")] for g in world.groups]
    group = np.argmax(np.column_stack(indicators), axis=1).astype(np.int64)
    return group, values[:, [names.index(f) for f in world.features]]


def _score(
    world: ClinicalWorld, observed: Bool[np.ndarray, " d"]
) -> tuple[Float[np.ndarray, "g s"], Float[np.ndarray, " g"]]:
    """Weights Σ_S⁻¹ δ_g and offsets δᵀ Σ_S⁻¹ δ / 2 of the posterior's logit. ((g, s), (g,))"""
    effect = world.effect[:, observed]
    weight = np.linalg.solve(world.covariance[np.ix_(observed, observed)], effect.T).T
    return weight, (weight * effect).sum(axis=1) / 2


def _called_ill(
    mean: Float[np.ndarray, " g"],
    variance: Float[np.ndarray, " g"],
    thresholds: Float[np.ndarray, " t"],
) -> Float[np.ndarray, "g t"]:
    """Share of each group whose Gaussian logit is above a threshold; a step where it is fixed."""
    spread = np.sqrt(variance)[:, None]
    above = mean[:, None] - thresholds
    share = ndtr(above / np.where(spread > 0, spread, 1))
    return np.where(spread > 0, share, above > 0)
