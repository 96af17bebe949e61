"""The hand in which every figure is drawn: size, fonts, and one colour and marker per estimator.

Colours are the colour-blind-safe set of Okabe and Ito; markers are all different, so that a print
in grey can be read. Also the words shown for names in tables, and the checks of a table before it
is drawn. Knows no figure and no file.
"""

import functools
import re
import textwrap
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ParamSpec

import matplotlib as mpl
import numpy as np
import pandas as pd
from jaxtyping import Float
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.text import Text
from matplotlib.ticker import LogFormatter
from matplotlib.typing import MarkerType

from frugal.contracts.errors import ConfigError, DataError

WIDTH_IN = 7.0
FONT_PT = 8.0
BLACK, GREY, PALE = "#000000", "#6E6E6E", "#F1F1F1"
ORANGE, SKY, GREEN = "#E69F00", "#56B4E9", "#009E73"
BLUE, VERMILLION, PURPLE = "#0072B2", "#D55E00", "#CC79A7"

SETTINGS: dict[Any, object] = {
    "font.family": "DejaVu Sans",  # comes with matplotlib: the same glyphs on every machine
    "font.size": FONT_PT,
    "axes.titlesize": FONT_PT + 1,
    "axes.labelsize": FONT_PT,
    "xtick.labelsize": FONT_PT,
    "ytick.labelsize": FONT_PT,
    "legend.fontsize": FONT_PT,
    "figure.titlesize": FONT_PT + 1.5,
    "figure.labelsize": FONT_PT,
    "legend.frameon": False,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.7,
    "xtick.major.width": 0.7,
    "ytick.major.width": 0.7,
    "lines.linewidth": 1.2,
    "lines.markeredgewidth": 1.1,
    "hatch.linewidth": 0.6,
}

STATUS_WORDS = {
    "no_support": "no support",
    "not_identified": "not identified",
    "not_available": "not available",
}


@dataclass(frozen=True)
class EstimatorStyle:
    """How one estimator looks in every figure.

    Attributes:
        label: words shown to the reader.
        colour: of the estimator's family.
        marker: matplotlib's code or (corners, 1 for a star, degrees), the estimator's alone.
    """

    label: str
    colour: str
    marker: MarkerType

    @property
    def size(self) -> float:
        """Factor on the size of the marker: those of thin strokes are drawn larger."""
        return 1.5 if not isinstance(self.marker, str) or self.marker in "x+12" else 1.0


ESTIMATORS: dict[str, EstimatorStyle] = {
    "ground_truth": EstimatorStyle("ground truth", BLACK, "o"),
    "blocking": EstimatorStyle("blocking", VERMILLION, "s"),
    "complete_case": EstimatorStyle("complete case", ORANGE, "D"),
    "imputation_missforest": EstimatorStyle("imputation (MissForest)", PURPLE, "^"),
    "multiple_imputation": EstimatorStyle("multiple imputation", PURPLE, "v"),
    "multiple_imputation_label": EstimatorStyle("multiple imputation + label", PURPLE, "<"),
    "ipw": EstimatorStyle("IPW", SKY, "p"),
    "stabilised_ipw": EstimatorStyle("stabilised IPW", SKY, "X"),
    "stabilised_ipw_true": EstimatorStyle("stabilised IPW, true p", SKY, "x"),
    "afais": EstimatorStyle("AFAIS", BLUE, "d"),
    "stabilised_afais": EstimatorStyle("stabilised AFAIS", BLUE, "P"),
    "afais_s": EstimatorStyle("AFAIS(s)", BLUE, "h"),
    "stabilised_afais_s": EstimatorStyle("stabilised AFAIS(s)", BLUE, "H"),
    "stabilised_afais_s_policy": EstimatorStyle(
        "stabilised AFAIS(s), policy known", BLUE, (4, 1, 0)
    ),
    "stabilised_afais_s_true": EstimatorStyle("stabilised AFAIS(s), true p", BLUE, "+"),
    "doubly_robust": EstimatorStyle("doubly robust", GREEN, ">"),
    "doubly_robust_afais": EstimatorStyle("doubly robust AFAIS", GREEN, "*"),
    "off_policy_set": EstimatorStyle("off-policy, set", GREY, "1"),
    "off_policy_sequence": EstimatorStyle("off-policy, sequence", GREY, "2"),
}

_CHARACTER_IN = 0.07  # generous mean width of a letter at 8 pt
_ACRONYMS = frozenset({"mcar", "mar", "mnar", "dqn", "heloc", "nhanes", "afa", "afais"})
_MECHANISMS = ("mcar", "mar", "mnar")
_AGENTS_FIRST = ("never", "random", "always", "fixed")

P = ParamSpec("P")


def printed(draw: Callable[P, Figure]) -> Callable[P, Figure]:
    """Run a drawing function under the house settings, whatever the reader's own matplotlibrc says.

    The figure is laid out before the settings are left, since matplotlib makes ticks only then; the
    layout is kept, so that every file of the figure, whatever its resolution, looks the same.
    """

    @functools.wraps(draw)
    def drawn(*args: P.args, **kwargs: P.kwargs) -> Figure:
        with mpl.rc_context():
            mpl.rcdefaults()
            mpl.rcParams.update(SETTINGS)
            figure = draw(*args, **kwargs)
            _draw_words_as_they_stand(figure)
            for axes in figure.axes:
                axes.tick_params(which="both", labelsize=FONT_PT)
            figure.draw_without_rendering()
            figure.set_layout_engine("none")
            return figure

    return drawn


def _draw_words_as_they_stand(figure: Figure) -> None:
    """No text is a formula, whatever `$` a name holds, but the powers of ten of log axes."""
    for text in figure.findobj(Text):
        text.set_parse_math(False)
    for axes in figure.axes:
        for axis in (axes.xaxis, axes.yaxis):
            for formatter, ticks in (
                (axis.get_major_formatter(), axis.get_major_ticks()),
                (axis.get_minor_formatter(), axis.get_minor_ticks()),
            ):
                if isinstance(formatter, LogFormatter):
                    for tick in ticks:
                        tick.label1.set_parse_math(True)


def add_legend(figure: Figure, handles: Sequence[Artist]) -> None:
    """A legend below all panels, for which the figure grows so that the panels keep their size."""
    columns = _legend_columns([str(h.get_label()) for h in handles])
    figure.set_figheight(figure.get_figheight() + 0.1 + 0.17 * -(-len(handles) // columns))
    figure.legend(
        handles=list(handles), loc="outside lower center", ncols=columns, handlelength=1.8,
        columnspacing=1.4,
    )  # fmt: skip


def _legend_columns(labels: Sequence[str]) -> int:
    """The most columns, five at most, that fit the width; entries fill column after column."""
    for columns in range(min(5, len(labels)), 1, -1):
        blocks = np.array_split(np.array([len(label) for label in labels]), columns)
        if sum(0.5 + 0.058 * block.max() for block in blocks) <= WIDTH_IN - 0.1:
            return columns
    return 1


def facet_columns(facets: int, *, slots: int, slot_in: float) -> int:
    """Facets side by side, 3, 2 or 1, so that lines are full and each slot keeps its width.

    Args:
        facets: to be placed.
        slots: places along the horizontal axis of each facet.
        slot_in: least width of a slot, in inches.
    """
    for columns in (3, 2):
        if facets % columns == 0 and _axes_width_in(columns) / slots >= slot_in:
            return columns
    return 1


def _axes_width_in(columns: int) -> float:
    """Width left to a facet beside its axis' numbers and name."""
    return WIDTH_IN / columns - 0.6


def agent_ticks(axes: Axes, agents: Sequence[str], *, width_in: float) -> None:
    """Names of agents at x = 0, 1, 2, …, upright where a slot is narrower than the longest word.

    Args:
        axes: whose horizontal axis holds agents.
        agents: in their order.
        width_in: width of the axes, in inches.
    """
    longest = max(len(word) for a in agents for word in agent_label(a).split())
    narrow = width_in / len(agents) < _CHARACTER_IN * longest + 0.02
    labels = [wrapped(agent_label(a), characters=16 if narrow else 9) for a in agents]
    axes.set_xticks(range(len(agents)), labels, rotation=90 if narrow else 0)
    axes.tick_params(axis="x", length=0)


def new_figure(*, height_in: float) -> Figure:
    """An empty figure of print width that keeps its parts from overlapping."""
    return Figure(figsize=(WIDTH_IN, height_in), layout="constrained")


@printed
def sentence_figure(sentence: str) -> Figure:
    """A sentence where a figure was asked for and there is nothing to draw: why there is not."""
    text = wrapped(sentence, characters=100)
    figure = new_figure(height_in=0.8 + 0.16 * text.count("\n"))
    figure.text(0.5, 0.5, text, ha="center", va="center")
    return figure


def estimator_style(name: str) -> EstimatorStyle:
    """Look of an estimator.

    Raises:
        ConfigError: no look is fixed for that name.
    """
    if name not in ESTIMATORS:
        raise ConfigError(
            f"estimator {name!r} has no colour and marker; allowed are {', '.join(ESTIMATORS)}"
        )
    return ESTIMATORS[name]


def estimator_order(names: Iterable[str]) -> list[str]:
    """Distinct estimators in the order in which every figure lists them."""
    present = set(names)
    for name in sorted(present):
        estimator_style(name)
    return [name for name in ESTIMATORS if name in present]


def agent_order(names: Iterable[str]) -> list[str]:
    """Distinct agents: never, random by rising share, always, fixed sets, then learned ones."""

    def key(name: str) -> tuple[int, int, str]:
        head, _, tail = name.partition("_")
        rank = _AGENTS_FIRST.index(head) if head in _AGENTS_FIRST else len(_AGENTS_FIRST)
        return rank, int(tail) if tail.isdigit() else 0, name

    return sorted(set(names), key=key)


def scenario_order(table: pd.DataFrame) -> list[tuple[str, str]]:
    """Distinct (dataset, mechanism): data sets by first appearance, mechanisms MCAR, MAR, MNAR."""
    datasets = list(dict.fromkeys(table["dataset"]))

    def key(pair: tuple[str, str]) -> tuple[int, int, str]:
        dataset, mechanism = pair
        known = mechanism in _MECHANISMS
        rank = _MECHANISMS.index(mechanism) if known else len(_MECHANISMS)
        return datasets.index(dataset), rank, mechanism

    return sorted(set(zip(table["dataset"], table["mechanism"], strict=True)), key=key)


def words(name: str) -> str:
    """A table's name as words: underscores become spaces, acronyms capitals."""
    return " ".join(w.upper() if w in _ACRONYMS else w for w in name.split("_"))


def agent_label(name: str) -> str:
    """An agent's name as words; the share of a random agent in per cent."""
    share = re.fullmatch(r"random_(\d+)", name)
    return f"random {share[1]} %" if share else words(name)


def wrapped(label: str, *, characters: int) -> str:
    """The label broken over lines between words; a per cent sign stays with its number."""
    kept = label.replace(" %", "\N{NO-BREAK SPACE}%")
    return textwrap.fill(kept, characters, break_on_hyphens=False, break_long_words=False)


def scenario_title(scenario: tuple[str, str]) -> str:
    """Data set and mechanism as the title of a facet; the data set's first letter is a capital."""
    dataset, mechanism = words(scenario[0]), words(scenario[1])
    return f"{dataset[:1].upper()}{dataset[1:]}, {mechanism}"


def require(table: pd.DataFrame, columns: Sequence[str], *, single: Sequence[str]) -> None:
    """Check a table before it is drawn.

    Args:
        table: to be drawn.
        columns: that must be there.
        single: columns which must hold one value only, since the figure has no place for a second.

    Raises:
        DataError: a column is missing, there is no row, or a single column has several values.
    """
    missing = [c for c in (*columns, *single) if c not in table.columns]
    if missing:
        raise DataError(
            f"the figure needs column {missing[0]!r}; the table has {', '.join(table.columns)}"
        )
    if table.empty:
        raise DataError("the table to be drawn has no rows; a figure needs at least one")
    for column in single:
        found = sorted(map(str, table[column].unique()))
        if len(found) > 1:
            raise DataError(
                f"the figure shows one {column}, but the table holds {', '.join(found)}; select one"
            )


def select(table: pd.DataFrame, **values: str | int) -> pd.DataFrame:
    """Rows in which each named column has the given value.

    Raises:
        DataError: no row does; the sentence names the first value that is absent.
    """
    rows = table
    for column, value in values.items():
        found = sorted(map(str, rows[column].unique()))
        rows = rows[rows[column] == value]
        if rows.empty:
            raise DataError(f"no row has {column} {value!r}; there is {', '.join(found)}")
    return rows


def lightened(colour: str, *, share: float) -> tuple[float, float, float]:
    """An opaque tint: the colour mixed with the given share of white."""
    red, green, blue = (c + (1 - c) * share for c in to_rgb(colour))
    return red, green, blue


def estimator_handle(name: str, *, line: bool) -> Line2D:
    """Entry of a legend for one estimator, with or without its line."""
    look = estimator_style(name)
    return Line2D(
        [], [], color=look.colour, marker=look.marker, markersize=5 * look.size, label=look.label,
        linestyle="-" if line else "none",
    )  # fmt: skip


def decimals(values: Float[np.ndarray, " n"]) -> int:
    """Digits after the point that give the middle of the values three figures; 0 to 4."""
    middle = np.nanmedian(np.abs(values)) if np.isfinite(values).any() else 0.0
    return int(np.clip(2 - np.floor(np.log10(middle)), 0, 4)) if middle > 0 else 2


def window(
    centre: Float[np.ndarray, " n"], low: Float[np.ndarray, " n"], high: Float[np.ndarray, " n"]
) -> tuple[float, float]:
    """Limits of an axis that a single absurd estimate cannot flatten.

    Centres and ends of intervals set the limits as far as six interquartile ranges of the centres
    beyond their quartiles, or the longer half of the median interval, if that is more; what lies
    farther must be marked at the edge by the caller.

    Args:
        centre: estimates and truths; NaN where there is none. (n,)
        low: lower ends of what is drawn around them, NaN allowed. (n,)
        high: upper ends, NaN allowed. (n,)

    Returns:
        Lower and upper limit, with a margin of 6 %.
    """
    finite = centre[np.isfinite(centre)]
    if not len(finite):
        return 0.0, 1.0
    first, third = np.quantile(finite, [0.25, 0.75])
    halves = np.fmax(centre - low, high - centre)
    half = float(np.median(halves[np.isfinite(halves)])) if np.isfinite(halves).any() else 0.0
    reach = max(6 * (third - first), 1.1 * half) if third > first else np.inf
    every = np.concatenate([finite, low[np.isfinite(low)], high[np.isfinite(high)]])
    kept = np.clip(every, first - reach, third + reach)
    bottom, top = float(kept.min()), float(kept.max())
    margin = 0.06 * (top - bottom) or 0.06 * abs(top) or 1.0
    return bottom - margin, top + margin


def whiskers(
    value: Float[np.ndarray, " n"],
    spread: Float[np.ndarray, " n"],
    *,
    least: float = 0.0,
    most: float = 1.0,
) -> Float[np.ndarray, "2 n"]:
    """Lengths of whiskers of ± one spread to either side, cut at the ends of a quantity's range.

    Args:
        value: of the marks. (n,)
        spread: standard error or deviation of each; NaN draws none. (n,)
        least: lower end of the range, 0 of a share.
        most: upper end, 1 of a share.
    """
    sides = np.minimum([value - least, most - value], np.nan_to_num(spread))
    return np.maximum(sides, 0.0)


def shade_every_second(axes: Axes, count: int, *, vertical: bool) -> None:
    """Pale bands behind every second of `count` rows (or groups, if vertical) at 0, 1, 2, …"""
    span = axes.axvspan if vertical else axes.axhspan
    for k in range(1, count, 2):
        span(k - 0.5, k + 0.5, color=PALE, linewidth=0, zorder=0)
