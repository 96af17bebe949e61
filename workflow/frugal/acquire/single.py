"""What single policies that leave the verdict to the study's classifier have in common."""

import numpy as np
from jaxtyping import Bool, Float

from frugal.core.episodes import Traits


class SingleWithoutVerdict:
    """One policy, which says where to stop and not what the class is."""

    @property
    def members(self) -> int:
        """1."""
        return 1

    @property
    def traits(self) -> Traits:
        """It promises nothing."""
        return Traits()

    def predict(
        self, values: Float[np.ndarray, "1 m d"], acquired: Bool[np.ndarray, "1 m a"]
    ) -> None:
        """None: it has no verdict of its own."""
        del values, acquired
