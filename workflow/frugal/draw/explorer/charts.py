"""Charts of the page, drawn by Altair: the specification alone; the page adds the rows.

One mark a row, so a click leads from the mark to its row. Legends are the page's own, with a
box for each name, as they must work by keyboard and filter the rows. Colours are Okabe and Ito's.
Loads Altair only where a chart is made.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

Looks = Mapping[str, Mapping[str, str]]
_SIZE = 70.0  # of a mark, in square pixels
# those of `frugal.draw.style`, which loads matplotlib; a test holds them to it
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#6E6E6E", "#000000")
SHAPES = (
    "circle",
    "square",
    "triangle-up",
    "diamond",
    "cross",
    "triangle-down",
    "triangle-right",
    "triangle-left",
)


def looks_of(names: Iterable[str]) -> dict[str, dict[str, str]]:
    """Name → its words, colour and shape; the first 64 names have pairs that are all different."""
    looks = {}
    for k, name in enumerate(dict.fromkeys(names)):
        turn = k // len(COLOURS)
        looks[name] = {
            "label": words(name),
            "colour": COLOURS[k % len(COLOURS)],
            "shape": SHAPES[(k + turn) % len(SHAPES)],
        }
    return looks


def words(name: str) -> str:
    """A table's name as words: underscores become spaces."""
    return str(name).replace("_", " ").strip()


@dataclass(frozen=True)
class Axis:
    """A column on an axis.

    Attributes:
        field: name of the column.
        title: words at the axis.
        kind: Q for numbers, N for names, in the order of the rows.
        zero: True where the axis begins at 0.
    """

    field: str
    title: str
    kind: str = "Q"
    zero: bool = False


@dataclass(frozen=True, eq=False)
class Chart:
    """Rows of a table as marks.

    Attributes:
        mark: `interval` for a row per name, `scatter` for a mark per row, `line` for a line per
            name through its marks.
        name: of the chart, once in a section.
        title: the finding.
        table: from which the rows are.
        by: column by which marks have colour and shape.
        looks: of its values.
        x: horizontal axis.
        y: vertical axis.
        hover: columns that are shown of a mark.
        where: column → values of the rows that are drawn; all others are left out.
        ends: columns of intervals along `x` (interval) or `y`, a band around a line.
        truth: column of a tick on each row.
        log: whether `x` is logarithmic.
    """

    mark: Literal["interval", "scatter", "line"]
    name: str
    title: str
    table: str
    by: str
    looks: Looks
    x: Axis
    y: Axis
    hover: Sequence[str]
    where: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    ends: tuple[str, str] | None = None
    truth: str = ""
    log: bool = False

    def document(self) -> dict[str, Any]:
        """The specification, without its address of a schema, and its data for the page."""
        document = self._drawn().to_dict()
        for key in ("$schema", "config", "datasets"):
            document.pop(key, None)
        looks = {name: dict(look) for name, look in self.looks.items()}
        return {
            "name": self.name,
            "title": self.title,
            "table": self.table,
            "by": self.by,
            "names": list(looks),
            "looks": looks,
            "where": {key: list(values) for key, values in self.where.items()},
            "per": self.y.field if self.mark == "interval" else "",  # each value needs a line
            "spec": document,
        }

    def _drawn(self) -> Any:
        import altair as alt

        base = alt.Chart(alt.NamedData(name="rows"))
        place = {"x": _axis(alt.X, self.x, log=self.log), "y": _axis(alt.Y, self.y)}
        if self.mark == "interval":
            apart = self.by != self.y.field
            place["yOffset"] = (
                alt.YOffset(field=self.by, type="nominal") if apart else alt.Undefined
            )
        colour = self._scaled(alt.Color, "colour")
        layers = (
            [self._span(base).encode(**place | self._ends(), color=colour)] if self.ends else []
        )
        if self.mark == "line":
            layers.append(base.mark_line(strokeWidth=1.6).encode(**place, color=colour))
        faint: dict[str, Any] = {"opacity": 0.9} if self.mark == "scatter" else {}
        # the page knows which columns are numbers
        hover = [alt.Tooltip(field=name, type="nominal", title=name) for name in self.hover]
        points = base.mark_point(filled=True, size=_SIZE, **faint)
        shape = self._scaled(alt.Shape, "shape")
        layers.append(points.encode(**place, color=colour, shape=shape, tooltip=hover))
        if self.truth:
            tick = base.mark_tick(color="#000000", thickness=2, size=12)
            at = _axis(alt.X, Axis(self.truth, self.x.title))
            layers.append(tick.encode(**place | {"x": at}))
        return alt.layer(*layers)

    def _span(self, base: Any) -> Any:
        """The mark of intervals."""
        if self.mark == "line":
            return base.mark_area(opacity=0.18)
        faint = {"strokeWidth": 1, "opacity": 0.6}
        return base.mark_rule(**(faint if self.mark == "scatter" else {"strokeWidth": 1.6}))

    def _ends(self) -> dict[str, Any]:
        """Places of both ends."""
        import altair as alt

        assert self.ends is not None, "bug: a span without ends"
        low, high = self.ends
        if self.mark == "interval":
            return {"x": _axis(alt.X, replace(self.x, field=low)), "x2": alt.X2(field=high)}
        return {"y": _axis(alt.Y, replace(self.y, field=low)), "y2": alt.Y2(field=high)}

    def _scaled(self, channel: Any, attribute: str) -> Any:
        import altair as alt

        marks = [look[attribute] for look in self.looks.values()]
        scale = alt.Scale(domain=list(self.looks), range=marks)
        return channel(field=self.by, type="nominal", scale=scale, legend=None)


def _axis(kind: Any, axis: Axis, *, log: bool = False) -> Any:
    import altair as alt

    if axis.kind == "N":
        return kind(field=axis.field, type="nominal", sort=None, title=axis.title or None)
    scale = alt.Scale(type="log") if log else alt.Scale(zero=axis.zero)
    ticks = alt.Axis(labelOverlap="greedy", labelSeparation=6)
    return kind(field=axis.field, type="quantitative", title=axis.title, scale=scale, axis=ticks)
