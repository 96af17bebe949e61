"""Rows without a label: how the others represent them, and under which assumption."""

from typing import Any

from frugal.answer.evidence import Judged
from frugal.answer.part import Part, Shown
from frugal.answer.words import SHOWN, listed
from frugal.judge.intervals import effective_sample_size


def _content(judged: Judged) -> dict[str, Any] | None:
    """How many rows lack a label, and its causes; None where all have one."""
    labels, data = judged.evidence.assumed.labels, judged.evidence.table
    if labels is None:
        return None
    return {
        "missing": int((~labels.present).sum()),
        "effective_rows": effective_sample_size(labels.weight),
        "least_chance": float(labels.chance.min()),
        "contradicted": [data.columns[j] for j in labels.contradicted],
    }


def _rests(shown: Shown) -> list[str]:
    """Rows without a label, and under which assumption the others represent them."""
    labels = shown.choice["labels"]
    if labels is None:
        return []
    refuted = labels["contradicted"]
    return [
        f"{labels['missing']:,} rows lack a label; the others are weighted by the probability of "
        "having one, assumed to depend only on columns that every row has and on which panels are "
        "recorded"
        + (f" (the records contradict it: {listed(refuted[:SHOWN])})." if refuted else ".")
    ]


LABELS = Part(name="labels", place=10, content=_content, rests=_rests)
