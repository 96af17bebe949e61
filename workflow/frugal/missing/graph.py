"""The m-graph: which features and indicators cause each missingness indicator, and how strongly."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True)
class IndicatorModel:
    """Logistic law of one indicator, p(R_j = 1 | parents) = σ(intercept + Σ β·x + Σ γ·r).

    Attributes:
        intercept: on the logit scale.
        values: weight of each parent column (X → R edges), by encoded column name; the column
            enters standardised if `standardise`, else in its own unit.
        indicators: weight of each parent indicator (R → R edges), by panel name.
        standardise: scale parent columns to mean 0 and standard deviation 1 of the full table.
        scaling: mean and standard deviation of each parent column in the full table, where some of
            its rows are asked about; None: those of the rows that are given.
    """

    intercept: float
    values: Mapping[str, float] = field(default_factory=dict)
    indicators: Mapping[str, float] = field(default_factory=dict)
    standardise: bool = False
    scaling: Mapping[str, tuple[float, float]] | None = None


@dataclass(frozen=True)
class MissingnessGraph:
    """Law of every panel that can be missing; panels not named here are always observed.

    Attributes:
        name: of the mechanism, for example `mnar`.
        indicators: panel name → law of its indicator.
    """

    name: str
    indicators: Mapping[str, IndicatorModel]

    def to_dict(self) -> dict[str, Any]:
        """A document that `from_dict` reads back."""
        document = asdict(self)
        for law in document["indicators"].values():
            if law["scaling"] is None:
                del law["scaling"]
        return document

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> "MissingnessGraph":
        """The graph that `to_dict` wrote."""
        laws = {
            panel: IndicatorModel(
                float(law["intercept"]),
                {column: float(weight) for column, weight in law["values"].items()},
                {cause: float(weight) for cause, weight in law["indicators"].items()},
                law["standardise"],
                law.get("scaling"),
            )
            for panel, law in document["indicators"].items()
        }
        return cls(document["name"], laws)
