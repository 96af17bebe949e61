"""A policy as one SELECT of standard SQL, from a table with the columns of the cases.

Cells are read first, then steps in layers: a column for each that is used more than once, each
layer from the one before. Knows no system.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from frugal.acquire.bundles import CaseBundle
from frugal.acquire.exports.expressions import Expressions
from frugal.acquire.exports.formulas import operands
from frugal.acquire.exports.rules import STOP, rules_of

DEEPEST = 40  # steps within one expression; systems limit how deep they read
TREES_AT_ONCE = 100  # that one column sums
_PLAIN = ("number", "unknown", "truth", "cell", "known", "is")
# Without it a system may put each layer's expressions into the next, again and again
_BARRIER = "COUNT(*) OVER () AS layer_size"


def sql_file(bundle: CaseBundle, *, table: str = "cases", id_column: str | None = None) -> bytes:
    """The query.

    Args:
        bundle: of the policy.
        table: with the cases.
        id_column: names the cases in the result; without, the result has all columns of the cases.

    Raises:
        DataError: the policy is of a kind that cannot be written as formulas.
    """
    return Query(rules_of(bundle)).text(table, id_column).encode()


class Query(Expressions):
    """Expressions and layers of a query."""

    def literal(self, number: float | int) -> str:
        """See `Expressions`."""
        return f"({literal(number)})" if number < 0 else literal(number)

    def cell(self, column: int) -> str:
        """See `Expressions`."""
        return f"c{column}"

    def level(self, column: int, level: str, holds: bool) -> str:
        """See `Expressions`."""
        cell = self.cell(column)
        if holds:
            return f"{cell} = {quoted(level)}"
        return f"({cell} IS NULL OR {cell} <> {quoted(level)})"

    def has(self, column: int, holds: bool) -> str:
        """See `Expressions`."""
        return self.is_unknown(self.cell(column), not holds)

    def is_unknown(self, text: str, holds: bool) -> str:
        """See `Expressions`."""
        return f"{text} IS NULL" if holds else f"{text} IS NOT NULL"

    def unknown(self) -> str:
        """See `Expressions`."""
        return "NULL"

    def chosen(self, condition: str, yes: str, no: str) -> str:
        """See `Expressions`."""
        return chosen(condition, yes, no)

    def trees(self, at: int) -> str:
        """The sum of columns that each sum some trees."""
        return f"({' + '.join(self._sums[at])})"

    def text(self, table: str, id_column: str | None) -> str:
        """The whole query."""
        columns = self.rules["columns"]
        kept = (
            {"k0": id_column} if id_column else {f"k{j}": c["name"] for j, c in enumerate(columns)}
        )
        cells = [(f"c{j}", _read(column)) for j, column in enumerate(columns)]
        filled = [
            (f"c{j}", text) for j, column in enumerate(columns) if (text := _filled(j, column))
        ]
        layers = [[*((name, named(c)) for name, c in kept.items()), *cells], filled]
        layers = [layer for layer in [*layers, *self._layers()] if layer]
        results = [*((named(name), key) for key, name in kept.items()), *self._results()]
        needed = [{*_words(text for _, text in layer)} for layer in layers[1:]]
        needed.append({*_words(text for _, text in results)})
        lines, before, carried = [], quoted_table(table), list[str]()
        for number, layer in enumerate(layers):
            later = set().union(*needed[number:], kept)
            new = {name for name, _ in layer}
            passed = [name for name in carried if name in later and name not in new]
            entries = [*passed, *(f"{text} AS {name}" for name, text in layer), _BARRIER]
            lines.append(f"layer_{number} AS (\n  SELECT\n    " + ",\n    ".join(entries))
            lines[-1] += f"\n  FROM {before}\n)"
            before, carried = f"layer_{number}", [*passed, *(name for name, _ in layer)]
        last = ",\n  ".join(f"{text} AS {name}" for name, text in results)
        head = "-- Next panel of each case, what is predicted, and with which probability.\n"
        head += (
            "-- An empty cell is a panel that was not acquired; NULL as the next panel: the case\n"
        )
        head += "-- lacks a value that is known at the start.\n"
        return f"{head}WITH {', '.join(lines)}\nSELECT\n  {last}\nFROM {before}\n"

    def _layers(self) -> list[list[tuple[str, str]]]:
        """Name and expression of the columns of each layer."""
        uses, depth, level = [0] * len(self.steps), [0] * len(self.steps), [0] * len(self.steps)
        for step in self.steps:
            for part in operands(step):
                uses[part] += 2 if step[0] == "trees" else 1
        layers: dict[int, list[tuple[str, str]]] = {}
        self._sums: dict[int, list[str]] = {}
        for at, step in enumerate(self.steps):
            parts = operands(step)
            level[at] = max((level[part] for part in parts), default=0)
            depth[at] = 1 + max((depth[part] for part in parts), default=0)
            if step[0] == "trees":
                self._sums[at] = []
                for text in _sums(
                    self.rules["trees"][step[1]], step[2], [*map(self.number, parts)]
                ):
                    self._sums[at].append(f"t{at}_{len(self._sums[at])}")
                    layers.setdefault(level[at], []).append((self._sums[at][-1], text))
                level[at] += 1
            if step[0] in _PLAIN or (uses[at] < 2 and depth[at] < DEEPEST):
                continue
            truth = step[0] in ("not", "and", "or", "<", "<=", "=")
            text = f"CASE WHEN {self.where(at)} THEN 1 ELSE 0 END" if truth else self.number(at)
            self.names[at], depth[at] = f"s{at}", 0
            layers.setdefault(level[at], []).append((self.names[at], text))
            level[at] += 1
        return [layers[k] for k in sorted(layers)]

    def _results(self) -> list[tuple[str, str]]:
        """Name and expression of each result; none for a case that cannot be judged."""
        rules = self.rules
        lacks = [f"c{j} IS NULL" for j in rules["required"]]
        names = [panel["name"] for panel in rules["panels"]]
        texts = [
            ("next", self._first([*zip(rules["next"], names, strict=True)], STOP)),
            (
                "predicted",
                self._first([*zip(rules["predicted"], rules["classes"], strict=True)], None),
            ),
        ]
        texts += [
            (f"probability {name}", self.number(at))
            for name, at in zip(rules["classes"], rules["probability"], strict=True)
        ]
        if lacks:
            texts = [(n, self.chosen(" OR ".join(lacks), "NULL", text)) for n, text in texts]
        return [(named(name), text) for name, text in texts]

    def _first(self, steps: Sequence[tuple[int, str]], otherwise: str | None) -> str:
        text = "NULL" if otherwise is None else quoted(otherwise)
        for at, name in reversed(steps):
            if self.steps[at] != ["truth", False] and self.steps[at] != ("truth", False):
                text = self.chosen(self.where(at), quoted(name), text)
        return text


def literal(number: float | int) -> str:
    """A number of double precision."""
    text = repr(number).upper()
    return text if "E" in text else f"{text}E0"


def chosen(condition: str, yes: str, no: str) -> str:
    """One of two; what follows an ELSE is no deeper."""
    if no.startswith("CASE "):
        return f"CASE WHEN {condition} THEN {yes} {no.removeprefix('CASE ')}"
    return f"CASE WHEN {condition} THEN {yes} ELSE {no} END"


def quoted(text: str) -> str:
    """A text."""
    return "'" + text.replace("'", "''") + "'"


def named(name: str) -> str:
    """A name of a column."""
    return '"' + name.replace('"', '""') + '"'


def quoted_table(table: str) -> str:
    """The name of a table, perhaps behind that of its schema."""
    return ".".join(map(named, table.split(".")))


def _words(texts: Iterable[str]) -> Iterator[str]:
    """Names of columns of a layer that are in expressions."""
    for text in texts:
        yield from re.findall(r"\b[ckst]\d+(?:_\d+)?\b", text)


def _read(column: Mapping[str, Any]) -> str:
    """The expression of a cell, read as a number or as a level."""
    name = named(column["name"])
    text = f"TRIM(CAST({name} AS VARCHAR(255)))"
    whens = [f"WHEN {text} IN ({', '.join(map(quoted, column['unknown']))}) THEN NULL"]
    if column["type"] == "category":
        whens += [
            f"WHEN {text} = {quoted(t)} THEN {quoted(to)}" for t, to in column["texts"].items()
        ]
        whens += [
            f"WHEN LOWER({text}) = {quoted(t)} THEN {quoted(to)}"
            for t, to in column["spellings"].items()
        ]
        return f"CASE {' '.join(whens)} ELSE {text} END"
    number = f"CAST({name} AS DOUBLE PRECISION)"
    whens += [f"WHEN {text} = {quoted(t)} THEN {literal(x)}" for t, x in column["texts"].items()]
    for x in column["unknown_numbers"]:
        whens.append(f"WHEN {number} = {literal(x)} THEN NULL")
    if column["range"]:
        low, high = column["range"]
        codes = "".join(f" AND {number} <> {literal(code)}" for code in column["codes"])
        whens.append(
            f"WHEN ({number} < {literal(low)} OR {number} > {literal(high)}){codes} THEN NULL"
        )
    return f"CASE {' '.join(whens)} ELSE {number} END"


def _filled(place: int, column: Mapping[str, Any]) -> str | None:
    """The level of a cell without a value whose panel was acquired; None where there is none."""
    if column["type"] == "number" or column["otherwise"] is None:
        return None
    opens = column["opened_by"]
    known = "1 = 1" if opens == "always" else " OR ".join(f"c{j} IS NOT NULL" for j in opens)
    if not known:
        return None
    level = quoted(column["otherwise"])
    return f"CASE WHEN c{place} IS NULL AND ({known}) THEN {level} ELSE c{place} END"


def _sums(model: Mapping[str, Any], k: int, values: Sequence[str]) -> Iterator[str]:
    """Sums of the leaves of some trees at a time."""
    texts = [_tree(model, k, values, root)[0] for root in model["root"]]
    for start in range(0, len(texts), TREES_AT_ONCE):
        yield "\n      + ".join(texts[start : start + TREES_AT_ONCE])


def _tree(model: Mapping[str, Any], k: int, values: Sequence[str], node: int) -> tuple[str, int]:
    """A tree from a node on, and how many leaves it has; the larger side is behind ELSE."""
    right = model["right"][node]
    if model["column"][node] < 0:
        return literal(model["leaves"][right][k]), 1
    x, cut = values[model["column"][node]], model["cut"][node]
    (low, m), (high, n) = (_tree(model, k, values, side) for side in (node + 1, right))
    below = m <= n
    with_unknown = f" OR {x} IS NULL" if below == model["unknown_left"][node] else ""
    condition = f"{x} {'<=' if below else '>'} {literal(cut)}{with_unknown}"
    yes, no = (low, high) if below else (high, low)
    return chosen(condition, yes, no), m + n
