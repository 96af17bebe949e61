"""Simulated tables: the synthetic world of the afape study.

Knows no missingness: a mechanism draws that from the table, as for any other data set.
"""

import numpy as np
import pandas as pd

from frugal.config.dataset import MakeClassification
from frugal.core.errors import ConfigError
from frugal.core.scaling import fit_scaling


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
            f"'split.parts' asks for {rows} rows, but 'source.generator.population' is {population}"
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
