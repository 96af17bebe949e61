"""Agents that always acquire the same panels: all, none, or a named list.

They must not know feature values, costs or labels. "All" is the agent for which AFAIS and IPW
coincide [afape, sec. 3.4.2].
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from jaxtyping import Bool, Float

from frugal.acquire.single import SingleWithoutVerdict


@dataclass(frozen=True, eq=False)
class FixedPolicy(SingleWithoutVerdict):
    """Acquires its panels in index order, leaving out those that are not available, then stops.

    Attributes:
        panels: True where a panel is acquired. (a,)
    """

    panels: Bool[np.ndarray, " a"]
    reads_values: ClassVar[bool] = False

    def action_probabilities(
        self,
        values: Float[np.ndarray, "1 m d"],
        acquired: Bool[np.ndarray, "1 m a"],
        available: Bool[np.ndarray, "1 m a"],
    ) -> Float[np.ndarray, "1 m a+1"]:
        """1 for the first panel that is wanted and left, else for "stop". (1, m, a + 1)"""
        wanted = np.pad(
            self.panels & available & ~acquired, ((0, 0), (0, 0), (0, 1)), constant_values=True
        )
        result = np.zeros(wanted.shape)
        np.put_along_axis(result, wanted.argmax(axis=2)[..., None], 1.0, axis=2)
        return result
