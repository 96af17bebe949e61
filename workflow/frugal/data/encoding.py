"""From raw records to a table: levels to 0/1 columns, codes to indicators, costs to panels.

A label may follow from several raw columns: an event within a time, a rise. Serves every study.
Knows nothing of files, parts or missingness mechanisms.
"""

import functools
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int

from frugal.config.dataset import EventRule, LabelRule
from frugal.config.panels import PanelEntry
from frugal.core.errors import ConfigError, DataError, shown_cell
from frugal.core.schema_check import listed
from frugal.core.table import Panel, Table
from frugal.data.case_document import no_features
from frugal.data.description import Classes, Column, Description, Label
from frugal.data.encoded_columns import (
    EncodedColumn,
    EncodedColumns,
    TypedColumns,
    coded_cells,
    is_absent,
    level_cells,
    levels_of,
    onehot_groups,
    possible,
    spelling,
)
from frugal.data.parsing import RawTable, numbers_of, numeric_column, text_column


@dataclass(frozen=True, eq=False)
class Encoded:
    """A table, which raw records it kept, and the steps of its encoding.

    Attributes:
        layout: the table without a row.
        columns: its encoded columns, set aside. (n, d)
        row_id: identity of each row. (n,)
        label: class index. (n,)
        retained: True for raw records that became rows. (records,)
        units: encoded column → unit.
        sensitive: group of each row, 0 or 1; None where the description defines no groups. (n,)
        report: rows read, dropped and why, codes found, costs drawn, class shares, missing cells.
        number: a numeric label itself; None of classes. (n,)
    """

    layout: Table
    columns: EncodedColumns
    row_id: Int[np.ndarray, " n"]
    label: Int[np.ndarray, " n"]
    retained: Bool[np.ndarray, " records"]
    units: dict[str, str]
    sensitive: Int[np.ndarray, " n"] | None
    report: dict[str, Any]
    number: Float[np.ndarray, " n"] | None = None

    @cached_property
    def table(self) -> Table:
        """The n kept rows, in memory."""
        values = self.columns.whole()
        label, number = self.label, self.number
        return replace(self.layout, row_id=self.row_id, values=values, label=label, number=number)

    def block(self, number: int) -> Table:
        """The kept rows of one block."""
        rows = self.columns.blocks[number]
        return replace(
            self.layout,
            row_id=self.row_id[rows],
            values=self.columns.block(number),
            label=self.label[rows],
            number=None if self.number is None else self.number[rows],
        )


def encode(raw: RawTable, description: Description) -> Encoded:
    """The table that a description makes of raw records.

    Categorical columns become one 0/1 column `column=level` each, NaN all over where the value is
    missing; special codes of a numeric column become 0/1 columns `column=code`, and the value the
    median of the column's regular values over all rows kept.

    Raises:
        DataError: a column is absent, a cell is no number, a level or label value is unknown, the
            label has one class, or a value is missing where none may be.
    """
    missing = description.format.missing if description.format else ()
    raw = with_label(raw, description.label, missing)
    typed, impossible = _typed_columns(raw, description, missing)
    answer = text_column(raw, description.label.column, missing, "label.column")
    retained, dropped = _rows_kept(raw, typed, answer, description)
    _require_numbers(raw, typed, retained, description)
    rows = np.flatnonzero(retained)
    label = class_index(
        raw,
        rows,
        description.label.meaning,
        missing,
        key="label.classes",
        may_lack=description.label.weighed,
    )
    _require_two_classes(raw, label, description)
    numeric, number = description.label.numeric, None
    if numeric is not None:
        of_label = _numbers_in(description.label.column)
        number = numeric_column(raw, of_label, missing, retained)[rows]
        numeric = replace(numeric, low=float(number.min()), high=float(number.max()))
    groups = description.groups
    sensitive = (
        None if groups is None else class_index(raw, rows, groups, missing, key="sensitive.groups")
    )
    _check_gaps(raw, rows, typed, description)
    columns, encoded_columns = EncodedColumns(len(rows)), dict[str, EncodedColumn]()
    for column in description.columns:
        values = typed[column.name]  # one column of all records at a time
        values = values if len(rows) == len(values) else values[rows]
        encoded_columns[column.name], encoded = _encode_column(raw, rows, values, column)
        columns.put(encoded)
    fees = {
        panel.name: _mean_fee(typed[panel.fee][rows], panel)
        for panel in description.panels
        if panel.fee is not None
    }
    layout, drawn = _layout(encoded_columns, description, fees)
    layout = replace(layout, numeric=numeric, number=None if number is None else number[:0])
    units = {n: u for b in encoded_columns.values() for n, u in zip(b.names, b.unit, strict=True)}
    codes = {name: b.codes for name, b in encoded_columns.items() if b.codes}
    used = {c.raw_name for c in description.columns} | {description.label.column}
    used |= set() if description.label.rule is None else {*description.label.rule.columns}
    used |= {
        raw_name
        for raw_name in (groups and groups.column, description.label.meaning.by)
        if raw_name
    }
    left_out = [str(c) for c in raw.frame.columns if c not in used]
    missing_share, absent_share = _panel_shares(layout, columns)
    report: dict[str, Any] = {
        "rows_read": len(raw),
        "rows_dropped": dropped,
        "rows": len(rows),
        "columns_left_out": left_out,
        "no_features": no_features(description, left_out),
        "special_values": codes,
        "costs_drawn": drawn,
        "class_share": {
            name: float((label[label >= 0] == k).mean()) for k, name in enumerate(layout.classes)
        },
        "group_share": None
        if groups is None or sensitive is None
        else {name: float((sensitive == k).mean()) for k, name in enumerate(groups.names)},
        "panel_missing_share": missing_share,
    }
    if (lacking := int((label < 0).sum())) > 0:
        report["rows_without_label"] = lacking
    if impossible:
        report["values_outside_valid"] = impossible
    if description.cost_ranges:
        report["cost_ranges"] = {n: list(ends) for n, ends in description.cost_ranges.items()}
    if description.missing_values == "partial":
        report["panel_absent_share"] = absent_share
    return Encoded(
        layout, columns, rows.astype(np.int64), label, retained, units, sensitive, report, number
    )


def _typed_columns(
    raw: RawTable, description: Description, missing: tuple[str, ...]
) -> tuple[TypedColumns, dict[str, int]]:
    """Numbers or levels of every feature, and the number of invalid values of each.

    A cell that is no number is infinite: `_require_numbers` refuses those of rows that are kept.
    """
    typed, none = TypedColumns(), np.zeros(len(raw), dtype=bool)
    impossible: dict[str, int] = {}
    for column in description.columns:
        if column.kind == "numeric":
            numbers = numeric_column(raw, column, missing, none)
            wrong = np.isinf(numbers)
            values, count = possible(np.where(wrong, np.nan, numbers), column)
            values[wrong] = np.inf
            impossible |= {column.name: count} if column.valid is not None else {}
        else:
            text = text_column(raw, column.raw_name, missing, "columns")
            values = levels_of(text, column)
        typed.put(column.name, values)
    return typed, impossible


def _require_numbers(
    raw: RawTable, typed: TypedColumns, retained: Bool[np.ndarray, " n"], description: Description
) -> None:
    """Refuse cells that are no numbers, in rows that no rule leaves out."""
    missing = description.format.missing if description.format else ()
    for column in description.columns:
        if column.kind == "numeric" and np.isinf(typed[column.name][retained]).any():
            numeric_column(raw, column, missing, retained)


def drawn_costs(description: Description) -> dict[str, float]:
    """Costs of the panels whose cost is drawn, U(low, high) from the data set's own seed.

    One draw per such panel, in the order of the panels               [afape, sec. A.11]
    """
    draw = description.cost_draw
    names = [p.name for p in description.panels if p.price == "drawn"]
    if draw is None or not names:
        return {}
    rng = np.random.default_rng(draw.seed)
    costs = rng.uniform(draw.low, draw.high, size=len(names))
    return {name: float(cost) for name, cost in zip(names, costs, strict=True)}


def _rows_kept(
    raw: RawTable, typed: TypedColumns, answer: np.ndarray, description: Description
) -> tuple[Bool[np.ndarray, " n"], list[dict[str, Any]]]:
    """Which records survive the rules, and how many each rule dropped."""
    retained = np.ones(len(answer), dtype=bool)
    missing = description.format.missing if description.format else ()
    dropped: list[dict[str, Any]] = []
    for rule in description.drop_rows:
        absent: dict[str, int] = {}
        match rule.rule:
            case "all_features_equal":
                same = (np.asarray(values == rule.value, dtype=bool) for values in typed)
                hit = functools.reduce(np.logical_and, same)
            case "any_feature_missing":
                hit = functools.reduce(np.logical_or, map(is_absent, typed))
            case "feature_missing":
                absent_cells = (is_absent(typed[name]) for name in rule.columns)
                hit = functools.reduce(np.logical_or, absent_cells)
            case "below" | "above":
                value = float(rule.value or 0.0)
                features = [c for c in description.columns if c.raw_name == rule.column]
                column = next(iter(features), None)
                numbers = numbers_of(
                    raw, str(rule.column), missing, "drop_rows", column=column, retained=retained
                )
                hit = ~(numbers >= value if rule.rule == "below" else numbers <= value)
                absent = {"rows_without_value": int((np.isnan(numbers) & retained).sum())}
            case _:
                hit = is_absent(answer)
        count = {"rows": int((hit & retained).sum())} | {k: n for k, n in absent.items() if n}
        dropped.append({"rule": rule.rule, "reason": rule.reason, **count})
        retained &= ~hit
    if not retained.any():
        raise DataError(
            f"data set {description.name!r}: the rules under 'drop_rows' leave no row of "
            f"{len(retained)}"
        )
    return retained, dropped


def class_index(
    raw: RawTable,
    rows: np.ndarray,
    rule: Classes,
    missing: Iterable[str],
    *,
    key: str,
    may_lack: bool = False,
) -> Int[np.ndarray, " n"]:
    """Class of each kept record, by the text or the number of its column. (n,)

    −1 where the cell is empty and `may_lack` allows it.

    Raises:
        DataError: a record belongs to none; the message names it and its value.
    """
    missing = tuple(missing)
    owner = key.split(".")[0]
    text = text_column(raw, rule.column, missing, f"{owner}.column")[rows]
    if not rule.bounds:
        index = rule.index_of_text(text)
    else:
        column = _numbers_in(rule.column)
        by = None if rule.by is None else text_column(raw, rule.by, missing, f"{owner}.by")[rows]
        in_table = np.isin(np.arange(len(raw)), rows)
        index = rule.index_of_number(numeric_column(raw, column, missing, in_table)[rows], by)
    refused = (index < 0) & ~(may_lack & is_absent(text))
    if refused.any():
        row = int(np.argmax(refused))
        cell = "no value" if text[row] is None else shown_cell(text[row])
        allowed = (
            listed(v for values in rule.values for v in values) if not rule.bounds else "ranges"
        )
        raise DataError(
            f"{raw.place(int(rows[row]))}: {owner} {rule.column!r} holds {cell}; "
            f"{key!r} knows {allowed}"
            + ("" if not rule.bounds else f" of {listed(rule.names)} that do not hold it")
        )
    return index


def _numbers_in(raw_name: str) -> Column:
    """A raw column whose cells are read as numbers."""
    return Column(raw_name, raw_name, "numeric", "1", None, None, ())


def _require_two_classes(
    raw: RawTable, label: Int[np.ndarray, " n"], description: Description
) -> None:
    present = np.flatnonzero(np.bincount(label[label >= 0]))
    if not len(present):
        raise DataError(f"{raw.source[0]}: label {description.label.column!r} has no value")
    if len(present) < 2:
        raise DataError(
            f"{raw.source[0]}: label {description.label.column!r} has one class only, "
            f"{description.label.classes[present[0]]!r}, in {len(label)} rows; "
            "a classifier needs at least two"
        )


def _check_gaps(
    raw: RawTable, rows: np.ndarray, typed: TypedColumns, description: Description
) -> None:
    """Refuses missing values in free panels, and anywhere if missingness is to be induced."""
    free = {c for p in description.panels if p.free for c in p.columns}
    induced = description.missing_values == "induced"
    if not induced and description.missing_values != "own":
        return
    checked = (name for name in typed.names if induced or name in free)
    lacks = ((name, is_absent(typed[name][rows])) for name in checked)
    absent_in = {name: absent for name, absent in lacks if absent.any()}
    if not absent_in:
        return
    first, *others = absent_in
    row = int(rows[np.argmax(absent_in[first])])
    column = next(c for c in description.columns if c.name == first)
    sentence = f"{raw.place(row)}: column {first!r} {_gap_sentence(raw, row, column, description)}"
    sentence += f", and elsewhere {listed(map(repr, others))}" if others else ""
    if induced:
        raise DataError(
            f"{sentence}, but 'missing_values' is induced, which needs a complete table; allowed "
            "are 'missing_values: own', a 'missing_level', or drop rule any_feature_missing"
        )
    level = "make a 'missing_level' of it, " if column.kind == "categorical" else ""
    where = "they are in free panels" if others else "it is in a free panel"
    dropped = int(np.logical_or.reduce(list(absent_in.values())).sum())
    raise DataError(
        f"{sentence}, but {where}, known for every unit; give the panel a cost, {level}drop such "
        f"rows ({{rule: feature_missing, columns: [{listed(absent_in)}], reason: …}} under "
        f"'drop_rows' drops {dropped} of {len(rows)}), or, for the study diagnosis alone, set "
        "'missing_values: partial'"
    )


def _gap_sentence(raw: RawTable, row: int, column: Column, description: Description) -> str:
    """That a cell has no value, or one outside `valid`, which counts as none."""
    form = description.format
    if column.valid is not None:
        missing = form.missing if form else ()
        number = numeric_column(raw, column, missing, np.zeros(len(raw), dtype=bool))[row]
        if not np.isnan(number):
            low, high = column.valid
            return f"holds {shown_cell(float(number))}, outside its 'valid' [{low:g}, {high:g}]"
    return "has no value"


def _require_plain_levels(column: Column, levels: Iterable[str]) -> None:
    """Refuse levels that nobody has listed and that are likely one, or that cannot be printed."""
    levels = list(levels)
    for level in levels:
        if not level.isprintable():
            raise DataError(
                f"column {column.name!r} holds {shown_cell(level)}, which has a character "
                "that is not printed; clean the file, or list the column's 'levels'"
            )
    if pair := spelled_alike(levels):
        raise DataError(
            f"column {column.name!r} holds {shown_cell(pair[1])} and another text that differs "
            "from it by blanks or capitals only; if they are one, 'recode' the one to the "
            "other, and else list both under 'levels'"
        )


def spelled_alike(
    names: Iterable[str], form: Callable[[str], str] = spelling
) -> tuple[str, str] | None:
    """The first two names of one normal form: by default they differ by blanks or capitals."""
    first_with: dict[str, str] = {}
    for name in names:
        other = first_with.setdefault(form(name), name)
        if other != name:
            return other, name
    return None


def _encode_column(
    raw: RawTable, rows: np.ndarray, values: np.ndarray, column: Column
) -> tuple[EncodedColumn, Float[np.ndarray, "n c"]]:
    """Metadata of a feature's encoded columns, and the columns."""
    if is_absent(values).all():
        raise DataError(
            f"{raw.source[0]}: column {column.name!r} has no value in any of {len(values)} rows; "
            "leave it out of 'columns' and 'panels'"
        )
    if column.kind == "categorical":
        return _encode_levels(raw, rows, values, column)
    if not column.special_values:
        return EncodedColumn((column.name,), (column.unit,), False, {}), values[:, None]
    codes = np.array([code for code, _ in column.special_values])
    regular = values[~np.isin(values, codes) & ~np.isnan(values)]
    if len(regular) == 0:
        raise DataError(f"column {column.name!r} holds special values only: {listed(codes)}")
    cells = coded_cells(values, codes, float(np.median(regular)))
    names = (column.name, *(f"{column.name}={code:g}" for code in codes))
    totals = np.nansum(cells[:, 1:], axis=0)
    counts = {f"{code:g}": int(c) for code, c in zip(codes, totals, strict=True)}
    units = (column.unit, *("1" for _ in codes))
    return EncodedColumn(names, units, False, counts), cells


def _encode_levels(
    raw: RawTable, rows: np.ndarray, text: np.ndarray, column: Column
) -> tuple[EncodedColumn, Float[np.ndarray, "n c"]]:
    levels = column.levels
    if levels is None:
        levels = tuple(sorted(set(text[~is_absent(text)])))
        _require_plain_levels(column, levels)
    names = tuple(f"{column.name}={level}" for level in levels)
    cells = level_cells(raw, rows, text, replace(column, levels=levels))
    return EncodedColumn(names, ("1",) * len(levels), True, {}), cells


def _mean_fee(fee: Float[np.ndarray, " n"], panel: PanelEntry) -> float:
    """Mean of the cost that differs by case."""
    wrong = fee[~(fee >= 0)]
    if wrong.size:
        raise DataError(
            f"column {panel.fee!r} has the cost of panel {panel.name!r} for each case; "
            f"{wrong.size} of {len(fee)} rows have another value than numbers from 0 on, the "
            f"first {wrong[0]:g}"
        )
    return float(fee.mean())


def _layout(
    columns: dict[str, EncodedColumn], description: Description, fees: Mapping[str, float]
) -> tuple[Table, dict[str, float]]:
    """The table without a row, and the costs that were drawn."""
    drawn, panels = drawn_costs(description), []
    for spec in description.panels:
        names = tuple(n for c in spec.columns for n in columns[c].names)
        cost = {**drawn, **fees}[spec.name] if spec.cost is None else spec.cost
        cost += spec.delay * description.waiting_cost
        panels.append(Panel(spec.name, names, cost, spec.free))
    names = tuple(n for b in columns.values() for n in b.names)
    if len(set(names)) < len(names):
        twice = next(c for c in names if names.count(c) > 1)
        raise DataError(f"two encoded columns are named {twice!r}; rename one under 'columns'")
    layout = Table(
        row_id=np.zeros(0, dtype=np.int64),
        values=np.zeros((0, len(names))),
        columns=names,
        onehot=onehot_groups(list(columns.values())),
        label=np.zeros(0, dtype=np.int64),
        classes=description.label.classes,
        panels=tuple(panels),
        misclassification_cost=np.array(description.misclassification_cost, dtype=np.float64),
        set_ups=description.set_ups,
        fees={panel.name: panel.fee for panel in description.panels if panel.fee is not None},
    )
    return layout, drawn


def _panel_shares(
    layout: Table, columns: EncodedColumns
) -> tuple[dict[str, float], dict[str, float]]:
    """Share of rows that lack a value of a panel, which then counts as missing as a whole; and that
    lack all of them.
    """
    some, every = np.zeros(len(layout.actions)), np.zeros(len(layout.actions))
    for number in range(len(columns.blocks)):
        absent = np.isnan(columns.block(number))
        some += [absent[:, m].any(axis=1).sum() for m in layout.provides]
        every += [absent[:, m].all(axis=1).sum() for m in layout.provides]
    names = [panel.name for panel in layout.actions]
    shares = [
        {name: float(count / columns.rows) for name, count in zip(names, counts, strict=True)}
        for counts in (some, every)
    ]
    return shares[0], shares[1]


def with_label(raw: RawTable, label: Label, missing: Iterable[str]) -> RawTable:
    """Raw records with the label that a rule makes as a column more; without a rule, the same.

    The column holds "1" or "0", and nothing (None) where the rule is undecided.

    Raises:
        DataError: a column is absent, or a cell that should be a number is none.
        ConfigError: the rule's label has the name of a raw column.
    """
    if label.rule is None:
        return raw
    if label.column in raw.frame.columns:
        raise ConfigError(
            f"'label.column' is {label.column!r}, a column of {raw.source[0]}; a label made by "
            "'label.rule' needs a name of its own"
        )
    yes, decided = _judged(raw, label.rule, tuple(missing))
    text = np.full(len(raw), None, dtype=object)
    text[decided & yes], text[decided & ~yes] = "1", "0"
    return replace(raw, frame=raw.frame.with_text(label.column, text))


def event_within(
    event: Bool[np.ndarray, " n"], time: Float[np.ndarray, " n"], *, horizon: float
) -> tuple[Bool[np.ndarray, " n"], Bool[np.ndarray, " n"]]:
    """Who had the event by the horizon, and of whom that is known. ((n,), (n,))

    Known is whoever had it by then, or was followed up to the horizon; others are censored.
    """
    yes = event & (time <= horizon)
    return yes, yes | (time >= horizon)


def risen(
    before: Float[np.ndarray, " n"],
    after: Float[np.ndarray, " n"],
    *,
    difference: float,
    ratio: float,
) -> Bool[np.ndarray, " n"]:
    """True where a value rose by a difference or by a ratio, up to rounding. (n,)

    With creatinine, 0.3 mg/dL and 1.5 these are the creatinine criteria of KDIGO's stage 1.
    """
    slack = 1e-9  # 1.3 − 1.0 is 0.30000000000000004, 1.2 − 0.9 is 0.29999999999999993
    return (after - before >= difference - slack) | (after >= ratio * before - slack)


def _judged(
    raw: RawTable, rule: LabelRule, missing: tuple[str, ...]
) -> tuple[Bool[np.ndarray, " n"], Bool[np.ndarray, " n"]]:
    """Where the answer is yes, and where there is one."""

    def numbers(name: str) -> np.ndarray:
        return numbers_of(raw, name, missing, "label.rule")

    if isinstance(rule, EventRule):
        events = text_column(raw, rule.event, missing, "label.rule")
        event = np.array([text is not None for text in events], dtype=bool)
        return event_within(event, numbers(rule.time), horizon=rule.horizon)
    before, after = numbers(rule.before), numbers(rule.after)
    yes = risen(before, after, difference=rule.difference, ratio=rule.ratio)
    return yes, ~(np.isnan(before) | np.isnan(after))
