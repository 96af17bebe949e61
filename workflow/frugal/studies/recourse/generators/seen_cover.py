"""The kind `seen_cover`: the cheapest explanation seen to cover the unit's needs."""

import numpy as np

from frugal.core.stored import Array
from frugal.studies.recourse.generator import GeneratorKind, Learned
from frugal.studies.recourse.instance import CoverInstance, LabelledUnits
from frugal.studies.recourse.learned.answers import Answers, AnswerUnits, of_explanations
from frugal.studies.recourse.learned.cover_scores import NamedSets, cheapest_seen_cover
from frugal.studies.recourse.learned.stored import Arrays, StoredGenerator


def fit(settings, units: LabelledUnits, rng) -> Learned:
    """Record the needs that each explanation covers, and for which groups."""
    named = NamedSets.of(units)
    return {
        "covered": named.seen_in(units.features, np.arange(len(units))),
        "cost": named.cost,
        "open_to": named.open_to(units),
        "explanations": named.explanations,
    }, ()


def check(stored: StoredGenerator) -> None:
    """Explanations with the needs seen to be covered."""
    stored.require(
        {
            "covered": Array("bool", ("k", stored.features)),
            "cost": Array("float64", ("k",), low=0),
            "open_to": stored.open_to,
            "explanations": stored.explanations,
        }
    )


def answerer(arrays: Arrays, instance: CoverInstance) -> AnswerUnits:
    """Look up the cheapest."""

    def answer(features: np.ndarray, group: np.ndarray) -> Answers:
        open_to = arrays["open_to"].astype(bool)
        best, sure = cheapest_seen_cover(
            features, group, arrays["covered"], arrays["cost"], open_to
        )
        has_explanation = np.asarray(open_to[group].any(axis=1))
        return of_explanations(
            arrays["explanations"], best, sure.astype(np.float64), has_explanation
        )

    return answer


SEEN_COVER = GeneratorKind(
    name="seen_cover",
    place=60,
    label="named, closed form",
    look=("sky", "o", False),
    fit=fit,
    check=check,
    answerer=answerer,
    settings={},
    doc="the cheapest explanation that training units show to cover the unit's needs",
)
