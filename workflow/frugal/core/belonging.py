"""To which group each row of a table belongs, which rows belong together, and which are copies."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from jaxtyping import Bool, Int

BY_CHANCE = 0.05  # see `copied`


def copied(cells: pd.DataFrame) -> Bool[np.ndarray, " n"]:
    """True for a row with the cells of an earlier one, if that is no chance. (n,)

    So many other rows with the same cells are expected by chance:

        min_j c_j f_j

    with c_j the distinct rows that agree with it in all columns but j, and f_j the share of
    distinct rows with its value there. Below 0.05 it is a copy, if there are more such rows than
    three times those expected. So of rows that lack all panels and have few other values, none is
    a copy. A gap is no value: its column is not looked at. Of columns that say the same in other
    words one counts.

    Args:
        cells: NaN where there is no value.
    """
    found = cells.duplicated().to_numpy(copy=True)
    if not found.any():
        return found
    coded = {name: pd.factorize(cells[name], use_na_sentinel=False)[0] for name in cells}
    columns = {code.tobytes(): name for name, code in coded.items()}.values()
    rng = np.random.default_rng(0)  # rows agree in all columns if sums of random numbers do
    numbers = {
        name: rng.integers(2**64, size=coded[name].max() + 1, dtype=np.uint64)[coded[name]]
        for name in columns
    }
    whole = np.sum([*numbers.values()], axis=0, dtype=np.uint64)
    expected = np.full(len(cells), np.inf)
    for name, number in numbers.items():
        count, others = np.bincount(coded[name][~found]), pd.Series(whole - number)
        chance = others.map(others[~found].value_counts()) * count[coded[name]] / count.sum()
        expected = np.where(cells[name].isna(), expected, np.minimum(expected, chance))
    rare = expected < BY_CHANCE
    by_chance = expected[rare & ~found].sum() / 2  # of two alike the first is no copy
    found &= rare
    return found if found.sum() > 3 * by_chance else np.zeros_like(found)


def random_folds(
    cluster: Int[np.ndarray, " n"] | None, n: int, folds: int, rng: np.random.Generator
) -> Int[np.ndarray, " n"]:
    """Number of each row's fold, at random; rows that belong together have the same. (n,)"""
    if cluster is None:
        return rng.permutation(n) % folds
    found, of_row = np.unique(cluster, return_inverse=True)
    return (rng.permutation(len(found)) % folds)[of_row]


@dataclass(frozen=True, eq=False)
class Belonging:
    """Group and cluster of n rows.

    Attributes:
        group: index into `names`; None where the data set tells no groups apart. (n,)
        names: of the groups.
        cluster: number of the rows' cluster; None: each row is its own cluster. (n,)
    """

    group: Int[np.ndarray, " n"] | None
    names: tuple[str, ...]
    cluster: Int[np.ndarray, " n"] | None

    def take(self, rows: np.ndarray) -> "Belonging":
        """The same of some rows."""
        group, cluster = (None if one is None else one[rows] for one in (self.group, self.cluster))
        return Belonging(group, self.names, cluster)
