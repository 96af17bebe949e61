"""Agents that always acquire the same panels: all, none, or a named list.

They must not know feature values, costs or labels. "All" is the agent for which AFAIS and IPW
coincide [afape, sec. 3.4.2].
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from jaxtyping import Bool, Float


@dataclass(frozen=True, eq=False)
class FixedPolicy:
    """Acquires its panels in index order, leaving out those that are not available, then stops.

    Attributes:
        panels: True where a panel is acquired. (a,)
    """

    panels: Bool[np.ndarray, " a"]
    reads_values: ClassVar[bool] = False

    def action_probabilities(
        self,
        values: Float[np.ndarray, "n d"],
        acquired: Bool[np.ndarray, "n a"],
        available: Bool[np.ndarray, "n a"],
    ) -> Float[np.ndarray, "n a+1"]:
        """1 for the first panel that is wanted and left, else for "stop", the last. (n, a + 1)"""
        n = len(acquired)
        wanted = np.hstack([self.panels & available & ~acquired, np.ones((n, 1), dtype=bool)])
        result = np.zeros(wanted.shape)
        result[np.arange(n), wanted.argmax(axis=1)] = 1.0
        return result
