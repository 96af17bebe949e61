"""A bundled policy as rules: one document that a short reader in any language can run.

Columns of the cases, trees, and formulas in their order; docs/reference/rules.md has the schema.
SQL and forms are made from it. Knows no kind.
"""

import json
import re
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
MOST_WAYS = 100  # sets of panels that cases come through in a form
_SPELLINGS = ("true", "false", "yes", "no", "on", "off", "1", "0", "1.0", "0.0")


def rules_file(bundle: CaseBundle) -> bytes:
    """The document as JSON, a line for each column, model and step.

    Raises:
        DataError: the policy is of a kind without formulas.
    """
    parts = []
    for key, value in rules_of(bundle).items():
        text = json.dumps(value, ensure_ascii=False)
        if key in ("columns", "trees", "steps"):
            lines = ",\n  ".join(json.dumps(entry, ensure_ascii=False) for entry in value)
            text = f"[\n  {lines}\n ]"
        parts.append(f' "{key}": {text}')
    return ("{\n" + ",\n".join(parts) + "\n}\n").encode()


def rules_of(bundle: CaseBundle) -> dict[str, Any]:
    """The document, as plain values.

    Raises:
        DataError: the policy is of a kind without formulas.
    """
    policy, formulas, places = graph_of_bundle(bundle), Formulas(), _places(bundle)
    join = "or" if bundle.cases["missing_values"] == "partial" else "and"
    has = [_has(formulas, bundle, k) for k in range(len(bundle.cases["columns"]))]
    acquired = [
        formulas.joined(join, *(has[k] for k in places[panel.name]))
        for panel in bundle.layout.actions
    ]
    label = policy.predicted()
    nodes = _nodes(formulas, policy, acquired)
    (place,), classes = nodes[label.name][0], range(len(bundle.layout.classes))
    results = {
        "next": _next(formulas, policy, nodes),
        "predicted": [formulas.apply("=", place, formulas.number(k)) for k in classes],
        "probability": nodes[policy.probability.name][0].tolist(),
    }
    return _document(bundle, formulas, results)


def form_rules(bundle: CaseBundle) -> dict[str, Any]:
    """The document with the condition of each panel on the way from nothing, in `shown`.

    `order` has the panels that are ever ordered, the first ones first.

    Raises:
        DataError: the policy is of a kind without formulas, or a form cannot have them.
    """
    policy, formulas, order = graph_of_bundle(bundle), Formulas(), dict[int, None]()
    panels = range(len(bundle.layout.actions))
    shown, reached = [formulas.false for _ in panels], {frozenset[int](): formulas.true}
    for size in panels:
        for acquired in [each for each in reached if len(each) == size]:
            has = [formulas.truth(j in acquired) for j in panels]
            chosen = _next(formulas, policy, _nodes(formulas, policy, has))
            for j, condition in enumerate(chosen):
                path, after = formulas.joined("and", reached[acquired], condition), acquired | {j}
                if path != formulas.false:
                    order[j] = None
                    shown[j] = formulas.joined("or", shown[j], path)
                    reached[after] = formulas.joined("or", reached.get(after, path), path)
        steps, _ = formulas.needed({"shown": shown})
        if len(reached) > MOST_WAYS or any(step[0] in ("trees", "exp", "single") for step in steps):
            raise DataError(
                f"a policy of kind {bundle.kind!r} orders by a predicted probability, which no "
                "form computes; a form can hold the same panels for everyone, or a rule of one's "
                "own (kinds fixed, fixed_set, rule), with few ways through its panels"
            )
    return _document(bundle, formulas, {"shown": shown}) | {"order": list(order)}


def _places(bundle: CaseBundle) -> dict[str, list[int]]:
    """Columns of each panel, by their places among the columns of the cases."""
    names = [entry["name"] for entry in bundle.cases["columns"]]
    return {p["name"]: [*map(names.index, p["columns"])] for p in bundle.cases["panels"]}


def _nodes(
    formulas: Formulas, policy: PolicyGraph, acquired: Sequence[int]
) -> dict[str, np.ndarray]:
    """Formulas of all nodes; a panel that is not acquired can be."""
    values = _encoded(formulas, policy.bundle)
    available = [formulas.true] * len(acquired)
    inputs = {"values": values, "acquired": acquired, "available": available}
    return formulas.of_graph(policy.state.graph, inputs)


def _next(formulas: Formulas, policy: PolicyGraph, nodes: Mapping[str, np.ndarray]) -> list[int]:
    """Where each panel is the next one."""
    half, name = formulas.number(0.5), policy.outputs.action_probability.name
    return [formulas.apply("<", half, share) for share in nodes[name][0, :-1]]


def _document(
    bundle: CaseBundle, formulas: Formulas, results: Mapping[str, Sequence[int]]
) -> dict[str, Any]:
    """Formulas with all that is needed to read cases."""
    layout, cases, places = bundle.layout, bundle.cases, _places(bundle)
    steps, results = formulas.needed(results)
    names = [entry["name"] for entry in cases["columns"]]
    required = [names.index(fee["column"]) for fee in cases.get("fees", ())]
    if cases["missing_values"] != "partial":
        required += [k for p in cases["panels"] if p["free"] for k in places[p["name"]]]
    required = [k for k in required if cases["columns"][k]["missing_level"] is None]
    return {
        "rules": EDITION,
        "kind": bundle.kind,
        "cost_unit": bundle.cost_unit,
        "classes": list(layout.classes),
        "panels": [
            {"name": panel.name, "price": float(panel.cost), "columns": places[panel.name]}
            for panel in layout.actions
        ],
        "columns": [_column(entry, cases) for entry in cases["columns"]],
        "required": sorted({*required}),
        "trees": [_trees(model) for model in formulas.models],
        "steps": steps,
        **results,
    }


def _has(formulas: Formulas, bundle: CaseBundle, column: int) -> int:
    """Whether a column has a value, or a level that is filled in since its panel is acquired."""
    entry, places = bundle.cases["columns"][column], _places(bundle)
    panels = [panel for panel in bundle.cases["panels"] if entry["name"] in panel["columns"]]
    others = {k for panel in panels for k in places[panel["name"]]}
    if entry["missing_level"] is None:
        others = {column}
    elif any(panel["free"] for panel in panels):
        return formulas.true
    return formulas.joined("or", *(formulas.step("known", k) for k in sorted(others)))


def _encoded(formulas: Formulas, bundle: CaseBundle) -> list[int]:
    """Encoded columns of the table as formulas of the columns of a case."""
    result, zero, unit = [], formulas.number(0), formulas.number(1)
    for k, entry in enumerate(bundle.cases["columns"]):
        cell, has = formulas.step("cell", k), _has(formulas, bundle, k)
        if entry["levels"] is None:
            codes = [formulas.apply("=", cell, formulas.number(code)) for code in entry["codes"]]
            coded = formulas.joined("or", *codes)
            result.append(formulas.choose(coded, formulas.number(entry["instead"]), cell))
        else:
            codes = [formulas.step("is", k, level) for level in entry["levels"]]
        if (filled := entry["missing_level"]) is not None:
            lacks = formulas.joined("and", has, formulas.opposite(formulas.step("known", k)))
            place = entry["levels"].index(filled)
            codes[place] = formulas.joined("or", codes[place], lacks)
        absent = formulas.choose(has, zero, formulas.unknown)
        for code in codes:
            result.append(formulas.choose(code, unit, absent))
            formulas.has_value[result[-1]] = has  # no code, no level without a value
    return result


def _column(entry: Mapping[str, Any], cases: Mapping[str, Any]) -> dict[str, Any]:
    """How a cell is read, as `data.cases` reads it."""
    common = {"name": entry["from"], "unit": entry["unit"]}
    missing, levels = [text for text in cases["missing"] if text], entry["levels"]
    if levels is None:
        texts = {text: _number(number) for text, number in entry["recode"].items()}
        return common | {
            "type": "number",
            "unknown": [*NO_VALUE, *missing],
            "texts": {text: number for text, number in texts.items() if number is not None},
            "unknown_numbers": [x for text in missing if (x := _number(text)) is not None],
            "range": entry["valid"],
            "codes": entry["codes"],
        }
    filled, named = entry["missing_level"], {*levels, *entry["recode"], *missing}
    texts = {level: level for level in levels} | entry["recode"] | dict.fromkeys(missing, filled)
    return common | {
        "type": "category",
        "levels": levels,
        "unknown": [t for t in NO_VALUE if t not in named] + (missing if filled is None else []),
        "texts": {text: level for text, level in texts.items() if level is not None},
        "spellings": _spellings(levels),
    }


def _number(text: str) -> float | None:
    """The number that a text is, if it is one."""
    try:
        number = float(text)
    except ValueError:
        return None
    return number if np.isfinite(number) else None


def _spellings(levels: Sequence[str]) -> dict[str, str]:
    """Small letters of other texts for a level → the level, see `same_level`."""
    forms = [level.lower() for level in levels]
    forms += [f"{text}." for text in forms] + [text.rstrip(".") for text in forms]
    # SQLite's LOWER knows A to Z alone
    forms += [re.sub("[A-Z]", lambda letter: letter[0].lower(), name.upper()) for name in levels]
    forms += [*(f"{level}.0" for level in levels), *_SPELLINGS]
    words = [word(level) for level in levels]
    level_of = {text: same_level(text, levels) for text in forms if words.count(word(text)) < 2}
    return {text: level for text, level in level_of.items() if level is not None}


def _trees(model: TreeEnsemble) -> dict[str, Any]:
    """The arrays of `TreeEnsemble`, with cuts between numbers of double precision."""
    return {
        "root": model.root.tolist(),
        "column": model.feature.tolist(),
        "cut": np.where(model.feature < 0, 0.0, largest_double(model.threshold)).tolist(),
        "right": model.right.tolist(),
        "unknown_left": model.missing_left.tolist(),
        "leaves": model.leaf_value.tolist(),
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
