"""What the drawing stage of the dadi study hands to figures."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd


@dataclass(frozen=True, eq=False)
class DataSet:
    """One data set.

    Handed over by `draw_dadi_figures`.

    Attributes:
        means: over folds, of every method and γ.
        audit: what learners tell of the group.
        singles: what one panel alone predicts.
        curves: of training.
        selection: how often panels are acquired, with the `group` that is drawn.
        groups: of `selection`, in their order.
        words: `title` and `caution`, as figures take them.
    """

    means: pd.DataFrame
    audit: pd.DataFrame
    singles: pd.DataFrame
    curves: pd.DataFrame
    selection: pd.DataFrame
    groups: list[str]
    words: Mapping[str, Any]
