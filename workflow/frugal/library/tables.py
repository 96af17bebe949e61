"""A table of one's own, and which of its panels are missing where. Shapes: n units, d features."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from frugal.library.asked import Asked
from frugal.library.chain import made

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False, repr=False)
class Table:
    """A table that is described, read and encoded.

    Attributes:
        asked: its config and folder; what the other steps begin with.
    """

    asked: Asked

    @property
    def name(self) -> str:
        """Of the data set, as its YAML says."""
        return self.asked.decision.dataset

    @property
    def folder(self) -> Path | None:
        """In which `results/` lies, as after `snakemake decide`; None where all is in memory."""
        return self.asked.folder

    @property
    def unit(self) -> str:
        """Of prices and costs of errors."""
        return self.asked.study.descriptions[self.name].cost_unit

    @property
    def panels(self) -> dict[str, float | None]:
        """Panel → price in the table's unit, 0 for a free one; None where prices are drawn."""
        panels = self.asked.study.descriptions[self.name].panels
        return {panel.name: 0.0 if panel.free else panel.cost for panel in panels}

    @property
    def policies(self) -> list[str]:
        """Names of the policies that `decide` tries on it."""
        return list(self.asked.study.agents)

    @property
    def remarks(self) -> tuple[str, ...]:
        """What is assumed of the gaps, and what is probably not meant; a sentence each."""
        return self.asked.decision.remarks

    @property
    def frame(self) -> "pd.DataFrame":
        """Rows as stages read them: encoded features with NaN where unknown, label, part. (n, …)"""
        return made(self.asked, "prepare_data")["table"]

    @property
    def catalogue(self) -> dict[str, Any]:
        """Columns with their units, panels with their prices, classes, costs of errors."""
        return made(self.asked, "prepare_data")["catalogue"]

    def __repr__(self) -> str:
        return f"Table({self.name!r}, panels={list(self.panels)})"


@dataclass(frozen=True, eq=False, repr=False)
class Masks:
    """Which panels of a table are missing where, and by what law.

    Attributes:
        asked: its config and folder.
    """

    asked: Asked

    @property
    def name(self) -> str:
        """Of the mechanism."""
        return self.asked.mechanism

    @property
    def law(self) -> Mapping[str, Any]:
        """The law, as `missingness` of a scenario in a config."""
        return self.asked.study.scenario(**self.asked.keys)["missingness"]

    @property
    def frame(self) -> "pd.DataFrame":
        """Whether each panel is observed, a row for each unit and seed."""
        return made(self.asked, "draw_missingness")["masks"]

    @property
    def graph(self) -> dict[str, Any]:
        """The assumed graph: panels, and what causes their gaps."""
        return made(self.asked, "draw_missingness")["graph"]

    @property
    def identification(self) -> dict[str, Any]:
        """What can be told from such records, and by which panels' indicators."""
        return made(self.asked, "draw_missingness")["identification"]

    def __repr__(self) -> str:
        return f"Masks({self.asked.decision.dataset!r}, {self.name!r})"
