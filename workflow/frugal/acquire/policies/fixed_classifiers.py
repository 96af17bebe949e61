"""Classifiers that each see one fixed set of panels, as policies: the baselines of all panels.

Full observation and fixed panels of [diagnosis, table 2]. They know no costs and no labels.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float

from frugal.acquire.reading import panel_or_stop
from frugal.core.episodes import Traits


@dataclass(frozen=True, eq=False)
class FixedClassifiers:
    """K members; each acquires its panels in index order, then its classifier says.

    Attributes:
        panels: that each member acquires, as far as a unit has them. (K, a)
        classifiers: (visible values, NaN where unknown (m, d)) → probability of the second class.
        threshold: of that probability, from which a member says so. (K,)
    """

    panels: Bool[np.ndarray, "K a"]
    classifiers: Sequence[Callable[[np.ndarray], np.ndarray]]
    threshold: Float[np.ndarray, " K"]

    @property
    def traits(self) -> Traits:
        """See `Traits`."""
        return Traits(threshold=self.threshold)

    @property
    def members(self) -> int:
        """K."""
        return len(self.classifiers)

    def action_probabilities(
        self,
        values: Float[np.ndarray, "K m d"],
        acquired: Bool[np.ndarray, "K m a"],
        available: Bool[np.ndarray, "K m a"],
    ) -> Float[np.ndarray, "K m a+1"]:
        """1 for the first panel that is wanted and left, else for "stop". (K, m, a + 1)"""
        wanted = self.panels[:, None] & available & ~acquired
        return panel_or_stop(wanted.argmax(axis=2), np.asarray(wanted.any(axis=2)), wanted.shape[2])

    def predict(
        self, values: Float[np.ndarray, "K m d"], acquired: Bool[np.ndarray, "K m a"]
    ) -> Float[np.ndarray, "K m 2"]:
        """Probabilities of the two classes. (K, m, 2)"""
        del acquired
        risk = np.stack([one(seen) for one, seen in zip(self.classifiers, values, strict=True)])
        return np.stack([1 - risk, risk], axis=2)
