"""Description of a data set, read from its YAML: source, columns, panels and costs, label, split.

Which class or group a raw value means, by its text or by the range its number is in, is `Classes`.
Serves every study. Must not read the data themselves, and imports no table library, so a
workflow can check all descriptions before it plans a single job.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Int

import frugal.config.dataset as written
from frugal.config.blocks import Block
from frugal.config.dataset import Dataset, DropRule, LabelRule, Source, StaySummary
from frugal.config.panels import CostDraw, PanelEntry, UncertainCost, mean_cost
from frugal.core.errors import ConfigError
from frugal.core.numeric import NumericLabel
from frugal.core.schema_check import listed, read_yaml, require_no_table
from frugal.core.table import SetUp, error_name


@dataclass(frozen=True)
class Format:
    """How the files are written; `header` is None where the first record names the columns.

    `personal` are columns that name people: they are dropped as soon as a line is read. The first
    `skip_lines` lines of a csv are no part of the table. `decimal` and `thousands` are the marks in
    numbers that are written as text.
    """

    kind: str
    missing: tuple[str, ...]
    separator: str
    header: tuple[str, ...] | None
    comment: str | None
    strip: bool
    encoding: str
    hours: float | None = None
    summaries: tuple[StaySummary, ...] = ()
    personal: tuple[str, ...] = ()
    skip_lines: int = 0
    decimal: str = "."
    thousands: str | None = None


@dataclass(frozen=True)
class Column:
    """One feature: name in the table, name in the raw file, and how it is encoded."""

    name: str
    raw_name: str
    kind: str
    unit: str
    levels: tuple[str, ...] | None
    missing_level: str | None
    special_values: tuple[tuple[float, str], ...]
    recode: tuple[tuple[str, str], ...] = ()
    valid: tuple[float, float] | None = None


@dataclass(frozen=True)
class Bounds:
    """Half-open range [low, high) of a number; each end may differ by the text of another column.

    An end is None (open), one number for every row, or a number for each text.
    """

    low: float | Mapping[str, float] | None
    high: float | Mapping[str, float] | None


@dataclass(frozen=True)
class Classes:
    """Names of classes in order, and how a raw value is mapped to them.

    Attributes:
        column: raw column.
        by: raw column whose text chooses among the bounds, or None.
        names: of the k classes.
        values: texts that mean each class; empty tuples where bounds decide.
        bounds: range that means each class; empty where texts decide.
    """

    column: str
    by: str | None
    names: tuple[str, ...]
    values: tuple[tuple[str, ...], ...]
    bounds: tuple[Bounds, ...]

    def index_of_text(self, text: np.ndarray) -> Int[np.ndarray, " n"]:
        """Class index of each text, −1 where it means none. (n,)"""
        meaning = {value: k for k, values in enumerate(self.values) for value in values}
        import pandas as pd  # the description alone must stay light

        kind, kinds = pd.factorize(text)  # −1 for None
        return np.array([*(meaning.get(level, -1) for level in kinds), -1], dtype=np.int64)[kind]

    def index_of_number(self, number: np.ndarray, by: np.ndarray | None) -> Int[np.ndarray, " n"]:
        """Class index of each number, −1 where it lies in no range (or is NaN). (n,)

        Args:
            number: values of the column, NaN where missing. (n,)
            by: texts that choose among bounds; None where no bound depends on one. (n,)
        """
        index = np.full(len(number), -1, dtype=np.int64)
        for k, bounds in enumerate(self.bounds):
            low, high = _end(bounds.low, by, -np.inf), _end(bounds.high, by, np.inf)
            index[(number >= low) & (number < high)] = k
        return index


@dataclass(frozen=True)
class Label:
    """Raw column of the label, names of the classes, and how a raw value means each.

    With a rule, the column is computed by the rule from other raw columns: "1", "0", or nothing.
    Where rows without a label are weighed they are kept; else they are refused. Of a label that is
    a number, `numeric` has the values that may be predicted, one for each class.
    """

    column: str
    classes: tuple[str, ...]
    values: tuple[tuple[str, ...], ...]
    meaning: Classes
    rule: LabelRule | None
    weighed: bool = False
    numeric: NumericLabel | None = None


@dataclass(frozen=True)
class SplitSpec:
    """Parts by fraction or count; `given`: fractions within each group of files; `folds`: even."""

    scheme: str
    seed: int
    parts: Mapping[str, float]
    groups: Mapping[str, Mapping[str, float]]


@dataclass(frozen=True)
class Description:
    """One data set, as its YAML describes it.

    Attributes:
        path: the YAML itself; relative paths inside it start in its folder.
        cost_unit: unit of all costs, for axes.
        format: of the files, where there are some.
        misclassification_cost: row = true class, column = predicted class; means of uncertain ones.
        cost_ranges: of uncertain costs, by panel or by `error_name`: least and largest cost.
        missing_values: `induced` (the table is complete), `own` (its missing values are used, by
            whole panels) or `partial` (a panel can be had where one of its columns is known).
        sensitive: protected attribute by name alone, or None.
        groups: of the protected attribute, where the YAML defines two of them, or None.
        judged_groups: groups that policies are judged in: defined by a rule, or the values of a
            column; None for none.
        set_ups: costs that several panels share.
        waiting_cost: of one unit of the panels' delays.
        cluster: column whose values identify rows that belong together, or None.
    """

    path: Path
    name: str
    title: str
    note: str
    cost_unit: str
    source: Source
    format: Format | None
    columns: tuple[Column, ...]
    panels: tuple[PanelEntry, ...]
    cost_draw: CostDraw | None
    set_ups: tuple[SetUp, ...]
    waiting_cost: float
    label: Label
    sensitive: str | None
    groups: Classes | None
    judged_groups: Classes | str | None
    cluster: str | None
    misclassification_cost: tuple[tuple[float, ...], ...]
    cost_ranges: Mapping[str, tuple[float, float]]
    drop_rows: tuple[DropRule, ...]
    missing_values: str
    split: SplitSpec

    @property
    def apart_columns(self) -> set[str]:
        """Raw columns or features by which rows are identified or grouped."""
        apart = self.judged_groups
        named = {apart.column if isinstance(apart, Classes) else apart, self.cluster}
        return {name for name in named if name is not None}

    def column_of(self, encoded: str) -> str | None:
        """Name of the column that an encoded one is of, as `age` or `smoker=yes`; None of none."""
        names = [column.name for column in self.columns]
        matching = [name for name in names if encoded == name or encoded.startswith(f"{name}=")]
        return max(matching, key=len, default=None)


def _require_prices(document: Any, path: Path) -> None:
    """Refuse a YAML whose prices are still open, as `frugal init` leaves them, in one sentence."""
    if not isinstance(document, dict):
        return
    panels, errors = document.get("panels"), document.get("misclassification_cost")
    lacking = {
        f"'panels[{k}].cost'": str(panel.get("name"))
        for k, panel in enumerate(panels if isinstance(panels, list) else [])
        if isinstance(panel, dict) and panel.get("cost", 0) is None
    }
    open_prices = []
    if lacking:
        open_prices = [f"the cost of {listed(lacking.values())} (first {next(iter(lacking))})"]
    rows = errors if isinstance(errors, list) else []
    if any(cell is None for row in rows if isinstance(row, list) for cell in row):
        open_prices.append("the cost of each error ('misclassification_cost')")
    if open_prices:
        raise ConfigError(
            f"{path}: prices are open (null): fill in {' and '.join(open_prices)}, in "
            f"{document.get('cost_unit')}; a panel that costs nothing is 'free: true'"
        )


def load_description(path: Path, instead: Mapping[str, Any] | None = None) -> Description:
    """The data set that a YAML describes, checked for sense.

    Args:
        path: of the YAML.
        instead: replacements of some of its keys.

    Raises:
        ConfigError: the file is missing, not YAML, has an unknown key (the sentence names the
            closest one allowed), lacks one, or contradicts itself.
    """
    return description_of(path, read_description(path), instead)


def read_description(path: Path) -> Any:
    """Content of a YAML, not checked yet."""
    of = "{0} --label COLUMN"
    require_no_table(path, f"frugal decide {of} takes the table, frugal init {of} writes the YAML")
    return read_yaml(path)


def description_of(
    path: Path, document: Any, instead: Mapping[str, Any] | None = None
) -> Description:
    """The data set by the content of its YAML; see `load_description`."""
    if instead and isinstance(document, dict):
        if isinstance(label := document.get("label"), dict) and "predict" in label:
            instead = {k: v for k, v in instead.items() if k != "misclassification_cost"}
        document = document | dict(instead)
    _require_prices(document, path)
    dataset = Dataset.read(document, where=str(path))
    sensitive = dataset.sensitive
    apart = dataset.groups if "groups" in dataset.model_fields_set else sensitive
    same = (
        "name",
        "title",
        "note",
        "cost_unit",
        "source",
        "panels",
        "cost_draw",
        "cluster",
        "drop_rows",
        "missing_values",
    )
    return Description(
        path=path,
        **{key: getattr(dataset, key) for key in same},
        misclassification_cost=tuple(
            tuple(map(mean_cost, row)) for row in dataset.misclassification_cost
        ),
        cost_ranges=_cost_ranges(dataset),
        waiting_cost=float(dataset.waiting_cost),
        set_ups=tuple(SetUp(shared.panels, float(shared.cost)) for shared in dataset.set_ups),
        format=_format(dataset.source.format),
        columns=tuple(map(_column, dataset.columns)),
        label=_label(dataset.label),
        sensitive=sensitive.column if isinstance(sensitive, Block) else sensitive,
        groups=_groups(sensitive) if isinstance(sensitive, Block) else None,
        judged_groups=_groups(apart) if isinstance(apart, Block) else apart,
        split=_split(dataset.split),
    )


def _cost_ranges(dataset: Dataset) -> dict[str, tuple[float, float]]:
    """Least and largest cost of the uncertain ones."""
    classes = [entry.name for entry in dataset.label.classes]
    costs: dict[str, Any] = {panel.name: panel.price for panel in dataset.panels}
    for true, row in zip(classes, dataset.misclassification_cost, strict=True):
        costs |= {error_name(decided, true): c for decided, c in zip(classes, row, strict=True)}
    waiting = {panel.name: panel.delay * dataset.waiting_cost for panel in dataset.panels}
    return {
        name: (cost.ends[0] + waiting.get(name, 0.0), cost.ends[1] + waiting.get(name, 0.0))
        for name, cost in costs.items()
        if isinstance(cost, UncertainCost)
    }


def _format(form: written.FileFormat | None) -> Format | None:
    if form is None:
        return None
    fixed = {"comment": "%", "strip": True} if form.kind == "arff" else {}
    defaults = {
        "separator": ",",
        "header": None,
        "comment": None,
        "strip": False,
        "encoding": "utf-8",
    }
    values = {key: getattr(form, key) for key in form.model_fields_set}
    if values.get("header") is True:
        del values["header"]
    return Format(**defaults | fixed | values)


def _column(column: written.ColumnEntry) -> Column:
    return Column(
        name=column.name,
        raw_name=column.raw_name or column.name,
        kind=column.kind,
        unit=column.unit or "1",  # a one-hot column is a 0/1 indicator
        levels=column.levels,
        missing_level=column.missing_level,
        special_values=tuple((s.value, s.meaning) for s in column.special_values),
        recode=tuple((text, str(level)) for text, level in column.recode.items()),
        valid=column.valid,
    )


def _groups(groups: written.TwoGroups) -> Classes:
    return classes_from(groups.plain(), key="groups")


def _label(label: written.LabelEntry) -> Label:
    meaning = classes_from(label.plain(), key="classes")
    return Label(
        label.column,
        meaning.names,
        meaning.values,
        meaning,
        label.rule,
        label.unlabelled == "weigh",
        None if label.predict is None else label.predict.numeric,
    )


def _split(split: written.Split) -> SplitSpec:
    even = {f"fold_{number}": 1 / split.k for number in range(1, split.k + 1)}
    groups = {name: {**parts} for name, parts in split.groups.items()}
    return SplitSpec(split.scheme, split.seed, {**even, **split.parts}, {**groups})


def classes_from(entry: Mapping[str, Any], *, key: str) -> Classes:
    """Classes of a checked part of a description; `key` holds the list of classes."""
    listed = entry[key]
    ends = [tuple(_bound(c.get(end)) for end in ("from", "below")) for c in listed]
    ranged = any(end is not None for pair in ends for end in pair)
    return Classes(
        column=entry["column"],
        by=entry.get("by"),
        names=tuple(c["name"] for c in listed),
        values=tuple(tuple(str(v) for v in c.get("values") or ()) for c in listed),
        bounds=tuple(Bounds(*pair) for pair in ends) if ranged else (),
    )


def _bound(value: Any) -> float | dict[str, float] | None:
    if value is None:
        return None
    if isinstance(value, Mapping):
        return {str(text): float(number) for text, number in value.items()}
    return float(value)


def _end(
    bound: float | Mapping[str, float] | None, by: np.ndarray | None, otherwise: float
) -> float | np.ndarray:
    """The end of a range for each row; NaN, which no number meets, where its text is unknown."""
    if bound is None:
        return otherwise
    if not isinstance(bound, Mapping):
        return bound
    assert by is not None, "bug: bounds that depend on a column need its texts"
    return np.array([bound.get(level, np.nan) for level in by])
