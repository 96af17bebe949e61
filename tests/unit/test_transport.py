"""SAS transport files: numbers, missing values, zeros; a damaged file is one sentence."""

import gzip

import numpy as np
import pytest
from frugal.core.errors import DataError
from frugal.data.raw_cells import read_transport
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.oracles.transport_writer import smallest_number, transport_file

NAN = float("nan")
COLUMNS = {"SEQN": [1.0, 2.0, 3.0], "LBXFER": [15.3, NAN, -0.125]}


def _read(tmp_path, content):
    path = tmp_path / "P_X.XPT"
    path.write_bytes(content)
    return read_transport(path, source="P_X.XPT")


def test_numbers_and_gaps_arrive(tmp_path):
    frame = _read(tmp_path, transport_file(COLUMNS))
    assert list(frame.columns) == list(COLUMNS)
    np.testing.assert_allclose(frame["LBXFER"], COLUMNS["LBXFER"], rtol=1e-15)
    assert frame["SEQN"].tolist() == [1.0, 2.0, 3.0]
    packed = _read(tmp_path, gzip.compress(transport_file(COLUMNS)))
    assert packed.equals(frame)


def test_smallest_number_is_zero(tmp_path):
    frame = _read(tmp_path, transport_file({"A": [smallest_number(), 0.0, 1e-60]}))
    assert frame["A"].tolist()[:2] == [0.0, 0.0]
    assert frame["A"][2] == pytest.approx(1e-60)


@settings(max_examples=30)
@given(st.lists(st.floats(-1e9, 1e9, allow_subnormal=False), min_size=1, max_size=12))
def test_any_number_survives_to_56_bits(tmp_path_factory, values):
    values = [0.0 if abs(v) < 1e-60 else v for v in values]
    content = transport_file({"A": values, "B": [1.0] * len(values)})
    frame = _read(tmp_path_factory.mktemp("xpt"), content)
    np.testing.assert_allclose(frame["A"].to_numpy()[: len(values)], values, rtol=1e-15)


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda c: b"", "does not begin like"),
        (lambda c: b"SEQN,LBXFER\n1,15\n", "does not begin like a SAS transport"),
        (lambda c: c.replace(b"LIBRARY", b"LIBV8  "), "version 5"),
        (lambda c: c[:-7], "cut off or damaged"),
        (lambda c: c[: 80 * 8], "cannot be read|no record"),
        (lambda c: c.replace(b"00000000020000", b"0000000xx20000"), "is damaged"),
        (lambda c: c.replace(b"LBXFER  ", b"SEQN    "), "two columns named 'SEQN'"),
    ],
)
def test_broken_file_is_one_sentence(tmp_path, spoil, words):
    with pytest.raises(DataError, match=words) as caught:
        _read(tmp_path, spoil(transport_file(COLUMNS)))
    assert "P_X.XPT" in str(caught.value)
    assert "\n" not in str(caught.value)
