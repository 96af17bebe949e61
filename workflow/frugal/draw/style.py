"""The one style of every figure: a theme with ticks, a palette, and looks by name.

Colours are the colour-blind-safe set of Okabe and Ito; markers of one table of looks are all
different, so a print in grey can be read. Also the words shown for names in tables, and the
checks of a table before it is drawn. Knows no figure and no file.
"""

import functools
import re
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Literal, ParamSpec

import matplotlib as mpl
import numpy as np
import pandas as pd
from jaxtyping import Float
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.lines import Line2D
from matplotlib.text import Text
from matplotlib.ticker import LogFormatter
from matplotlib.typing import MarkerType

from frugal.core.errors import ConfigError, DataError
from frugal.core.schema_check import listed

WIDTH_IN, COLUMN_IN = 7.0, 3.5  # of a page in print; of a column, or a telephone
_width = ContextVar("width", default=WIDTH_IN)
TITLE_CHARACTERS = 100  # of a line across the page
FONT_PT = 8.0
BLACK, GREY, PALE = "#000000", "#6E6E6E", "#F1F1F1"
ORANGE, SKY, GREEN = "#E69F00", "#56B4E9", "#009E73"
BLUE, VERMILLION, PURPLE = "#0072B2", "#D55E00", "#CC79A7"
_SHADES = (BLACK, GREY, ORANGE, SKY, GREEN, BLUE, VERMILLION, PURPLE)
_SHADE_WORDS = "black grey orange sky green blue vermillion purple"
COLOURS: dict[str, str] = dict(
    zip(_SHADE_WORDS.split(), _SHADES, strict=True)
)  # by the words of declarations

_TEXTS = ("font.size", "axes.labelsize", "xtick.labelsize", "ytick.labelsize", "legend.fontsize")
_PAPER = 0.8  # factor on the sizes of a notebook
_SOFT = ("axes.edgecolor", "axes.labelcolor", "text.color", "xtick.color", "ytick.color")
THEME: dict[Any, Any] = {  # as seaborn's "ticks" on "paper", which takes a second to import
    **dict.fromkeys(_SOFT, ".15"),
    **dict.fromkeys(("xtick.major.size", "ytick.major.size", "lines.markersize"), 6 * _PAPER),
    **dict.fromkeys(("xtick.minor.size", "ytick.minor.size"), 4 * _PAPER),
    **dict.fromkeys(("xtick.minor.width", "ytick.minor.width"), _PAPER),
    "grid.color": ".8",
    "lines.solid_capstyle": "round",
    "patch.edgecolor": "w",
    **dict.fromkeys(("axes.axisbelow", "patch.force_edgecolor"), True),
    "font.family": "DejaVu Sans",  # comes with matplotlib: the same glyphs on every machine
    **dict.fromkeys((*_TEXTS, "legend.title_fontsize", "figure.labelsize"), FONT_PT),
    "axes.titlesize": FONT_PT + 1,
    "figure.titlesize": FONT_PT + 1.5,
    "legend.frameon": False,
    "axes.spines.top": False,
    "axes.spines.right": False,
    **dict.fromkeys(("axes.linewidth", "xtick.major.width", "ytick.major.width"), 0.7),
    "lines.linewidth": 1.2,
    "lines.markeredgewidth": 1.1,
    "patch.linewidth": 0.6,
}

_ACRONYMS = "mcar mar mnar dqn ppo sb3 cwcf dadi ddpo heloc nhanes afa afais"
P = ParamSpec("P")
Stroke = Literal["-", "--", "-.", ":", "none"]


@dataclass(frozen=True)
class Look:
    """How one estimator, method, generator or series looks in every figure.

    Attributes:
        label: words shown to the reader.
        colour: of the family.
        marker: matplotlib's code or (corners, 1 for a star, degrees).
        hollow: True for a mark that is white inside.
        line: matplotlib's code of the stroke; "none" for marks that are never joined.
        unit: of the numbers that names add to their kind's.
    """

    label: str
    colour: str
    marker: MarkerType
    hollow: bool = False
    line: Stroke = "-"
    unit: str = ""

    @property
    def face(self) -> str:
        """Fill of a mark: white if hollow."""
        return "white" if self.hollow else self.colour

    @property
    def quoted(self) -> str:
        """Its words as part of a sentence."""
        return quoted(self.label)

    @property
    def size(self) -> float:
        """Factor on the size of the marker: those of thin strokes are drawn larger."""
        return 1.5 if not isinstance(self.marker, str) or self.marker in "x+1234|_" else 1.0

    def handle(self, *, line: Stroke = "none", label: str | None = None) -> Line2D:
        """Entry of a legend, with the stroke of its line or without one."""
        mark = {"marker": self.marker, "markersize": 5 * self.size, "markerfacecolor": self.face}
        label = self.label if label is None else label
        return Line2D([], [], color=self.colour, linestyle=line, label=label, **mark)


def looks_of(declarations: Iterable[Mapping[str, Any]]) -> dict[str, Look]:
    """Looks that declarations have under `looks`, in the order of their places.

    Args:
        declarations: literal arguments; `looks` is name → (place, label, colour by its word,
            marker), and perhaps whether it is hollow, and a unit.
    """
    entries = (entry for literals in declarations for entry in literals.get("looks", {}).items())
    looks: dict[str, Look] = {}
    for name, (_, label, colour, marker, *rest) in sorted(entries, key=lambda e: (e[1][0], e[0])):
        more: dict[str, Any] = dict(zip(("hollow", "unit"), rest, strict=False))
        looks[name] = Look(label, COLOURS[colour], marker, **more)
    return looks


def look_of(name: str, looks: Mapping[str, Look], *, subject: str) -> Look:
    """Look of a name.

    Raises:
        ConfigError: no look is fixed for that name.
    """
    if name not in looks:
        raise ConfigError(
            f"{subject} {name!r} has no colour and marker; allowed are {', '.join(looks)}"
        )
    return looks[name]


def order_of(names: Iterable[str], looks: Mapping[str, Look], *, subject: str) -> list[str]:
    """Distinct names in the order in which every figure lists them."""
    present = set(names)
    for name in sorted(present):
        look_of(name, looks, subject=subject)
    return [name for name in looks if name in present]


def kind_of(name: str, looks: Mapping[str, Look], *, subject: str) -> str:
    """The kind whose name begins a name, the longest that does: `lasso_3` → lasso.

    Raises:
        ConfigError: there is none.
    """
    kinds = [kind for kind in looks if name == kind or name.startswith(f"{kind}_")]
    if not kinds:
        raise ConfigError(
            f"{subject} {name!r} has no colour and marker; a name begins with one of "
            f"{', '.join(looks)}"
        )
    return max(kinds, key=len)


def kind_order(names: Iterable[str], looks: Mapping[str, Look], *, subject: str) -> list[str]:
    """Distinct names by their kinds, in the order in which every figure lists those."""
    kinds = list(looks)
    return sorted(
        set(names), key=lambda name: (kinds.index(kind_of(name, looks, subject=subject)), name)
    )


def printed(draw: Callable[P, Figure]) -> Callable[P, Figure]:
    """Run a drawing function under the house settings, independent of the reader's matplotlibrc.

    The figure is laid out before the settings are left, since matplotlib makes ticks only then; the
    layout is kept, so every file of the figure, of any resolution, looks the same.
    """

    @functools.wraps(draw)
    def drawn(*args: P.args, **kwargs: P.kwargs) -> Figure:
        with mpl.rc_context():
            mpl.rcdefaults()
            mpl.rcParams.update(THEME)
            figure = draw(*args, **kwargs)
            _draw_words_as_they_stand(figure)
            for axes in figure.axes:
                axes.tick_params(which="both", labelsize=FONT_PT)
            if figure.axes:
                ConstrainedLayoutEngine().execute(figure)  # kept by no figure: it draws once a file
            figure.draw_without_rendering()
            return figure

    return drawn


def _draw_words_as_they_stand(figure: Figure) -> None:
    """No text is a formula, even with `$` in a name, but the powers of ten of log axes."""
    for text in figure.findobj(Text):
        text.set_parse_math(False)
    for axis in (axis for axes in figure.axes for axis in (axes.xaxis, axes.yaxis)):
        for formatter, ticks in (
            (axis.get_major_formatter(), axis.get_major_ticks()),
            (axis.get_minor_formatter(), axis.get_minor_ticks()),
        ):
            for tick in ticks if isinstance(formatter, LogFormatter) else ():
                tick.label1.set_parse_math(True)


def add_legend(figure: Figure, handles: Sequence[Artist]) -> None:
    """A legend below all panels, for which the figure grows so that the panels keep their size."""
    columns = _legend_columns([str(h.get_label()) for h in handles], figure.get_figwidth())
    figure.set_figheight(figure.get_figheight() + 0.1 + 0.17 * -(-len(handles) // columns))
    space = {"handlelength": 1.8, "columnspacing": 1.4}
    figure.legend(handles=list(handles), loc="outside lower center", ncols=columns, **space)


def _legend_columns(labels: Sequence[str], width_in: float) -> int:
    """The most columns, five at most, that fit the width; entries fill column after column."""
    for columns in range(min(5, len(labels)), 1, -1):
        blocks = np.array_split(np.array([len(label) for label in labels]), columns)
        if sum(0.5 + 0.058 * block.max() for block in blocks) <= width_in - 0.1:
            return columns
    return 1


def new_figure(*, height_in: float) -> Figure:
    """An empty figure of the current width, whose parts `printed` keeps from overlapping."""
    return Figure(figsize=(_width.get(), height_in))


@contextmanager
def in_column() -> Iterator[None]:
    """Figures that are drawn within are as wide as a column, with text of the same size."""
    before = _width.set(COLUMN_IN)
    try:
        yield
    finally:
        _width.reset(before)


@printed
def sentence_figure(sentence: str) -> Figure:
    """A sentence where a figure was requested and there is nothing to draw: why there is not."""
    text = wrapped(sentence, characters=100)
    figure = new_figure(height_in=0.8 + 0.16 * text.count("\n"))
    figure.text(0.5, 0.5, text, ha="center", va="center")
    return figure


def words(name: str) -> str:
    """A table's name as words: underscores become spaces, acronyms capitals."""
    return " ".join(w.upper() if w in _ACRONYMS.split() else w for w in name.split("_"))


def wrapped(label: str, *, characters: int) -> str:
    """The label broken over lines between words; a per cent sign stays with its number."""
    unbroken = label.replace(" %", "\N{NO-BREAK SPACE}%")
    return textwrap.fill(unbroken, characters, break_on_hyphens=False, break_long_words=False)


def highest(rows: pd.DataFrame, column: str) -> pd.Series:
    """The first row with the highest number of a column; gaps are left out."""
    return rows.iloc[int(np.nanargmax(rows[column].to_numpy(dtype=float)))]


def lowest(rows: pd.DataFrame, column: str) -> pd.Series:
    """The first row with the lowest number of a column; gaps are left out."""
    return rows.iloc[int(np.nanargmin(rows[column].to_numpy(dtype=float)))]


def agent_label(name: str) -> str:
    """An agent's name as words; the share of a random agent in per cent."""
    share = re.fullmatch(r"random_(\d+)", name)
    return f"random {share[1]} %" if share else words(name)


def quoted(label: str) -> str:
    """The label as part of a sentence: in quotation marks if it has a comma or a colon."""
    return f"“{label}”" if {",", ":"} & set(label) else label


def titled(subject: str, finding: str) -> str:
    """Title of a figure in lines: its subject if there is one, and its finding."""
    finding = f"{subject}: {finding}" if subject else finding[:1].upper() + finding[1:]
    return wrapped(finding, characters=TITLE_CHARACTERS)


def require(table: pd.DataFrame, columns: str, *, single: str = "") -> None:
    """Check a table before it is drawn.

    Args:
        table: to be drawn.
        columns: that must be there, separated by blanks.
        single: columns which must hold one value only, since the figure has no place for a second.

    Raises:
        DataError: a column is missing, there is no row, or a single column has several values.
    """
    missing = [name for name in f"{columns} {single}".split() if name not in table.columns]
    if missing:
        raise DataError(
            f"the figure needs column {missing[0]!r}; the table has {listed(table.columns)}"
        )
    if table.empty:
        raise DataError("the table to be drawn has no rows; a figure needs at least one")
    for column in single.split():
        values = sorted(map(str, table[column].unique()))
        if len(values) > 1:
            raise DataError(
                f"the figure shows one {column}, but the table holds {listed(values)}; select one"
            )


def select(table: pd.DataFrame, **values: str | int) -> pd.DataFrame:
    """Rows in which each named column has the given value.

    Raises:
        DataError: no row does; the sentence names the first value that is absent.
    """
    rows = table
    for column, value in values.items():
        present = sorted(map(str, rows[column].unique()))
        rows = rows[rows[column] == value]
        if rows.empty:
            raise DataError(f"no row has {column} {value!r}; there is {listed(present)}")
    return rows


def lightened(colour: str, *, share: float) -> tuple[float, float, float]:
    """An opaque tint: the colour mixed with the given share of white."""
    red, green, blue = (c + (1 - c) * share for c in to_rgb(colour))
    return red, green, blue


def decimals(values: Float[np.ndarray, " n"]) -> int:
    """Digits after the point that give the middle of the values three figures; 0 to 4."""
    middle = np.nanmedian(np.abs(values)) if np.isfinite(values).any() else 0.0
    return int(np.clip(2 - np.floor(np.log10(middle)), 0, 4)) if middle > 0 else 2


def whiskers(
    value: Float[np.ndarray, " n"],
    spread: Float[np.ndarray, " n"],
    *,
    least: float = 0.0,
    most: float = 1.0,
) -> Float[np.ndarray, "2 n"]:
    """Ends of whiskers of ± one spread to either side, cut at the ends of a quantity's range.

    Args:
        value: of the marks. (n,)
        spread: standard error or deviation of each; NaN draws none. (n,)
        least: lower end of the range, 0 of a share.
        most: upper end, 1 of a share.
    """
    sides = np.minimum([value - least, most - value], np.nan_to_num(spread))
    return np.array([value, value]) + np.maximum(sides, 0.0) * [[-1.0], [1.0]]


def shade_every_second(axes: Axes, count: int, *, vertical: bool) -> None:
    """Pale bands behind every second of `count` rows (or groups, if vertical) at 0, 1, 2, …"""
    span = axes.axvspan if vertical else axes.axhspan
    for k in range(1, count, 2):
        span(k - 0.5, k + 0.5, color=PALE, linewidth=0, zorder=0)
