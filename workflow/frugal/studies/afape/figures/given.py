"""What the drawing stages of the afape study hand to figures."""

from collections.abc import Mapping
from dataclasses import dataclass

import pandas as pd


@dataclass(frozen=True, eq=False)
class Scenario:
    """One data set and mechanism, by its first seed.

    Handed over by `draw_scenario_figures`.

    Attributes:
        estimates: rows of the summary.
        verdict: row of the table of verdicts.
        frequencies: of panels, of one agent.
        calibration: of what was fitted.
        unit: `cost_unit`, as figures take it.
    """

    estimates: pd.DataFrame
    verdict: pd.Series
    frequencies: pd.DataFrame
    calibration: pd.DataFrame
    unit: Mapping[str, str]


@dataclass(frozen=True, eq=False)
class Study:
    """All scenarios.

    Handed over by `draw_study_figures`.

    Attributes:
        summary: the study's table.
        resamples: of the first seed and the chosen estimators.
        behind: rows of the summary that the resamples belong to.
        convergence: of the chosen agents and estimators, where the truth is known.
        unit: `cost_unit`, as figures take it.
    """

    summary: pd.DataFrame
    resamples: pd.DataFrame
    behind: pd.DataFrame
    convergence: pd.DataFrame
    unit: Mapping[str, str]
