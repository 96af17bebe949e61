"""What a data set is, read from its YAML: source, columns, panels and costs, label, split.

Serves every study. Must not read the data themselves, and imports no table library, so that a
workflow can check all descriptions before it plans a single job.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from frugal.core.errors import ConfigError
from frugal.core.schema_check import SCHEMAS, check_against_schema, listed, load_schema, read_yaml
from frugal.data.description_checks import check_meaning
from frugal.data.description_sources import Source, source_from
from frugal.data.groups import Classes, classes_from

SCHEMA_PATH = SCHEMAS / "dataset.schema.json"


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
class PanelSpec:
    """Features acquired together; `cost` is None where it is drawn, 0 where the panel is free."""

    name: str
    columns: tuple[str, ...]
    free: bool
    cost: float | None


@dataclass(frozen=True)
class CostDraw:
    """Law of the drawn panel costs."""

    distribution: str
    low: float
    high: float
    seed: int


@dataclass(frozen=True)
class EventRule:
    """Yes where an event came within the horizon, no where following reached it without one."""

    event: str
    time: str
    horizon: float


@dataclass(frozen=True)
class RiseRule:
    """Yes where the later value exceeds the earlier by a difference or by a ratio."""

    before: str
    after: str
    difference: float
    ratio: float


LabelRule = EventRule | RiseRule


@dataclass(frozen=True)
class Label:
    """Raw column of the label, names of the classes, and how a raw value means each.

    With a rule, the column is what the rule makes of other raw columns: "1", "0", or nothing.
    """

    column: str
    classes: tuple[str, ...]
    values: tuple[tuple[str, ...], ...]
    meaning: Classes
    rule: LabelRule | None


@dataclass(frozen=True)
class DropRule:
    """Rows to leave out, and why.

    `column` is a raw one, for the rules `below` and `above`; `columns` are features, for the rule
    `feature_missing`.
    """

    rule: str
    value: float | None
    reason: str
    column: str | None
    columns: tuple[str, ...] = ()


@dataclass(frozen=True)
class SplitSpec:
    """Parts by fraction or count; `given`: fractions within each group of files; `folds`: even."""

    scheme: str
    seed: int
    parts: Mapping[str, float]
    groups: Mapping[str, Mapping[str, float]]


@dataclass(frozen=True)
class Description:
    """One data set, as its YAML tells it.

    Attributes:
        path: the YAML itself; relative paths inside it start in its folder.
        cost_unit: unit of all costs, for axes.
        misclassification_cost: row = true class, column = predicted class.
        missing_values: `induced` (the table is complete), `own` (its gaps are the missingness, by
            whole panels) or `partial` (a panel can be had where one of its columns is known).
        sensitive: protected attribute by name alone, or None.
        groups: of the protected attribute, where the YAML tells two of them apart, or None.
        told_apart: groups that policies are judged in: told apart by a rule, or the values of a
            column; None for none.
        cluster: column whose values tell which rows belong together, or None.
    """

    path: Path
    name: str
    title: str
    note: str
    cost_unit: str
    source: Source
    columns: tuple[Column, ...]
    panels: tuple[PanelSpec, ...]
    cost_draw: CostDraw | None
    label: Label
    sensitive: str | None
    groups: Classes | None
    told_apart: Classes | str | None
    cluster: str | None
    misclassification_cost: tuple[tuple[float, ...], ...]
    drop_rows: tuple[DropRule, ...]
    missing_values: str
    split: SplitSpec

    def column_of(self, encoded: str) -> str | None:
        """Name of the column that an encoded one is of, as `age` or `smoker=yes`; None of none."""
        names = [column.name for column in self.columns]
        own = [name for name in names if encoded == name or encoded.startswith(f"{name}=")]
        return max(own, key=len, default=None)


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
    wanted = []
    if lacking:
        wanted = [f"the cost of {listed(lacking.values())} (first {next(iter(lacking))})"]
    cells = [cell for row in errors if isinstance(row, list) for cell in row] if isinstance(
        errors, list
    ) else []  # fmt: skip
    if None in cells:
        wanted.append("what each error costs ('misclassification_cost')")
    if wanted:
        raise ConfigError(
            f"{path}: prices are open (null): fill in {' and '.join(wanted)}, in "
            f"{document.get('cost_unit')}; a panel that costs nothing is 'free: true'"
        )


def load_description(path: Path, instead: Mapping[str, Any] | None = None) -> Description:
    """The data set that a YAML describes, checked against its schema and for sense.

    Args:
        path: of the YAML.
        instead: what stands for some of its keys.

    Raises:
        ConfigError: the file is missing, not YAML, has an unknown key (the sentence names the
            closest one allowed), lacks one, or contradicts itself.
    """
    document = read_yaml(path)
    if instead and isinstance(document, dict):
        document = document | dict(instead)
    _require_prices(document, path)
    check_against_schema(document, load_schema(SCHEMA_PATH), where=str(path))
    try:
        check_meaning(document)
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from None
    return _description(path, document)


def _description(path: Path, document: Mapping[str, Any]) -> Description:
    draw = document["cost_draw"]
    return Description(
        path=path,
        name=document["name"],
        title=document["title"],
        note=document["note"],
        cost_unit=document["cost_unit"],
        source=source_from(document["source"]),
        columns=tuple(_column(c) for c in document["columns"]),
        panels=tuple(_panel(p) for p in document["panels"]),
        cost_draw=None
        if draw is None
        else CostDraw(draw["distribution"], float(draw["low"]), float(draw["high"]), draw["seed"]),
        label=_label(document["label"]),
        sensitive=_sensitive_name(document["sensitive"]),
        groups=_sensitive_groups(document["sensitive"]),
        told_apart=_told_apart(
            document["groups"] if "groups" in document else document["sensitive"]
        ),
        cluster=document.get("cluster"),
        misclassification_cost=tuple(
            tuple(float(c) for c in row) for row in document["misclassification_cost"]
        ),
        drop_rows=tuple(
            DropRule(
                r["rule"],
                float(r["value"]) if "value" in r else None,
                r["reason"],
                r.get("column"),
                tuple(r.get("columns", ())),
            )
            for r in document["drop_rows"]
        ),
        missing_values=document["missing_values"],
        split=_split(document["split"]),
    )


def _sensitive_name(sensitive: Any) -> str | None:
    return sensitive["column"] if isinstance(sensitive, Mapping) else sensitive


def _sensitive_groups(sensitive: Any) -> Classes | None:
    return classes_from(sensitive, key="groups") if isinstance(sensitive, Mapping) else None


def _told_apart(groups: Any) -> Classes | str | None:
    return classes_from(groups, key="groups") if isinstance(groups, Mapping) else groups


def _column(column: Mapping[str, Any]) -> Column:
    levels = column.get("levels")
    return Column(
        name=column["name"],
        raw_name=column.get("from", column["name"]),
        kind=column["type"],
        unit=column.get("unit", "1"),  # a one-hot column is a 0/1 indicator
        levels=None if levels is None else tuple(levels),
        missing_level=column.get("missing_level"),
        special_values=tuple(
            (float(s["value"]), s["meaning"]) for s in column.get("special_values", ())
        ),
        recode=tuple((text, str(level)) for text, level in column.get("recode", {}).items()),
        valid=None
        if "valid" not in column
        else (float(column["valid"][0]), float(column["valid"][1])),
    )


def _panel(panel: Mapping[str, Any]) -> PanelSpec:
    free = panel.get("free", False)
    cost = None if panel.get("cost") == "drawn" else float(panel.get("cost", 0.0))
    return PanelSpec(panel["name"], tuple(panel["columns"]), free, cost)


def _label(label: Mapping[str, Any]) -> Label:
    return Label(
        column=label["column"],
        classes=tuple(c["name"] for c in label["classes"]),
        values=tuple(tuple(str(v) for v in c.get("values", ())) for c in label["classes"]),
        meaning=classes_from(label, key="classes"),
        rule=None if "rule" not in label else _rule(label["rule"]),
    )


def _rule(rule: Mapping[str, Any]) -> LabelRule:
    if rule["kind"] == "event_within":
        return EventRule(rule["event"], rule["time"], float(rule["horizon"]))
    return RiseRule(rule["before"], rule["after"], float(rule["difference"]), float(rule["ratio"]))


def _split(split: Mapping[str, Any]) -> SplitSpec:
    folds = split.get("k", 0)
    even = {f"fold_{number}": 1 / folds for number in range(1, folds + 1)}
    return SplitSpec(
        scheme=split["scheme"],
        seed=split["seed"],
        parts=_sizes(split.get("parts", even)),
        groups={name: _sizes(parts) for name, parts in split.get("groups", {}).items()},
    )


def _sizes(parts: Mapping[str, Any]) -> dict[str, float]:
    return {part: float(size) for part, size in parts.items()}
