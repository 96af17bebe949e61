"""What a figure of the workflow is; modules of `studies.<study>.figures` declare them.

Knows no figure and no file.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd
from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False)
class PrintedFigure:
    """A figure that a stage draws, declared in a module of its study's `figures`.

    Attributes:
        name: of its files.
        place: the report lists the figures of a stage by this number.
        stages: that draw it.
        draw: what the stage hands over (see the study's `figures.given`) → the figure and the table
            that it shows.
        doc: what it shows, in a line.
    """

    name: str
    place: int
    stages: tuple[str, ...]
    draw: Callable[[Any], tuple[Figure, pd.DataFrame]]
    doc: str


def draw_all(figures: Mapping[str, PrintedFigure], stage: str, given: Any) -> dict[str, Any]:
    """Outputs of a stage: each figure as PNG and PDF, and what it shows as table and page."""
    outputs: dict[str, Any] = {}
    for figure in figures.values():
        if stage in figure.stages:
            outputs |= outputs_of(figure.name, *figure.draw(given))
    return outputs


def outputs_of(name: str, figure: Figure, table: pd.DataFrame) -> dict[str, Any]:
    """One figure as PNG and PDF, and the table that it shows, also as a page."""
    pictures = {f"{name}_png": figure, f"{name}_pdf": figure}
    return pictures | {f"{name}_table": table, f"{name}_page": table}
