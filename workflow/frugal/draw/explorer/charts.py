"""Charts of the page, drawn by Altair: the specification alone; the page adds the rows.

One mark a row, so that a click leads from the mark to its row. Legends are the page's own, with a
box for each name, as they must work by keyboard and filter the rows.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Looks = Mapping[str, Mapping[str, str]]
_SIZE = 70.0  # of a mark, in square pixels


@dataclass(frozen=True)
class Axis:
    """A column on an axis.

    Attributes:
        field: name of the column.
        title: words at the axis.
        kind: Q for numbers, N for names.
        zero: True where the axis begins at 0.
    """

    field: str
    title: str
    kind: str = "Q"
    zero: bool = False


@dataclass(frozen=True)
class Shown:
    """What a chart is of.

    Attributes:
        name: of the chart, once in a section.
        title: what is to be seen.
        table: from which the rows are.
        by: column by which marks have colour and shape.
        looks: of its values.
        where: column → values of the rows that are drawn; all others are left out.
        hover: columns that are told of a mark.
    """

    name: str
    title: str
    table: str
    by: str
    looks: Looks
    where: Mapping[str, Sequence[Any]]
    hover: Sequence[str]


def interval_chart(
    shown: Shown, x: Axis, y: Axis, *, ends: tuple[str, str], truth: str = ""
) -> Any:
    """Estimates with their intervals, a row per name; a tick for the truth where it is known."""
    import altair as alt

    base = _base()
    offset = alt.YOffset(field=shown.by, type="nominal") if shown.by != y.field else alt.Undefined
    place = {"y": _axis(alt.Y, y), "yOffset": offset}
    low, high = ends
    line = base.mark_rule(strokeWidth=1.6).encode(
        x=_axis(alt.X, Axis(low, x.title, zero=x.zero)),
        x2=alt.X2(field=high), color=_colour(shown), **place,
    )  # fmt: skip
    mark = base.mark_point(filled=True, size=_SIZE).encode(
        x=_axis(alt.X, x), color=_colour(shown), shape=_shape(shown), tooltip=_hover(shown), **place
    )
    layers = [line, mark]
    if truth:
        tick = base.mark_tick(color="#000000", thickness=2, size=12)
        layers.append(tick.encode(x=_axis(alt.X, Axis(truth, x.title)), **place))
    return _chart(shown, alt.layer(*layers), per=y.field)


def scatter_chart(shown: Shown, x: Axis, y: Axis, *, ends: tuple[str, str] | None = None) -> Any:
    """A mark per row; with `ends`, an upright interval of `y`."""
    import altair as alt

    base = _base()
    layers = []
    if ends:
        low, high = ends
        rule = base.mark_rule(strokeWidth=1, opacity=0.6)
        layers.append(rule.encode(
            x=_axis(alt.X, x), y=_axis(alt.Y, Axis(low, y.title, zero=y.zero)),
            y2=alt.Y2(field=high), color=_colour(shown),
        ))  # fmt: skip
    mark = base.mark_point(filled=True, size=_SIZE, opacity=0.9)
    layers.append(mark.encode(
        x=_axis(alt.X, x), y=_axis(alt.Y, y), color=_colour(shown), shape=_shape(shown),
        tooltip=_hover(shown),
    ))  # fmt: skip
    return _chart(shown, alt.layer(*layers))


def line_chart(
    shown: Shown, x: Axis, y: Axis, *, ends: tuple[str, str] | None = None, log: bool = False
) -> Any:
    """A line per name through its marks; with `ends`, a band around it."""
    import altair as alt

    base = _base()
    along = _axis(alt.X, x, log=log)
    layers = []
    if ends:
        low, high = ends
        band = base.mark_area(opacity=0.18)
        layers.append(band.encode(
            x=along, y=_axis(alt.Y, Axis(low, y.title, zero=y.zero)), y2=alt.Y2(field=high),
            color=_colour(shown),
        ))  # fmt: skip
    line = base.mark_line(strokeWidth=1.6).encode(x=along, y=_axis(alt.Y, y), color=_colour(shown))
    mark = base.mark_point(filled=True, size=_SIZE).encode(
        x=along, y=_axis(alt.Y, y), color=_colour(shown), shape=_shape(shown),
        tooltip=_hover(shown),
    )  # fmt: skip
    return _chart(shown, alt.layer(*layers, line, mark))


def _base() -> Any:
    import altair as alt

    return alt.Chart(alt.NamedData(name="rows"))


def _axis(kind: Any, axis: Axis, *, log: bool = False) -> Any:
    import altair as alt

    if axis.kind == "N":
        # names stand in the order of the rows
        return kind(field=axis.field, type="nominal", sort=None, title=axis.title or None)
    scale = alt.Scale(type="log") if log else alt.Scale(zero=axis.zero)
    ticks = alt.Axis(labelOverlap="greedy", labelSeparation=6)
    return kind(field=axis.field, type="quantitative", title=axis.title, scale=scale, axis=ticks)


def _colour(shown: Shown) -> Any:
    import altair as alt

    names, marks = list(shown.looks), [look["colour"] for look in shown.looks.values()]
    scale = alt.Scale(domain=names, range=marks)
    return alt.Color(field=shown.by, type="nominal", scale=scale, legend=None)


def _shape(shown: Shown) -> Any:
    import altair as alt

    names, marks = list(shown.looks), [look["shape"] for look in shown.looks.values()]
    scale = alt.Scale(domain=names, range=marks)
    return alt.Shape(field=shown.by, type="nominal", scale=scale, legend=None)


def _hover(shown: Shown) -> Any:
    import altair as alt

    # the page knows which columns are numbers
    return [alt.Tooltip(field=name, type="nominal", title=name) for name in shown.hover]


def _chart(shown: Shown, drawn: Any, *, per: str = "") -> dict[str, Any]:
    """The specification, without its address of a schema, and what the page must know of it.

    `per`: the column whose values each need a line of their own.
    """
    document = drawn.to_dict()
    for key in ("$schema", "config", "datasets"):
        document.pop(key, None)
    return {
        "name": shown.name, "title": shown.title, "table": shown.table, "by": shown.by,
        "names": list(shown.looks), "looks": {name: dict(one) for name, one in shown.looks.items()},
        "where": {key: list(values) for key, values in shown.where.items()}, "per": per,
        "spec": document,
    }  # fmt: skip
