"""Whether a data set's YAML makes sense: what a schema cannot say about keys that refer to others.

Works on the plain mapping that the schema has accepted already; reads no file.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import Any

from frugal.core.errors import ConfigError
from frugal.core.schema_check import did_you_mean, listed
from frugal.core.table import LARGEST

RESERVED_COLUMNS = ("row_id", "part", "label", "sensitive", "group_index", "cluster_index")
_KEYS_OF_KIND = {
    "generator": {"generator"},
    "bundled": {"loader"},
    "download": {"files", "format"},
    "path": {"files", "format"},
}
_FORMAT_KEYS = {
    "csv": ("separator", "header", "comment", "strip", "encoding"),
    "stays": ("hours", "summaries"),
}
_OPTIONAL_KEYS = {
    ("personal", "skip_lines"): ("csv",),
    ("decimal", "thousands"): ("csv", "arff", "parquet"),
}
_JOINED_FORMATS = ("csv", "xpt")
_NUMERIC_KEYS = ("unit", "special_values", "valid")
_CATEGORICAL_KEYS = ("levels", "missing_level")
_RULE_COLUMNS = ("event", "time", "before", "after")


def check_meaning(document: Mapping[str, Any]) -> None:
    """Refuses a description that contradicts itself.

    Raises:
        ConfigError: one sentence with the key, what was found and what is allowed.
    """
    _check_finite(document, "")
    _check_source(document["source"])
    _check_columns(document["columns"], document["label"])
    _check_panels(document)
    _check_label(document)
    _check_split(document)
    names = [c["name"] for c in document["columns"]]
    if isinstance(document["sensitive"], str):
        _known(document["sensitive"], names, "'sensitive'", "columns")
    elif document["sensitive"] is not None:
        _check_classes(document["sensitive"], "sensitive", "groups")
    if isinstance(document.get("groups"), Mapping):
        _check_classes(document["groups"], "groups", "groups")
    _check_drop_rows(document["drop_rows"], names)


def _check_drop_rows(rules: list[Mapping[str, Any]], features: list[str]) -> None:
    with_keys = {
        "value": ("all_features_equal", "below", "above"),
        "column": ("below", "above"),
        "columns": ("feature_missing",),
    }
    for i, rule in enumerate(rules):
        for key, owners in with_keys.items():
            if (rule["rule"] in owners) != (key in rule):
                raise ConfigError(
                    f"'drop_rows[{i}]' has rule {rule['rule']!r}; {key!r} belongs to "
                    f"{listed(owners)}, and only to such rules"
                )
        for name in rule.get("columns", ()):
            _known(name, features, f"'drop_rows[{i}].columns'", "columns")


def _check_finite(value: Any, at: str) -> None:
    """YAML can write .nan, .inf and 1e308; no key means anything by them."""
    if isinstance(value, float) and not math.isfinite(value):
        raise ConfigError(f"{at!r} is {value}; allowed is a finite number")
    if isinstance(value, int | float) and abs(value) > LARGEST:
        raise ConfigError(f"{at!r} is beyond {LARGEST:.2g}, the largest number that is allowed")
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
    if "files" in wanted:
        wanted = wanted | {"join"}  # may be there
    for key in sorted(given - wanted):
        raise ConfigError(
            f"'source.{key}' does not go with kind {kind!r}; allowed are {listed(sorted(wanted))}"
        )
    _unique((f["name"] for f in source.get("files", ())), "'source.files'", "file name")
    for i, file in enumerate(source.get("files", ())):
        at = f"'source.files[{i}]'"
        digests = [d for d in ("sha256", "content_sha256") if file.get(d) is not None]
        if kind == "download" and ("url" not in file or not digests):
            raise ConfigError(
                f"{at} needs both 'url' and 'sha256' (or 'content_sha256') to be downloaded safely"
            )
    if "format" in source:
        _check_format(source["format"])
        form = source["format"]["kind"]
        if "join" in source and form not in _JOINED_FORMATS:
            raise ConfigError(
                f"'source.join' does not go with format {form!r}; allowed are "
                f"{listed(_JOINED_FORMATS)}"
            )
    if "generator" in source:
        _check_generator(source["generator"])


def _check_generator(generator: Mapping[str, Any]) -> None:
    if generator["name"] != "clinical_simulator":
        return
    at, groups, features = "'source.generator", generator["groups"], generator["features"]
    _unique((g["name"] for g in groups), f"{at}.groups'", "group name")
    _unique((f["name"] for f in features), f"{at}.features'", "feature name")
    total = sum(g["share"] for g in groups)
    if abs(total - 1) > 1e-9:
        raise ConfigError(f"{at}.groups' have shares that sum to {total:g}; they must sum to 1")
    factors = len(features[0]["loadings"])
    for i, feature in enumerate(features):
        for key, size in (("effect", len(groups)), ("loadings", factors)):
            if len(feature[key]) != size:
                raise ConfigError(
                    f"{at}.features[{i}].{key}' has {len(feature[key])} entries; {size} are needed"
                )
        if sum(w * w for w in feature["loadings"]) >= 1:
            raise ConfigError(
                f"{at}.features[{i}].loadings' have squares that sum to 1 or more; the rest, which "
                "must be above zero, is noise of its own"
            )


def _check_format(form: Mapping[str, Any]) -> None:
    kind = form["kind"]
    for owner, keys in _FORMAT_KEYS.items():
        for key in keys:
            if kind == owner and key not in form:
                raise ConfigError(f"'source.format.{key}' is missing; kind {kind!r} needs it")
            if kind != owner and key in form:
                raise ConfigError(f"'source.format.{key}' does not go with kind {kind!r}")
    for keys, kinds in _OPTIONAL_KEYS.items():
        for key in keys:
            if key in form and kind not in kinds:
                raise ConfigError(f"'source.format.{key}' does not go with kind {kind!r}")
    if form.get("decimal", ".") == form.get("thousands"):
        raise ConfigError(
            f"'source.format.thousands' is {form['thousands']!r}, the mark of decimals; the two "
            "differ"
        )
    _unique((s["name"] for s in form.get("summaries", ())), "'source.format.summaries'", "name")
    for i, summary in enumerate(form.get("summaries", ())):
        if summary["from_hour"] >= summary["to_hour"]:
            raise ConfigError(
                f"'source.format.summaries[{i}]' goes from hour {summary['from_hour']} to "
                f"{summary['to_hour']}; the first must be below the second"
            )
    if form.get("header") is False:
        raise ConfigError(
            "'source.format.header' is false; allowed are true or the list of column names"
        )
    if isinstance(form.get("header"), list):
        _unique(form["header"], "'source.format.header'", "column name")


def _check_columns(columns: list[Mapping[str, Any]], label: Mapping[str, Any]) -> None:
    _unique((c["name"] for c in columns), "'columns'", "column name")
    rule = label.get("rule", {})
    telling = {label["column"], *(v for k, v in rule.items() if k in _RULE_COLUMNS)}
    for i, column in enumerate(columns):
        at = f"'columns[{i}]' ({column['name']!r})"
        if column["name"] in RESERVED_COLUMNS:
            raise ConfigError(
                f"{at} has a reserved name; use 'from' for the raw name and another 'name' than "
                f"{listed(RESERVED_COLUMNS)}"
            )
        if column.get("from", column["name"]) in telling:
            raise ConfigError(f"{at} is the label; a feature must not tell the answer")
        _check_column(column, i, at)


def _check_column(column: Mapping[str, Any], i: int, at: str) -> None:
    numeric = column["type"] == "numeric"
    if numeric and "unit" not in column:
        raise ConfigError(f"{at} is numeric and lacks 'unit'; write \"1\" where it has none")
    for key in _CATEGORICAL_KEYS if numeric else _NUMERIC_KEYS:
        if key in column:
            raise ConfigError(f"{at} is {column['type']}; {key!r} does not apply to it")
    _unique(column.get("levels", ()), f"'columns[{i}].levels'", "level")
    _unique((s["value"] for s in column.get("special_values", ())), at, "special value")
    level = column.get("missing_level")
    if level is not None and "levels" in column:
        _known(level, column["levels"], f"'columns[{i}].missing_level'", "levels")
    for level in column.get("recode", {}).values() if "levels" in column else ():
        _known(level, column["levels"], f"'columns[{i}].recode'", "levels")
    for text, number in column.get("recode", {}).items() if numeric else ():
        if _is_number(text) or not _is_number(number):
            raise ConfigError(
                f"{at}: 'recode' has {text!r}: {number!r}; in a numeric column a text that is no "
                "number becomes a number"
            )
    if "valid" in column and column["valid"][0] >= column["valid"][1]:
        raise ConfigError(
            f"'columns[{i}].valid' is {column['valid']}; the first must be below the second"
        )


def _is_number(text: Any) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


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
    free = {c for p in panels if p.get("free", False) for c in p["columns"]}
    for i, panel in enumerate(panels):
        if not panel.get("free", False) and free.issuperset(panel["columns"]):
            raise ConfigError(
                f"'panels[{i}]' ({panel['name']!r}) has a cost, but every column of it is free; "
                "remove it, or add a column that must be paid for"
            )
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
    _check_classes(document["label"], "label", "classes")
    made = {str(v) for c in classes for v in c.get("values", ())}
    if "rule" in document["label"] and made != {"0", "1"}:
        raise ConfigError(
            f"'label.classes' has values {listed(sorted(made)) or 'none'}; a label made by 'rule' "
            "has 0 and 1"
        )
    cost, k = document["misclassification_cost"], len(classes)
    if len(cost) != k or any(len(row) != k for row in cost):
        shape = f"{len(cost)} rows of {listed(sorted({len(r) for r in cost}))} entries"
        raise ConfigError(
            f"'misclassification_cost' has {shape}; {k} classes need {k} rows of {k} entries"
        )


def _check_classes(entry: Mapping[str, Any], key: str, part: str) -> None:
    """Classes are told apart either all by values or all by ranges that do not overlap."""
    at, classes = f"'{key}.{part}'", entry[part]
    _unique((c["name"] for c in classes), at, "class name")
    _unique((str(v) for c in classes for v in c.get("values", ())), at, "raw value")
    kinds = {frozenset(c) & {"values", "from", "below"} for c in classes}
    if not (kinds == {frozenset({"values"})} or all(k and "values" not in k for k in kinds)):
        raise ConfigError(
            f"{at} must tell its entries apart either all by 'values' or all by 'from' and 'below'"
        )
    ends = [c.get(end) for c in classes for end in ("from", "below")]
    if ("by" in entry) != any(isinstance(end, Mapping) for end in ends):
        raise ConfigError(
            f"'{key}.by' names the column whose texts choose among numbers; it goes with 'from' "
            "and 'below' that list a number for each text, and only with them"
        )
    _check_ranges(classes, at)


def _check_ranges(classes: Iterable[Mapping[str, Any]], at: str) -> None:
    """No number means two classes."""
    ends = [[c.get(end) for end in ("from", "below")] for c in classes if "values" not in c]
    texts = {t for pair in ends for end in pair if isinstance(end, Mapping) for t in end} or {""}
    for text in sorted(texts):
        plain = [
            [end.get(text) if isinstance(end, Mapping) else end for end in pair] for pair in ends
        ]
        ranges = sorted(
            (-math.inf if low is None else low, math.inf if high is None else high)
            for low, high in plain
        )
        for (_, high), (low, _) in pairwise(ranges):
            if low < high:
                raise ConfigError(f"{at} has ranges that overlap at {low:g}; each number means one")


def _check_split(document: Mapping[str, Any]) -> None:
    split = document["split"]
    scheme = split["scheme"]
    wanted = {"given": "groups", "folds": "k"}.get(scheme, "parts")
    others = [name for name in ("groups", "parts", "k") if name != wanted and name in split]
    if wanted not in split or others:
        instead = f" and not {others[0]!r}" if others else ""
        raise ConfigError(f"'split' with scheme {scheme!r} needs {wanted!r}{instead}")
    if scheme == "folds":
        return
    if scheme == "given":
        _check_groups(split["groups"], document["source"])
    else:
        _check_parts(split["parts"], "'split.parts'", fractions=scheme == "fractions")
    if scheme != "counts" and document["source"]["kind"] == "generator":
        raise ConfigError(
            f"'split.scheme' is {scheme!r}; a generator needs 'counts', which say how many rows"
        )
    used = [split["parts"]] if scheme != "given" else list(split["groups"].values())
    given = {part for parts in used for part, size in parts.items() if size > 0}
    if "test" not in given:
        raise ConfigError("'split' gives no rows to part 'test'; it needs some")
    if not given & {"train", "encoder"}:
        raise ConfigError("'split' gives no rows to part 'train', nor to 'encoder'; one needs some")


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
