"""Archives of stays become one record per stay; each badly made member is named with its line."""

import numpy as np
import pytest
from frugal.config.dataset import StaySummary
from frugal.core.errors import ConfigError, DataError, FrugalError
from frugal.data.stays import read_archive, read_stays, summarise
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.dataset_documents import document, load
from tests.unit.stay_files import HEADER, archive, stay_text

TWO = {
    "set/7.txt": stay_text(
        7, ["00:00,Height,-1", "01:30,K,4.1", "00:30,K,3.9", "00:30,K,5.0", "25:00,K,6.2"]
    ),
    "set/9.txt": stay_text(9, ["00:10,Height,170", "30:00,K,2.5", "31:00,,9.9"]),
}


def _summary(name: str, measurement: str, statistic: str, start: float, end: float) -> StaySummary:
    return StaySummary.read(
        {
            "name": name,
            "measurement": measurement,
            "statistic": statistic,
            "from_hour": start,
            "to_hour": end,
        },
        where="small.yaml",
    )


def _measured(tmp_path, members, **kwargs):
    path = archive(tmp_path / "set.tar.gz", members, **kwargs)
    return read_archive(path, missing=("-1",), source="set.tar.gz")


def test_first_lowest_highest(tmp_path):
    measured = _measured(tmp_path, TWO)
    assert measured.parameters == ("Height", "K", "RecordID")
    wanted = (
        _summary("low", "K", "lowest", 0.0, 24.0),
        _summary("high", "K", "highest", 24.0, 48.0),
        _summary("later", "K", "first", 1.0, 48.0),
    )
    frame = summarise(measured, hours=24.0, summaries=wanted)
    assert frame["RecordID"].tolist() == [7, 9]
    nan = float("nan")
    for name, expected in {
        "K": [3.9, nan],
        "Height": [nan, 170],
        "low": [3.9, nan],
        "high": [6.2, 2.5],
        "later": [4.1, 2.5],
    }.items():
        np.testing.assert_array_equal(frame[name], expected)


@st.composite
def stays(draw):
    """Record → measurements (minute, name, value), in any order."""
    line = st.tuples(
        st.integers(0, 47 * 60), st.sampled_from("AB"), st.sampled_from([-1, 0, 1.5, 2, 7.25])
    )
    records = draw(st.lists(st.integers(1, 999), min_size=1, max_size=4, unique=True))
    return {r: draw(st.lists(line, max_size=8)) for r in records}


@settings(max_examples=40)
@given(stays(), st.integers(0, 46), st.integers(1, 40))
def test_agrees_with_going_through_the_lines(tmp_path_factory, drawn, start, length):
    members = {
        f"{r}.txt": stay_text(
            r,
            ["00:00,A,-1", "00:00,B,-1", *(f"{m // 60:02}:{m % 60:02},{p},{v}" for m, p, v in ls)],
        )
        for r, ls in drawn.items()
    }
    measured = _measured(tmp_path_factory.mktemp("stays"), members)
    kinds = ("first", "lowest", "highest")
    wanted = tuple(_summary(k, "A", k, float(start), float(start + length)) for k in kinds)
    frame = summarise(measured, hours=24.0, summaries=wanted)
    for row, lines in zip(frame.itertuples(index=False), drawn.values(), strict=True):
        inside = [
            (m, v)
            for m, p, v in lines
            if p == "A" and v != -1 and start * 60 <= m < (start + length) * 60
        ]
        values = [v for _, v in inside]
        expected = {
            "first": next((v for m, v in inside if m == min(i for i, _ in inside)), None),
            "lowest": min(values, default=None),
            "highest": max(values, default=None),
        }
        for kind in kinds:
            found = getattr(row, kind)
            assert (np.isnan(found) and expected[kind] is None) or found == expected[kind]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "does not begin with the line Time"),
        (b"Time;Parameter;Value\n", "Time,Parameter,Value, which is expected"),
        (stay_text(8, []), "RecordID is 8"),
        (HEADER.encode() + b"00:00,Age,50\n", "RecordID is none"),
        (stay_text(7, ["00:10,K"]), r"7\.txt, line 3 has 2 cells"),
        (stay_text(7, ["00:10,K,4,5"]), "line 3 has 4 cells"),
        (stay_text(7, ["00:10,K", "00:10,K,4,5"]), "line 3 has 2 cells"),
        (stay_text(7, [""]), "line 3 has 1 cells"),
        (HEADER.encode() + b"7\n7\n", "line 2 has 1 cells"),
        (stay_text(7, ["00:10,K,high"]), "line 3: value is 'high', which is not a number"),
        (stay_text(7, ["00:10,K,inf"]), "line 3: value is 'inf'"),
        (stay_text(7, ["00:10,K,4", "0:70,K,4"]), "line 4: time is '0:70'"),
        (stay_text(7, ["noon,K,4"]), "time is 'noon'"),
        (stay_text(7, []) + HEADER.encode(), "twice"),
    ],
)
def test_broken_member_is_one_sentence(tmp_path, content, words):
    with pytest.raises(DataError, match=words) as caught:
        _measured(tmp_path, {"set/5.txt": stay_text(5, []), "set/7.txt": content})
    assert "set.tar.gz" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_windows_line_ends_and_no_final_one(tmp_path):
    content = TWO["set/7.txt"].replace(b"\n", b"\r\n")[:-2]
    frame = summarise(_measured(tmp_path, {"set/7.txt": content}), hours=24.0, summaries=())
    assert frame["K"].tolist() == [3.9]


def test_unknown_measurement_of_a_summary(tmp_path):
    wanted = (_summary("low", "Na", "lowest", 0.0, 24.0),)
    with pytest.raises(ConfigError, match=r"'Na'; the files have Height, K, RecordID"):
        summarise(_measured(tmp_path, TWO), hours=24.0, summaries=wanted)


def test_no_stay_at_all(tmp_path):
    with pytest.raises(DataError, match="holds no file of measurements"):
        _measured(tmp_path, {"set/readme.md": b"hello"})


def _described(tmp_path, outcomes: str):
    content = document()
    content["source"]["files"] = [{"name": "set.tar.gz"}, {"name": "outcomes.txt"}]
    content["source"]["format"] = {"kind": "stays", "missing": ["-1"], "hours": 24, "summaries": []}
    archive(tmp_path / "set.tar.gz", TWO)
    (tmp_path / "outcomes.txt").write_text(outcomes)
    names = ("set.tar.gz", "outcomes.txt")
    return load(tmp_path, content), {n: tmp_path / n for n in names}


def test_outcomes_stand_next_to_their_stays(tmp_path):
    raw = read_stays(*_described(tmp_path, "RecordID,Died\n9,1\n7,0\n"))
    assert raw.frame.read("RecordID").to_pylist() == [7, 9]
    assert raw.frame.read("Died").to_pylist() == [0, 1]
    assert raw.place(1) == "set.tar.gz, line 2"


@pytest.mark.parametrize(
    ("outcomes", "words"),
    [
        ("", "outcomes.txt is empty"),
        ("Record,Died\n9,1\n", "no column 'RecordID'"),
        ("RecordID,Died\n9,1\n9,0\n", "line 2: column 'RecordID' holds a value twice"),
        ("RecordID,Died\n9,yes\n", "line 2: column 'Died' holds 'yes', which is not a number"),
    ],
)
def test_broken_outcomes_are_one_sentence(tmp_path, outcomes, words):
    with pytest.raises(FrugalError, match=words):
        read_stays(*_described(tmp_path, outcomes))
