"""Regions without records in words: conditions by names and levels, and what to record."""

import numpy as np
import pytest
from frugal.core.region_words import TRIED, condition_text, hole_sentence, records_needed
from frugal.core.regions import Interval

NAMES = [("sex", ("m", "f")), ("age", None), ("ward", "3"), ("ward", "4"), ("smoker", None)]


@pytest.mark.parametrize(
    ("conditions", "text"),
    [
        ([(0, 1, 1)], "sex f"),
        ([(0, 0.5, np.inf)], "sex f"),  # a split of a tree
        ([(0, -np.inf, 0.5)], "sex m"),
        ([(1, 67.5, np.inf)], "age from 67.5"),
        ([(1, -np.inf, 30)], "age up to 30"),
        ([(1, 40, 55)], "age 40 to 55"),
        ([(1, 40, np.inf), (1, 20, 55)], "age 40 to 55"),
        ([(1, 12345678, np.inf)], "age from 12345678"),
        ([(1, -2.103851265, 0.25)], "age -2.104 to 0.25"),
        ([(4, 1, 1)], "smoker 1"),
        ([(2, 1, 1)], "ward 3"),
        ([(2, 0, 0)], "ward other than 3"),
        ([(2, 0, 0), (3, 0, 0)], "ward other than 3 or 4"),
        ([(3, 0, 0), (2, 1, 1)], "ward 3"),
        ([(2, 1, 1), (1, -np.inf, 30)], "ward 3 and age up to 30"),
        ([(1, np.nan, np.nan)], "missing age"),
        ([(1, -np.inf, np.inf)], "known age"),
        ([], "all"),
    ],
)
def test_conditions_are_worded_by_names_and_levels(conditions, text):
    intervals = [Interval(column, float(low), float(high)) for column, low, high in conditions]
    assert condition_text(intervals, lambda k: NAMES[k]) == text


def test_a_sentence_says_what_was_not_recorded_for_whom_and_what_to_record():
    assert hole_sentence("crp", "sex f", 0, 426, 30, total=800) == (
        "crp was never recorded for sex f (426 of 800): it is not ordered there; to know whether "
        "it would pay, record it for about 30 of them."
    )
    assert hole_sentence("crp", "sex f", 4, 426, records_needed(4)) == (
        "crp was recorded for only 4 of 426 with sex f: it is not ordered there; to know whether "
        "it would pay, record it for about 26 more of them."
    )
    assert hole_sentence("crp", "sex f", 0, 12, 30).endswith("for about 30 like them.")
    assert hole_sentence("drug B", "sex f", 0, 426, 30, words=TRIED).startswith(
        "drug B was never tried for sex f (426): it is not advised there; "
    )
