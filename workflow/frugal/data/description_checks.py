"""Whether a data set's YAML makes sense: what a schema cannot say about keys that refer to others.

Works on the plain mapping that the schema has accepted already; reads no file.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from frugal.contracts.errors import ConfigError
from frugal.data.schema_check import did_you_mean, listed

RESERVED_COLUMNS = ("row_id", "part", "label")
_KEYS_OF_KIND = {
    "generator": {"generator"},
    "bundled": {"loader"},
    "download": {"files", "format"},
    "path": {"files", "format"},
}
_CSV_KEYS = ("separator", "header", "comment", "strip", "encoding")


def check_meaning(document: Mapping[str, Any]) -> None:
    """Refuses a description that contradicts itself.

    Raises:
        ConfigError: one sentence with the key, what was found and what is allowed.
    """
    _check_finite(document, "")
    _check_source(document["source"])
    _check_columns(document["columns"], document["label"]["column"])
    _check_panels(document)
    _check_label(document)
    _check_split(document)
    names = [c["name"] for c in document["columns"]]
    if document["sensitive"] is not None:
        _known(document["sensitive"], names, "'sensitive'", "columns")
    for i, rule in enumerate(document["drop_rows"]):
        if (rule["rule"] == "all_features_equal") != ("value" in rule):
            raise ConfigError(
                f"'drop_rows[{i}]' has rule {rule['rule']!r}; 'value' belongs to rule "
                "'all_features_equal', and only to it"
            )


def _check_finite(value: Any, at: str) -> None:
    """YAML can write .nan and .inf; no key means anything by them."""
    if isinstance(value, float) and not math.isfinite(value):
        raise ConfigError(f"{at!r} is {value}; allowed is a finite number")
    if isinstance(value, Mapping):
        for key, item in value.items():
            _check_finite(item, f"{at}.{key}" if at else str(key))
    if isinstance(value, list):
        for i, item in enumerate(value):
            _check_finite(item, f"{at}[{i}]")


def _check_source(source: Mapping[str, Any]) -> None:
    kind = source["kind"]
    wanted, given = _KEYS_OF_KIND[kind], set(source) - {"kind"}
    for key in sorted(wanted - given):
        raise ConfigError(f"'source.{key}' is missing; kind {kind!r} needs it")
    for key in sorted(given - wanted):
        raise ConfigError(
            f"'source.{key}' does not go with kind {kind!r}; allowed are {listed(sorted(wanted))}"
        )
    _unique((f["name"] for f in source.get("files", ())), "'source.files'", "file name")
    for i, file in enumerate(source.get("files", ())):
        at = f"'source.files[{i}]'"
        if kind == "download" and ("url" not in file or file.get("sha256") is None):
            raise ConfigError(f"{at} needs both 'url' and 'sha256' to be downloaded safely")
    if "format" in source:
        _check_format(source["format"])


def _check_format(form: Mapping[str, Any]) -> None:
    for key in _CSV_KEYS:
        if form["kind"] == "csv" and key not in form:
            raise ConfigError(f"'source.format.{key}' is missing; kind 'csv' needs it")
        if form["kind"] == "arff" and key in form:
            raise ConfigError(f"'source.format.{key}' does not go with kind 'arff'")
    if form.get("header") is False:
        raise ConfigError(
            "'source.format.header' is false; allowed are true or the list of column names"
        )
    if isinstance(form.get("header"), list):
        _unique(form["header"], "'source.format.header'", "column name")


def _check_columns(columns: list[Mapping[str, Any]], label: str) -> None:
    _unique((c["name"] for c in columns), "'columns'", "column name")
    for i, column in enumerate(columns):
        at = f"'columns[{i}]' ({column['name']!r})"
        if column["name"] in RESERVED_COLUMNS:
            raise ConfigError(
                f"{at} has a reserved name; use 'from' for the raw name and another 'name' than "
                f"{listed(RESERVED_COLUMNS)}"
            )
        if column.get("from", column["name"]) == label:
            raise ConfigError(f"{at} is the label; a feature must not tell the answer")
        numeric = column["type"] == "numeric"
        if numeric and "unit" not in column:
            raise ConfigError(f"{at} is numeric and lacks 'unit'; write \"1\" where it has none")
        for key in ("levels", "missing_level") if numeric else ("unit", "special_values"):
            if key in column:
                raise ConfigError(f"{at} is {column['type']}; {key!r} does not apply to it")
        _unique(column.get("levels", ()), f"'columns[{i}].levels'", "level")
        _unique((s["value"] for s in column.get("special_values", ())), at, "special value")
        level = column.get("missing_level")
        if level is not None and "levels" in column:
            _known(level, column["levels"], f"'columns[{i}].missing_level'", "levels")


def _check_panels(document: Mapping[str, Any]) -> None:
    panels, draw = document["panels"], document["cost_draw"]
    names = [c["name"] for c in document["columns"]]
    _unique((p["name"] for p in panels), "'panels'", "panel name")
    for i, panel in enumerate(panels):
        at = f"'panels[{i}]' ({panel['name']!r})"
        _unique(panel["columns"], f"'panels[{i}].columns'", "column name")
        for column in panel["columns"]:
            _known(column, names, f"{at} names a column: it", "columns")
        if panel.get("free", False) == ("cost" in panel):
            raise ConfigError(f"{at} must be either 'free: true' or have a 'cost', not both")
        cost = panel.get("cost", 0)
        if isinstance(cost, str) and cost != "drawn":
            raise ConfigError(f"'panels[{i}].cost' is {cost!r}; allowed are a number or 'drawn'")
        if cost == "drawn" and draw is None:
            raise ConfigError(f"{at} has a drawn cost, but 'cost_draw' is null")
        if not isinstance(cost, str) and cost < 0:
            raise ConfigError(f"'panels[{i}].cost' is {cost!r}; a cost is never below zero")
    homeless = set(names) - {c for p in panels for c in p["columns"]}
    if homeless:
        raise ConfigError(
            f"column {sorted(homeless)[0]!r} belongs to no panel; add it to one under 'panels'"
        )
    if all(p.get("free", False) for p in panels):
        raise ConfigError("every panel is free; at least one must have a cost to be acquired")
    if draw is not None and draw["low"] > draw["high"]:
        raise ConfigError(
            f"'cost_draw.low' is {draw['low']}, above 'cost_draw.high', {draw['high']}"
        )


def _check_label(document: Mapping[str, Any]) -> None:
    classes = document["label"]["classes"]
    _unique((c["name"] for c in classes), "'label.classes'", "class name")
    _unique((str(v) for c in classes for v in c["values"]), "'label.classes'", "raw value")
    cost, k = document["misclassification_cost"], len(classes)
    if len(cost) != k or any(len(row) != k for row in cost):
        shape = f"{len(cost)} rows of {listed(sorted({len(r) for r in cost}))} entries"
        raise ConfigError(
            f"'misclassification_cost' has {shape}; {k} classes need {k} rows of {k} entries"
        )


def _check_split(document: Mapping[str, Any]) -> None:
    split = document["split"]
    scheme = split["scheme"]
    wanted, other = ("groups", "parts") if scheme == "given" else ("parts", "groups")
    if wanted not in split or other in split:
        raise ConfigError(f"'split' with scheme {scheme!r} needs {wanted!r} and not {other!r}")
    if scheme == "given":
        _check_groups(split["groups"], document["source"])
    else:
        _check_parts(split["parts"], "'split.parts'", fractions=scheme == "fractions")
    if scheme != "counts" and document["source"]["kind"] == "generator":
        raise ConfigError(
            f"'split.scheme' is {scheme!r}; a generator needs 'counts', which say how many rows"
        )
    used = [split["parts"]] if scheme != "given" else list(split["groups"].values())
    for part in ("train", "test"):
        if not any(parts.get(part, 0) > 0 for parts in used):
            raise ConfigError(f"'split' gives no rows to part {part!r}; it needs some")


def _check_groups(groups: Mapping[str, Any], source: Mapping[str, Any]) -> None:
    for i, file in enumerate(source.get("files", ())):
        if "group" not in file:
            raise ConfigError(f"'source.files[{i}]' lacks 'group'; split scheme 'given' needs it")
        _known(file["group"], groups, f"'source.files[{i}].group'", "split.groups")
    unused = set(groups) - {f["group"] for f in source.get("files", ())}
    if unused:
        raise ConfigError(f"'split.groups' has {sorted(unused)[0]!r}, but no file has that group")
    for name, parts in groups.items():
        _check_parts(parts, f"'split.groups.{name}'", fractions=True)


def _check_parts(parts: Mapping[str, int | float], at: str, *, fractions: bool) -> None:
    total = sum(parts.values())
    if fractions and abs(total - 1) > 1e-9:
        raise ConfigError(f"{at} sum to {total:g}; fractions must sum to 1")
    if not fractions:
        for part, count in parts.items():
            if count != int(count):
                raise ConfigError(f"{at} gives {count} rows to {part!r}; counts are whole numbers")


def _unique(values: Iterable[Any], at: str, what: str) -> None:
    twice = [v for v, times in Counter(values).items() if times > 1]
    if twice:
        raise ConfigError(f"{at} has {what} {twice[0]!r} twice; each must be unique")


def _known(value: str, allowed: Iterable[str], at: str, where: str) -> None:
    allowed = list(allowed)
    if value not in allowed:
        hint = did_you_mean(value, allowed)
        raise ConfigError(f"{at} is {value!r}, which {where!r} lacks: {listed(allowed)}{hint}")
