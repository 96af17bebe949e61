"""A bundled policy as rules: one document that a short reader in any language can run.

Columns of the cases, trees, and formulas in their order; docs/reference/rules.md has the schema.
SQL and forms are made from it. Knows no kind.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from frugal.acquire.bundles import CaseBundle, PolicyGraph, graph_of_bundle
from frugal.acquire.exports.formulas import Formulas
from frugal.core.errors import DataError
from frugal.data.encoded_columns import NO_VALUE, same_level, word
from frugal.learn.trees import MOST_THRESHOLD, TreeEnsemble

EDITION = 1
STOP = "stop"
SHORT = ("fixed", "fixed_set", "rule")
MOST_WAYS = 100  # sets of panels that cases come through
_MODELS = ("trees", "exp", "single")
_SPELLINGS = ("true", "false", "yes", "no", "on", "off", "1", "0", "1.0", "0.0")


def rules_of(bundle: CaseBundle) -> dict[str, Any]:
    """The document.

    Raises:
        DataError: the policy is of a kind without formulas.
    """
    policy, formulas, layout = graph_of_bundle(bundle), Formulas(), bundle.layout
    join = formulas.any_of if bundle.cases["missing_values"] == "partial" else formulas.all_of
    acquired = [join(*map(formulas.has, columns)) for columns in _revealed(bundle)]
    label = policy.predicted()
    nodes = _nodes(formulas, policy, acquired)
    classes = [formulas.number(k) for k in range(len(layout.classes))]
    return _document(
        bundle,
        formulas,
        {
            "next": _next(formulas, policy, nodes),
            "predicted": [formulas.same(nodes[label.name][0, 0], k) for k in classes],
            "probability": nodes[policy.probability.name][0].tolist(),
        },
    )


def form_rules(bundle: CaseBundle) -> dict[str, Any]:
    """The document with the condition of each panel on the way from nothing, in `shown`.

    `order` has the panels that are ever ordered, the first ones first.

    Raises:
        DataError: the policy is of a kind without formulas, or there are too many ways.
    """
    policy, formulas = graph_of_bundle(bundle), Formulas()
    panels = range(len(bundle.layout.actions))
    shown, ways = [formulas.false for _ in panels], {frozenset[int](): formulas.true}
    order: dict[int, None] = {}
    for size in range(len(panels)):
        for acquired in [each for each in ways if len(each) == size]:
            has = [formulas.true if j in acquired else formulas.false for j in panels]
            chosen = _next(formulas, policy, _nodes(formulas, policy, has))
            for j, condition in enumerate(chosen):
                way = formulas.all_of(ways[acquired], condition)
                if way != formulas.false:
                    order[j] = None
                    shown[j] = formulas.any_of(shown[j], way)
                    after = acquired | {j}
                    ways[after] = formulas.any_of(ways.get(after, formulas.false), way)
        rules = _document(bundle, formulas, {"shown": shown})
        if len(ways) > MOST_WAYS or any(step[0] in _MODELS for step in rules["steps"]):
            raise DataError(
                f"a policy of kind {bundle.kind!r} orders by a predicted probability, which no "
                "form computes; a form can hold the same panels for everyone, or a rule of one's "
                f"own (kinds {', '.join(SHORT)}), with few ways through its panels"
            )
    return _document(bundle, formulas, {"shown": shown}) | {"order": list(order)}


def _revealed(bundle: CaseBundle) -> list[list[int]]:
    """Columns of each panel with a price, by their places among the columns of the cases."""
    place = _places(bundle.cases)
    columns = {p["name"]: [place[c] for c in p["columns"]] for p in bundle.cases["panels"]}
    return [columns[panel.name] for panel in bundle.layout.actions]


def _places(cases: Mapping[str, Any]) -> dict[str, int]:
    return {entry["name"]: k for k, entry in enumerate(cases["columns"])}


def _nodes(
    formulas: Formulas, policy: PolicyGraph, acquired: Sequence[int]
) -> dict[str, np.ndarray]:
    """Formulas of all nodes; a panel that is not acquired can be."""
    inputs = {
        "values": _encoded(formulas, policy.bundle.cases["columns"]),
        "acquired": acquired,
        "available": [formulas.true] * len(acquired),
    }
    return formulas.of_graph(policy.state.graph, inputs)


def _next(formulas: Formulas, policy: PolicyGraph, nodes: Mapping[str, np.ndarray]) -> list[int]:
    """Where each panel is the next one."""
    half = formulas.number(0.5)
    taken = nodes[policy.outputs.action_probability.name][0, :-1].tolist()
    return [formulas.less(half, share) for share in taken]


def _document(
    bundle: CaseBundle, formulas: Formulas, results: Mapping[str, Sequence[int]]
) -> dict[str, Any]:
    """Formulas with all that is needed to read cases."""
    layout, cases, place = bundle.layout, bundle.cases, _places(bundle.cases)
    steps, ensembles, results = formulas.used(results)
    return {
        "rules": EDITION,
        "kind": bundle.kind,
        "cost_unit": bundle.cost_unit,
        "classes": list(layout.classes),
        "panels": [
            {"name": panel.name, "price": float(panel.cost), "columns": columns}
            for panel, columns in zip(layout.actions, _revealed(bundle), strict=True)
        ],
        "columns": [_column(entry, cases, place) for entry in cases["columns"]],
        "required": _required(cases, place),
        "trees": [_trees(ensemble) for ensemble in ensembles],
        "steps": steps,
        **results,
    }


def _encoded(formulas: Formulas, columns: Sequence[Mapping[str, Any]]) -> list[int]:
    """Encoded columns of the table as formulas of the columns of a case."""
    result, zero, one = [], formulas.number(0), formulas.number(1)
    for k, entry in enumerate(columns):
        cell, has = formulas.cell(k), formulas.has(k)
        if entry["levels"] is None:
            codes = [formulas.same(cell, formulas.number(code)) for code in entry["codes"]]
            number = formulas.choose(
                formulas.any_of(*codes), formulas.number(entry["instead"]), cell
            )
            indicators = codes
        else:
            indicators = [formulas.level(k, level) for level in entry["levels"]]
        one_hot = [formulas.choose(yes, one, zero) for yes in indicators]
        shown = [formulas.choose(has, each, formulas.unknown) for each in one_hot]
        result += shown if entry["levels"] is not None else [number, *shown]
    return result


def _column(
    entry: Mapping[str, Any], cases: Mapping[str, Any], place: Mapping[str, int]
) -> dict[str, Any]:
    """How a cell is read, as `data.cases` reads it."""
    common = {"name": entry["from"], "unit": entry["unit"]}
    missing = [text for text in cases["missing"] if text]
    if entry["levels"] is None:
        numbers = [_number(text) for text in missing]
        texts = {text: _number(number) for text, number in entry["recode"].items()}
        return common | {
            "type": "number",
            "unknown": [*NO_VALUE, *missing],
            "texts": {text: number for text, number in texts.items() if number is not None},
            "unknown_numbers": [number for number in numbers if number is not None],
            "range": entry["valid"],
            "codes": entry["codes"],
        }
    filled, levels = entry["missing_level"], entry["levels"]
    named = {*levels, *entry["recode"], *missing}
    texts = {text: level for text, level in _levels(entry).items() if text not in missing}
    others = {
        place[c] for p in cases["panels"] if entry["name"] in p["columns"] for c in p["columns"]
    }
    free = any(p["free"] for p in cases["panels"] if entry["name"] in p["columns"])
    blank = [text for text in NO_VALUE if text not in named]
    return common | {
        "type": "category",
        "levels": levels,
        "unknown": blank + (missing if filled is None else []),
        "texts": texts | (dict.fromkeys(missing, filled) if filled is not None else {}),
        "spellings": _spellings(levels),
        "otherwise": filled,  # of a cell without a value, where one of these columns has one
        "opened_by": "always" if free else sorted(others - {place[entry["name"]]}),
    }


def _number(text: str) -> float | None:
    """The number that a text is, if it is one."""
    try:
        number = float(text)
    except ValueError:
        return None
    return number if np.isfinite(number) else None


def _levels(entry: Mapping[str, Any]) -> dict[str, str]:
    return dict(zip(entry["levels"], entry["levels"], strict=True)) | entry["recode"]


def _spellings(levels: Sequence[str]) -> dict[str, str]:
    """Small letters of other texts for a level → the level, see `same_level`."""
    forms = [level.lower() for level in levels]
    forms = [*forms, *(f"{text}." for text in forms), *(text.rstrip(".") for text in forms)]
    forms += [f"{level}.0" for level in levels]
    found = {}
    for text in dict.fromkeys([*forms, *_SPELLINGS]):
        level, alike = same_level(text, levels), [word(other) for other in levels].count(word(text))
        if level is not None and alike < 2:
            found[text] = level
    return found


def _required(cases: Mapping[str, Any], place: Mapping[str, int]) -> list[int]:
    """Columns without which `advise` refuses a case."""
    fees = [fee["column"] for fee in cases.get("fees", ())]
    free = [] if cases["missing_values"] == "partial" else [p for p in cases["panels"] if p["free"]]
    return sorted({place[c] for c in [*fees, *(c for p in free for c in p["columns"])]})


def _trees(ensemble: TreeEnsemble) -> dict[str, Any]:
    """The arrays of `TreeEnsemble`, with cuts between numbers of double precision."""
    leaf = ensemble.feature < 0
    return {
        "root": ensemble.root.tolist(),
        "column": ensemble.feature.tolist(),
        "cut": np.where(leaf, 0.0, largest_double(ensemble.threshold)).tolist(),
        "right": ensemble.right.tolist(),
        "unknown_left": ensemble.missing_left.tolist(),
        "leaves": ensemble.leaf_value.tolist(),
    }


def largest_double(threshold: np.ndarray) -> np.ndarray:
    """The largest number whose nearest single-precision number is at most the threshold. (m,)"""
    with np.errstate(over="ignore"):
        next_one = np.nextafter(threshold, np.float32(np.inf))
        near, above = (
            np.clip(ends.astype(np.float64), -MOST_THRESHOLD, MOST_THRESHOLD)
            for ends in (threshold, next_one)
        )
        middle = near / 2 + above / 2
        goes_left = middle.astype(np.float32) <= threshold  # a tie goes to the even one
    return np.where(goes_left, middle, np.nextafter(middle, -np.inf))


def rules_file(bundle: CaseBundle) -> bytes:
    """The document as JSON, a line for each column, tree model and step."""
    parts = []
    for key, value in rules_of(bundle).items():
        lines = (
            [json.dumps(entry, ensure_ascii=False) for entry in value or ()]
            if (key in ("columns", "trees", "steps"))
            else []
        )
        text = (
            "[\n  " + ",\n  ".join(lines) + "\n ]"
            if lines
            else json.dumps(value, ensure_ascii=False)
        )
        parts.append(f" {json.dumps(key)}: {text}")
    return ("{\n" + ",\n".join(parts) + "\n}\n").encode()
