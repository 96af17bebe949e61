"""Streams of new cases against the records: false alarms over all looks, and planted shifts.

400 streams of 800 cases (six looks) of two numbers, a text and a code that follow the records'
distribution: an alarm in at most 1 % of them, so that 12 alarms or more have a probability below
0.001. Of 50 streams whose first number is shifted by 0.5 standard deviations, or whose text has a
level twice as often, all but 5 are found within 400 cases.
"""

import numpy as np
import pytest
from frugal.core.errors import DataError
from frugal.data.monitoring import PARTS, bins_of, counts_of, edges_of, first_shift
from scipy.stats import chi2_contingency

CODES, LEVELS = [-9.0], ["a", "b", "c"]


def stream(rng, n, shift=0.0, level=0.2):
    """Encoded columns: a number, one with a code, a text."""
    text = rng.choice(3, n, p=[level, 0.5, 0.5 - level])
    code = rng.random(n) < 0.1
    second = np.where(code, 0.0, rng.exponential(size=n))
    return np.column_stack([rng.normal(size=n) + shift, second, code, np.eye(3)[text]])


def described(records):
    """The part of a description of cases that is read."""
    columns = []
    for name, codes, levels, own in (
        ("age", [], None, records[:, :1]),
        ("dose", CODES, None, records[:, 1:3]),
        ("job", [], LEVELS, records[:, 3:]),
    ):
        numeric = levels is None
        regular = own[~(own[:, 1:] == 1).any(axis=1), 0]
        edges = edges_of(regular) if numeric else []
        counts = counts_of(own, edges, numeric=numeric).astype(float).tolist()
        columns.append(
            {"name": name, "codes": codes, "levels": levels, "edges": edges, "counts": counts}
        )
    return {"columns": columns}


def test_streams_like_the_records_raise_an_alarm_in_one_of_a_hundred_at_most():
    rng = np.random.default_rng(48)
    alarms = [
        first_shift(described(stream(rng, 1_000)), stream(rng, 800)) is not None for _ in range(400)
    ]
    assert sum(alarms) < 12


@pytest.mark.parametrize(("shift", "level"), [(0.5, 0.2), (0.0, 0.4)])
def test_planted_shifts_are_found(shift, level):
    rng = np.random.default_rng(49)
    found = [
        first_shift(described(stream(rng, 1_000)), stream(rng, 400, shift, level))
        for _ in range(50)
    ]
    column = "age" if shift else "job"
    assert sum(alarm is not None and alarm.column == column for alarm in found) >= 45
    first = next(alarm for alarm in found if alarm is not None)
    assert first.cases in (25, 50, 100, 200, 400)
    assert abs(first.share - first.recorded) > 0.05
    assert first.bin.startswith(column)


def test_a_late_shift_is_found_in_the_latest_half():
    rng = np.random.default_rng(51)
    found = 0
    for _ in range(30):
        early, late = stream(rng, 400), stream(rng, 400, 1.0)
        alarm = first_shift(described(stream(rng, 1_000)), np.vstack([early, late]))
        found += alarm is not None and (alarm.column, alarm.cases, alarm.latest) == (
            "age",
            800,
            True,
        )
    assert found >= 27


def test_the_first_look_is_pearsons_test():
    rng = np.random.default_rng(50)
    records, cases = stream(rng, 4_000), stream(rng, 3_000, 2.0)
    document = described(records)
    shift = first_shift(document, cases)
    assert shift is not None
    assert (shift.column, shift.cases) == ("age", 25)
    edges = document["columns"][0]["edges"]
    binned = [np.histogram(x, [-np.inf, *edges, np.inf])[0] for x in (records[:, 0], cases[:25, 0])]
    assert [len(edges) + 1, binned[0].tolist()] == [PARTS, document["columns"][0]["counts"]]
    pooled, group = [], np.zeros(2)
    for pair in zip(*binned, strict=True):
        group = group + pair
        if group.sum() * 25 / 4_025 >= 5:
            pooled.append(group)
            group = np.zeros(2)
    pooled[-1] = pooled[-1] + group
    _, expected, freedom, _ = chi2_contingency(np.transpose(pooled), correction=False)
    assert freedom == len(pooled) - 1
    assert shift.p_value == pytest.approx(expected, rel=1e-9)


def test_codes_levels_and_missing_values_have_bins():
    cells = np.array([[np.nan, 0.0], [0.0, 1.0], [0.5, 0.0], [2.0, 0.0]])
    assert bins_of(cells, [1.0], numeric=True).tolist() == [-1, 2, 0, 1]
    texts = np.array([[0.0, 1.0], [0.0, 0.0], [1.0, 0.0]])
    assert bins_of(texts, [], numeric=False).tolist() == [1, 2, 0]


def test_few_cases_and_no_known_column_are_refused():
    document = described(stream(np.random.default_rng(1), 100))
    with pytest.raises(DataError, match="the file has 3"):
        first_shift(document, stream(np.random.default_rng(2), 3))
    document["columns"] = [column | {"counts": []} for column in document["columns"]]
    with pytest.raises(DataError, match="known at the start, and this policy has none"):
        first_shift(document, stream(np.random.default_rng(2), 30))
