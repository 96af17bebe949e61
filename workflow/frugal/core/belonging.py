"""To which group each row of a table belongs, and which rows belong together."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Int


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
        cluster: number of the rows' cluster; None where each row stands for itself. (n,)
    """

    group: Int[np.ndarray, " n"] | None
    names: tuple[str, ...]
    cluster: Int[np.ndarray, " n"] | None

    def take(self, rows: np.ndarray) -> "Belonging":
        """The same of some rows."""
        group, cluster = (None if one is None else one[rows] for one in (self.group, self.cluster))
        return Belonging(group, self.names, cluster)
