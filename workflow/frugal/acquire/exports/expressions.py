"""Steps of rules as expressions of another language, nested where a step is used once.

Conditions are negated by turning their comparisons round, since the negation of a comparison with
an unknown value differs from one language to the next. Knows no language.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from frugal.acquire.exports.formulas import operands

_TURNED = {"<": ">=", "<=": ">", "=": "<>"}


@dataclass(frozen=True)
class Language:
    """How a language writes.

    Attributes:
        number: of a constant.
        cell: of a column.
        level: of a column and a level, whether it has it, or has another or none.
        choice: of a condition and two numbers.
        no_value: in place of a number.
        lacks: behind an expression: that it has a value; that it has none.
        joins: of conditions: and; or.
        guards: whether a comparison with an unknown value may be true.
    """

    number: Callable[[float], str]
    cell: Callable[[int], str]
    level: Callable[[int, str, bool], str]
    choice: Callable[[str, str, str], str]
    no_value: str
    lacks: tuple[str, str]
    joins: tuple[str, str] = (" AND ", " OR ")
    guards: bool = False


class Expressions:
    """Expressions of the steps of a document of rules.

    Attributes:
        names: step → name of a value that was computed before; of a condition, 1 or 0.
    """

    def __init__(self, rules: Mapping[str, Any], language: Language) -> None:
        self.steps: Sequence[Sequence[Any]] = rules["steps"]
        self.language = language
        self.names: dict[int, str] = {}
        self._may_lack: list[bool] = []
        for step in self.steps:
            parts = () if step[0] == "trees" else operands(step)[int(step[0] == "if") :]
            cell = step[0] == "cell" and step[1] not in rules["required"]
            lacks = step[0] == "unknown" or any(self._may_lack[at] for at in parts)
            self._may_lack.append(cell or lacks)

    def number(self, at: int) -> str:
        """The expression of a number."""
        op, *parts = self.steps[at]
        to = self.language
        if at in self.names:
            return self.names[at]
        if op in ("number", "cell"):
            return (to.number if op == "number" else to.cell)(parts[0])
        if op == "unknown":
            return to.no_value
        if op == "if":
            return to.choice(self.where(parts[0]), *map(self.number, parts[1:]))
        texts = [*map(self.number, parts)]
        if op == "single":  # the upper half of the digits
            x, split = texts[0], to.number(2.0**29 + 1)
            return f"({x} * {split} - ({x} * {split} - {x}))"
        return f"EXP({texts[0]})" if op == "exp" else f"({f' {op} '.join(texts)})"

    def where(self, at: int, holds: bool = True) -> str:
        """The expression of a condition, or of its opposite."""
        op, *parts = self.steps[at]
        to = self.language
        if at in self.names:
            return f"{self.names[at]} = {int(holds)}"
        if op == "truth":
            return "1 = 1" if parts[0] == holds else "1 = 0"
        if op == "not":
            return self.where(parts[0], not holds)
        if op in ("and", "or"):
            word = to.joins[(op == "or") == holds]
            return f"({word.join(self.where(part, holds) for part in parts)})"
        if op == "known":
            return to.cell(parts[0]) + to.lacks[not holds]
        if op == "is":
            return to.level(parts[0], parts[1], holds)
        texts = [*map(self.number, parts)]
        guarded = [self._may_lack[part] and (to.guards or not holds) for part in parts]
        pairs = zip(texts, guarded, strict=True)
        tests = [text + to.lacks[not holds] for text, guard in pairs if guard]
        tests.append(f" {op if holds else _TURNED[op]} ".join(texts))
        return tests[0] if len(tests) == 1 else f"({to.joins[not holds].join(tests)})"
