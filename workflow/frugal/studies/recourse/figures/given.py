"""What the drawing stage of the recourse study hands to figures."""

from dataclasses import dataclass

import pandas as pd


@dataclass(frozen=True, eq=False)
class Scenario:
    """The scenario that the config names.

    Handed over by `draw_recourse_figures`.

    Attributes:
        sizes: labelled units by number of actions, of every scenario with groups.
        summary: rows of the study's table.
        confidence: accuracy by confidence.
        frequencies: accuracy by training frequency.
        mistakes: wrong answers of the generators that are looked at.
    """

    sizes: pd.DataFrame
    summary: pd.DataFrame
    confidence: pd.DataFrame
    frequencies: pd.DataFrame
    mistakes: pd.DataFrame
