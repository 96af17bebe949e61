"""A policy as one SELECT of standard SQL, from a table with the columns of the cases.

Cells are read first, then steps in layers: a column for each that is used more than once, each
layer from the one before. Knows no system.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from frugal.acquire.bundles import CaseBundle
from frugal.acquire.exports.expressions import Expressions, Language
from frugal.acquire.exports.formulas import COMPARES, operands
from frugal.acquire.exports.rules import STOP, rules_of
from frugal.core.schema_check import require_unique_names

DEEPEST = 40  # steps within one expression; systems limit how deep they read
TREES_AT_ONCE = 100  # that one column sums
_INLINE = ("number", "unknown", "truth", "cell", "known", "is")
# Without it a system may put each layer's expressions into the next, again and again
_BARRIER = "COUNT(*) OVER () AS layer_size"
_HEAD = """-- Next panel of each case, predicted class, and probabilities. NULL is not acquired.
-- NULL as the next panel: a value that is known at the start lacks.
"""
Layer = list[tuple[str, str]]  # expression and name of each column


def sql_file(bundle: CaseBundle, *, table: str = "cases", id_column: str | None = None) -> bytes:
    """The query.

    Args:
        bundle: of the policy.
        table: with the cases, perhaps behind its schema and a period.
        id_column: names the cases in the result; without, the result has all columns of the cases.

    Raises:
        DataError: the policy is of a kind without formulas, or two columns have one name.
    """
    rules = rules_of(bundle)
    columns = [column["name"] for column in rules["columns"]]
    shown = {f"k{j}": n for j, n in enumerate(columns if id_column is None else [id_column])}
    layers = [[*((_column(name), key) for key, name in shown.items()), *_cells(rules["columns"])]]
    layers += _layers(rules)
    results = [(key, _name(name)) for key, name in shown.items()] + layers.pop()
    require_unique_names([name[1:-1] for _, name in results], "the result of the query")
    used = [{*re.findall(r"\b[ckst]\d+(?:_\d+)?\b", str(layer))} for layer in [*layers, results]]
    parts, before, carried = [], f"{'.'.join(map(_name, table.split('.')))} this", set[str]()
    for number, layer in enumerate(layers):
        new = {name for _, name in layer}
        carried &= set().union(*used[number + 1 :])
        entries = [*sorted(carried), *(f"{text} AS {name}" for text, name in layer), _BARRIER]
        selected = ",\n  ".join(entries)
        parts.append(f"layer_{number} AS (SELECT\n  {selected}\nFROM {before})")
        before, carried = f"layer_{number}", carried | new
    last = ",\n  ".join(f"{text} AS {name}" for text, name in results)
    return f"{_HEAD}WITH {', '.join(parts)}\nSELECT\n  {last}\nFROM {before}\n".encode()


def _number(number: float) -> str:
    """A number of double precision."""
    text = repr(number).upper()
    text = text if "E" in text else f"{text}E0"
    return f"({text})" if number < 0 else text


def _text(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _name(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _column(name: str) -> str:
    """A column of the table; without the table SQLite reads a name that is not there as a text."""
    return f"this.{_name(name)}"


def _choice(condition: str, yes: str, no: str) -> str:
    """One of two; the rest after an ELSE is no deeper."""
    if no.startswith("CASE "):
        return f"CASE WHEN {condition} THEN {yes} {no.removeprefix('CASE ')}"
    return f"CASE WHEN {condition} THEN {yes} ELSE {no} END"


def _level(column: int, level: str, holds: bool) -> str:
    other = "" if holds else f"c{column} IS NULL OR "
    return f"({other}c{column} {'=' if holds else '<>'} {_text(level)})"


_SQL = Language(_number, "c{}".format, _level, _choice, "NULL", (" IS NOT NULL", " IS NULL"))


def _layers(rules: Mapping[str, Any]) -> list[Layer]:
    """Columns of each layer, and last those of the results."""
    steps, write = rules["steps"], Expressions(rules, _SQL)
    uses, depth, level = [0] * len(steps), [0] * len(steps), [0] * len(steps)
    for step in steps:
        for part in operands(step):
            uses[part] += 2 if step[0] == "trees" else 1
    layers: dict[int, Layer] = {}
    for at, step in enumerate(steps):
        parts = operands(step)
        level[at] = max((level[part] for part in parts), default=0)
        depth[at] = 1 + max((depth[part] for part in parts), default=0)
        if step[0] == "trees":
            sums = _sums(rules["trees"][step[1]], step[2], [*map(write.number, parts)])
            columns = [(text, f"t{at}_{k}") for k, text in enumerate(sums)]
            layers.setdefault(level[at], []).extend(columns)
            write.names[at], level[at] = f"({' + '.join(n for _, n in columns)})", level[at] + 1
        elif step[0] not in _INLINE and (uses[at] > 1 or depth[at] >= DEEPEST):
            truth = step[0] in ("not", "and", "or", *COMPARES)
            text = _choice(write.where(at), "1", "0") if truth else write.number(at)
            layers.setdefault(level[at], []).append((text, f"s{at}"))
            write.names[at], depth[at], level[at] = f"s{at}", 0, level[at] + 1
    panels = [panel["name"] for panel in rules["panels"]]
    shares = zip(rules["classes"], rules["probability"], strict=True)
    results = [
        (_first(write, rules["next"], panels, _text(STOP)), "next"),
        (_first(write, rules["predicted"], rules["classes"], "NULL"), "predicted"),
        *((write.number(at), f"probability {name}") for name, at in shares),
    ]
    lacks = " OR ".join(f"c{j} IS NULL" for j in rules["required"])
    results = [(_choice(lacks, "NULL", t) if lacks else t, _name(n)) for t, n in results]
    return [*(layers[k] for k in sorted(layers)), results]


def _first(write: Expressions, steps: Sequence[int], names: Sequence[str], text: str) -> str:
    """The name of the first condition that holds."""
    for at, name in reversed([*zip(steps, names, strict=True)]):
        text = _choice(write.where(at), _text(name), text)
    return text


def _cells(columns: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, str]]:
    """Cells, read as numbers or as levels."""
    for place, column in enumerate(columns):
        text = f"TRIM(CAST({_column(column['name'])} AS VARCHAR(255)))"
        pairs = {f"{text} IN ({', '.join(map(_text, column['unknown']))})": "NULL"}
        if column["type"] == "category":
            value = text
            pairs |= {f"{text} = {_text(t)}": _text(to) for t, to in column["texts"].items()}
            small = column["spellings"].items()
            pairs |= {f"LOWER({text}) = {_text(t)}": _text(to) for t, to in small}
        else:
            value = f"CAST({_column(column['name'])} AS DOUBLE PRECISION)"
            pairs |= {f"{text} = {_text(t)}": _number(x) for t, x in column["texts"].items()}
            pairs |= {f"{value} = {_number(x)}": "NULL" for x in column["unknown_numbers"]}
            if column["range"]:
                low, high = map(_number, column["range"])
                codes = "".join(f" AND {value} <> {_number(x)}" for x in column["codes"])
                pairs[f"({value} < {low} OR {value} > {high}){codes}"] = "NULL"
        for condition, result in reversed(pairs.items()):
            value = _choice(condition, result, value)
        yield value, f"c{place}"


def _sums(model: Mapping[str, Any], k: int, values: Sequence[str]) -> Iterator[str]:
    """Sums of the leaves of some trees at a time."""
    texts = [_tree(model, k, values, root)[0] for root in model["root"]]
    for start in range(0, len(texts), TREES_AT_ONCE):
        yield "\n    + ".join(texts[start : start + TREES_AT_ONCE])


def _tree(model: Mapping[str, Any], k: int, values: Sequence[str], node: int) -> tuple[str, int]:
    """A tree from a node on, and how many leaves it has; the larger side is behind ELSE."""
    right = model["right"][node]
    if model["column"][node] < 0:
        return _number(model["leaves"][right][k]), 1
    x = values[model["column"][node]]
    (low, m), (high, n) = (_tree(model, k, values, side) for side in (node + 1, right))
    condition = f"{x} {'<=' if m <= n else '>'} {_number(model['cut'][node])}"
    if model["unknown_left"][node] == (m <= n):
        condition += f" OR {x} IS NULL"
    return _choice(condition, *((low, high) if m <= n else (high, low))), m + n
