"""Whatever a data file holds, its reader gives records or one sentence, never a traceback.

A corpus of small valid files is cut, overwritten and doubled at random; the readers must raise a
FrugalError of one line, or succeed.
"""

import contextlib
import gzip
from collections.abc import Callable
from pathlib import Path

import pytest
from frugal.core.errors import DataError, FrugalError
from frugal.data.description import Format
from frugal.data.packed import content_sha256_of
from frugal.data.parsing import RawTable, numbers_of, parse_files, text_column
from frugal.data.raw_cells import read_transport
from frugal.data.stays import read_archive, summarise
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.oracles.transport_writer import transport_file
from tests.unit.dataset_documents import CSV, document, load
from tests.unit.stay_files import archive, stay_text

ARFF = (
    "% note\n@relation r\n@attribute 'age' numeric\n@attribute smoker {yes,no}\n"
    "@attribute marker numeric\n@attribute scan numeric\n@attribute ill {0,1}\n@data\n"
    "54,yes,0.9,2,1\n61,'no',?,0,0\n"
)
XPT = transport_file({"SEQN": [1.0, 2.0, 3.0], "LBXFER": [15.3, float("nan"), -2.0]})
STAYS = {"set/7.txt": stay_text(7, ["00:10,K,4.1", "25:00,K,-1"]), "set/9.txt": stay_text(9, [])}


@st.composite
def damages(draw):
    """A change of bytes: cut, overwrite, insert, or repeat a stretch."""
    start = draw(st.floats(0, 1))
    kind = draw(st.sampled_from(["cut", "drop", "write", "insert", "repeat"]))
    content = draw(
        st.one_of(
            st.binary(max_size=12),
            st.sampled_from(
                [b"\0", b"\n", b",", b'"', b"'", b"\xff", b"\r", b"nan", b"1e999", b"{", b"@data\n"]
            ),
        )
    )
    return kind, start, draw(st.integers(0, 40)), content


def _damaged(whole: bytes, damage: tuple[str, float, int, bytes]) -> bytes:
    kind, share, length, content = damage
    at = int(share * len(whole))
    return {
        "cut": whole[:at],
        "drop": whole[:at] + whole[at + length :],
        "write": whole[:at] + content + whole[at + len(content) :],
        "insert": whole[:at] + content + whole[at:],
        "repeat": whole[:at] + whole[at : at + length] + whole[at:],
    }[kind]


def _is_one_sentence(error: FrugalError) -> bool:
    return "\n" not in str(error) and len(str(error)) < 1000


def _read(reader: Callable[[Path], object], path: Path, content: bytes) -> None:
    path.write_bytes(content)
    said = None
    try:
        reader(path)
    except FrugalError as error:
        said = error
    assert said is None or _is_one_sentence(said)


def _typed(raw: RawTable) -> None:
    for name in [str(c) for c in raw.frame.columns]:
        with contextlib.suppress(DataError):
            numbers_of(raw, name, ("", "?"), "columns")
        text_column(raw, name, ("", "?"), "columns")


FUZZ = settings(max_examples=60)


@FUZZ
@given(st.sampled_from(["csv", "arff"]), st.booleans(), st.lists(damages(), min_size=1, max_size=3))
@example("csv", True, [("insert", 0.5, 0, b'"')])
@example("csv", False, [("insert", 0.4, 0, b"\0")])
@example("csv", False, [("insert", 0.4, 0, b'"' + b"x" * 140_000)])
@example("arff", False, [("insert", 0.99, 0, b"'")])
def test_text_files(tmp_path, kind, packed, changes):
    content = document()
    if kind == "arff":
        content["source"]["format"] = {"kind": "arff", "missing": ["?"]}
    description = load(tmp_path, content)
    whole = (CSV if kind == "csv" else ARFF).encode()
    for change in changes:
        whole = _damaged(whole, change)
    whole = gzip.compress(whole) if packed else whole
    _read(lambda path: _typed(parse_files(description, {"small.csv": path})), tmp_path / "f", whole)


@FUZZ
@given(st.lists(damages(), min_size=1, max_size=3))
def test_transport_files(tmp_path, changes):
    whole = XPT
    for change in changes:
        whole = _damaged(whole, change)
    whole += b" " * (-len(whole) % 80)  # so that more than the length is tried
    _read(lambda path: read_transport(path, source="f.xpt"), tmp_path / "f.xpt", whole)


@FUZZ
@given(st.sampled_from(["archive", "member"]), st.lists(damages(), min_size=1, max_size=3))
def test_archives_of_stays(tmp_path, where, changes):
    path = tmp_path / "set.tar"
    members = dict(STAYS)
    for change in changes if where == "member" else ():
        members["set/7.txt"] = _damaged(members["set/7.txt"], change)
    whole = archive(path, members, mode="w").read_bytes()
    for change in changes if where == "archive" else ():
        whole = _damaged(whole, change)

    def read(file: Path) -> None:
        measured = read_archive(file, missing=("-1",), source="set.tar")
        summarise(measured, hours=24.0, summaries=())

    _read(read, path, whole)
    _read(lambda file: content_sha256_of(file, largest_bytes=10_000), path, whole)


@pytest.mark.parametrize(
    "content", [b"", b"\x1f\x8b", b"\x1f\x8b\x08\x00" + b"\0" * 9, b"\0" * 600]
)
def test_files_that_are_nothing(tmp_path, content):
    description = load(tmp_path, document())
    form = description.format
    assert isinstance(form, Format)
    for reader in (
        lambda p: parse_files(description, {"small.csv": p}),
        lambda p: read_transport(p, source="f"),
        lambda p: read_archive(p, missing=(), source="f"),
    ):
        path = tmp_path / "f"
        path.write_bytes(content)
        with pytest.raises(FrugalError) as caught:
            reader(path)
        assert "\n" not in str(caught.value)
