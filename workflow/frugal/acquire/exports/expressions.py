"""Steps of rules as expressions of another language, nested where a step is used once.

Conditions are negated by turning their comparisons round, since the negation of a comparison with
an unknown value differs from one language to the next. Knows no language.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

from frugal.acquire.exports.formulas import operands

_TURNED = {"<": ">=", "<=": ">", "=": "<>"}


class Expressions(ABC):
    """Expressions of the steps of a document of rules.

    Attributes:
        rules: the document.
        names: step → name of a value that was computed before; of a condition, 1 or 0.
    """

    guards = False  # whether a comparison with an unknown value may be true
    both, either = " AND ", " OR "

    def __init__(self, rules: Mapping[str, Any]) -> None:
        self.rules = rules
        self.steps: Sequence[Sequence[Any]] = rules["steps"]
        self.names: dict[int, str] = {}
        self.may_lack: list[bool] = []
        for step in self.steps:
            parts = () if step[0] == "trees" else operands(step)
            lacks = step[0] == "unknown" or any(
                self.may_lack[at] for at in (parts[1:] if step[0] == "if" else parts)
            )
            cell = step[0] == "cell" and step[1] not in rules["required"]
            self.may_lack.append(lacks or cell)

    @abstractmethod
    def literal(self, number: float | int) -> str:
        """A number."""

    @abstractmethod
    def cell(self, column: int) -> str:
        """The number of a column."""

    @abstractmethod
    def level(self, column: int, level: str, holds: bool) -> str:
        """Whether a column has a level, or has none or another one."""

    @abstractmethod
    def has(self, column: int, holds: bool) -> str:
        """Whether a column has a value, or none."""

    @abstractmethod
    def chosen(self, condition: str, yes: str, no: str) -> str:
        """One of two numbers."""

    @abstractmethod
    def trees(self, at: int) -> str:
        """A sum of leaves."""

    @abstractmethod
    def unknown(self) -> str:
        """No value."""

    @abstractmethod
    def is_unknown(self, text: str, holds: bool) -> str:
        """Whether an expression has no value, or one."""

    def single(self, text: str) -> str:
        """The nearest number of single precision: the upper half of the digits."""
        split = self.literal(2.0**29 + 1)
        return f"({text} * {split} - ({text} * {split} - {text}))"

    def number(self, at: int) -> str:
        """The expression of a number."""
        op, *parts = self.steps[at]
        if at in self.names:
            return self.names[at]
        if op in ("number", "cell"):
            return (self.literal if op == "number" else self.cell)(parts[0])
        if op == "unknown":
            return self.unknown()
        if op == "if":
            condition, yes, no = parts
            return self.chosen(self.where(condition), self.number(yes), self.number(no))
        if op == "trees":
            return self.trees(at)
        texts = [self.number(part) for part in parts]
        if op in ("single", "exp"):
            return self.single(*texts) if op == "single" else f"EXP({texts[0]})"
        return f"({f' {op} '.join(texts)})"

    def where(self, at: int, holds: bool = True) -> str:
        """The expression of a condition, or of its opposite."""
        op, *parts = self.steps[at]
        if at in self.names:
            return f"{self.names[at]} = {int(holds)}"
        if op == "truth":
            return "1 = 1" if parts[0] == holds else "1 = 0"
        if op == "not":
            return self.where(parts[0], not holds)
        if op in ("and", "or"):
            word = self.both if (op == "and") == holds else self.either
            return f"({word.join(self.where(part, holds) for part in parts)})"
        if op == "known":
            return self.has(parts[0], holds)
        if op == "is":
            return self.level(*parts, holds)
        left, right = texts = [self.number(part) for part in parts]
        compared = f"{left} {op if holds else _TURNED[op]} {right}"
        lacking = [
            self.is_unknown(text, not holds)
            for text, part in zip(texts, parts, strict=True)
            if self.may_lack[part] and (self.guards or not holds)
        ]
        joined = (self.both if holds else self.either).join([*lacking, compared])
        return f"({joined})" if lacking else joined
