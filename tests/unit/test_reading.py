"""Files read in blocks hold what a reader finds that goes row by row, cell by cell, to the byte."""

import contextlib
import gzip
import struct
import sys

import numpy as np
import pytest
from frugal.core.errors import DataError
from frugal.data import records
from frugal.data.description import Format
from frugal.data.parsing import RawTable, numbers_of, text_column
from frugal.data.records import parse_file
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.oracles.slow_records import SlowError, slow_numbers, slow_records, slow_text

LONG = "9" * 200_000
BLANK = "\u00a0\u2003\x1c\x85"
CELLS = ["", " ", "0", "-0", "-0.0", "007", "+5", " 5", "5 ", "\t5", "1.", ".5", "-.5e-3", "1e5"]
CELLS += ["1E+5", "1e", ".", "1,000", '"1,000"', "1 000", "1_000", "0.1", "0.30000000000000004"]
CELLS += ["2.2250738585072011e-308", "5e-324", "1e-400", "1e400", "123456789012345678901234567890"]
CELLS += ["9007199254740993", "18446744073709551616", "0" * 40 + "1", "0." + "3" * 60, "inf"]
CELLS += ["-Inf", "Infinity", "nan", "NaN", "NA", "?", "-9", "-9.0", "0x10", "True", "\uff11"]
CELLS += ["n\u00e4he", "\U0001f600", BLANK + "x" + BLANK, '"quoted"', '"a ""b"" c"', '""', '" 7 "']
CELLS += ['"two\nlines"', '"cut', 'a"b', '"a"b', ' "7"', "it's", "#N/A", "# 1", "\0", "a\x0bb"]
CELLS += ["\x0c", "\u2028", "{1}"]
ENDS = ["\n", "\r\n", "\r"]
NAMES = ["a", "b", "ä ", "a", "#c", '"d,e"', ""]
lines = st.lists(st.sampled_from(CELLS), min_size=1, max_size=4)
rows = st.lists(
    st.sampled_from(["1", "2.5", "-3e2", "", "NA", "x y", '"q"']), min_size=3, max_size=3
)


def _form(**changed) -> Format:
    named = {"separator": ",", "comment": None, "strip": True, "header": None, "encoding": "utf-8"}
    named |= changed
    return Format("csv", ("",), personal=named.pop("personal", ()), **named)


def _read(path, content: bytes, form: Format):
    """Names, rows and lines as Frugal and the slow reader find them, or their sentences."""
    path.write_bytes(content)
    try:
        cells, line = parse_file(path, form, source="f")
        frame = cells.frame()
        ours = list(frame.columns), [list(r) for r in frame.itertuples(index=False)], line.tolist()
    except DataError as error:
        ours = str(error)
    try:
        text = slow_text(content, form.encoding, path=path)
        slow = slow_records(
            text,
            separator=form.separator,
            comment=form.comment,
            strip=form.strip,
            header=form.header,
            personal=form.personal,
            skip_lines=form.skip_lines,
        )
    except SlowError as error:
        slow = str(error)
    return ours, slow


def _same(ours, slow) -> bool:
    return ours.startswith(slow) if isinstance(slow, str) else ours == slow


@contextlib.contextmanager
def _blocks_of(characters: int):
    whole, records._BLOCK = records._BLOCK, characters
    try:
        yield
    finally:
        records._BLOCK = whole


@settings(max_examples=600)
@given(
    head=st.lists(st.sampled_from(NAMES), min_size=3, max_size=3, unique=True),
    body=st.lists(st.one_of(rows, rows, rows, lines), max_size=12),
    separator=st.sampled_from([",", ",", ";", "\t", " ", "\u00a7"]),
    end=st.sampled_from(ENDS),
    comment=st.sampled_from([None, None, "#"]),
    strip=st.booleans(),
    block=st.sampled_from([1, 7, 40, 1 << 22]),
    last=st.booleans(),
    encoding=st.sampled_from(["utf-8", "utf-16", "utf-8-sig"]),
    packed=st.booleans(),
    skip=st.sampled_from([0, 0, 0, 1, 3]),
)
@example(
    ["a", "b", "c"],
    [["1", "2", "3"], [""], ["4", "5", "6"]],
    ",",
    "\n",
    None,
    True,
    7,
    True,
    "utf-8",
    False,
    0,
)
def test_any_file_is_read_as_row_by_row(
    tmp_path, head, body, separator, end, comment, strip, block, last, encoding, packed, skip
):
    text = end.join(separator.join(cells) for cells in [head, *body]) + (end if last else "")
    content = text.encode(encoding)
    form = _form(
        separator=separator,
        comment=comment,
        strip=strip,
        skip_lines=skip,
        encoding="utf-16" if encoding == "utf-16" else "utf-8",
    )
    with _blocks_of(block):
        ours, slow = _read(tmp_path / "f", gzip.compress(content) if packed else content, form)
    assert _same(ours, slow), (ours, slow)


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("a\n1\n\n2\n", _form()),
        ("a\n1\n  \n2\n", _form()),
        ("a\n1\n  \n2\n", _form(strip=False)),
        ('a\n1\n""\n2\n', _form()),
        ("a,b\n1,2\n" * 3, _form()),
        ("a,a\n1,2\n", _form()),
        ("a,b\n1,2\n3,4\n5\n6,7\n", _form()),
        ("a,b\n1,2\n\n\n3,4,5\n", _form()),
        ('a,b\n1,2\n3,"4\n5,6\n', _form()),
        (f"a,b\n1,2\n3,{LONG}\n", _form()),
        (f"a,b\n1,2\n3,{LONG[:131_072]}\n", _form()),
        ('a,b\n1,"x\ny"\n3,4\n', _form()),
        ("a,b\n1,2\n#3,4\n", _form(comment="#")),
        ("a,b\n1,2\n# 3 and 4\n5,6\n", _form(comment="#")),
        ("# x\n1,2\n3,4\n#N/A,5\n", _form(comment="#", header=("a", "b"))),
        ("# x,y\n1,2\n3,4\n", _form(comment="#", header=("a", "b"))),
        ("name,b\nAnn,2\nBob,3\n", _form(personal=("name",))),
        ("a,b\n", _form()),
        ("", _form()),
        ("a,b\n1,2\u2028\n3,\x1c4\n", _form()),
        ("a,b\n1,2\u2028\n3,\x1c4\n", _form(strip=False)),
        ('a,b\n"1","2"\n"3","4 ""x"""\n', _form()),
        ('a,b\n"1","2"\n"3", "4"\n', _form()),
        ('a,b\n"1","2"\n"3",4"5"\n', _form(strip=False)),
        ("a,b\n1,2\n\ufeff3,4\n", _form()),
        ("\ufeff\ufeff1,2\n3,4\n", _form(header=("a", "b"))),
    ],
)
@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("block", [1, 5, 1 << 22])
def test_kinds_of_files(tmp_path, text, form, end, block):
    with _blocks_of(block):
        ours, slow = _read(tmp_path / "f", text.replace("\n", end).encode(), form)
    assert _same(ours, slow), (ours, slow)


def test_a_plain_file_goes_to_arrow_as_a_whole(tmp_path, monkeypatch):
    """Quotes, blanks and other letters are plain, too: no line of them is read on its own."""
    monkeypatch.setattr(records._Records, "_line_by_line", _header_only)
    text = "a,b\n" + '1,"x, ""y"""\n 2 ,näh\n' * 1000
    path = tmp_path / "f"
    path.write_text(text, encoding="utf-8")
    cells, line = parse_file(path, _form(), source="f")
    frame = cells.frame()
    assert frame["a"].tolist() == ["1", "2"] * 1000
    assert frame["b"].tolist() == ['x, "y"', "näh"] * 1000
    assert line.tolist() == list(range(2, 2002))


def _header_only(self, given_lines):
    assert self.number == 0, "bug: a plain block is read line by line"
    self.number = 1
    yield 1, ("a", "b")


def test_another_encoding_is_stated_first_and_with_its_place(tmp_path):
    content = b"a,b\n1\n" + b"2,3\n" * 3_000_000 + b"4,\xff\n"
    ours, slow = _read(tmp_path / "f", content, _form())
    assert ours == slow
    assert f"at byte {len(content) - 2}" in ours


def test_a_damaged_file_is_stated_first(tmp_path):
    path = tmp_path / "f.gz"
    path.write_bytes(
        gzip.compress(b"a,b\n1\n" + np.random.default_rng(1).bytes(9000).hex().encode())[:-20]
    )
    with pytest.raises(DataError, match=r"f\.gz cannot be read: Compressed file ended"):
        parse_file(path, _form(), source="f")


def test_blanks_are_those_of_python():
    assert set(records._BLANKS) == {c for c in map(chr, range(sys.maxunicode + 1)) if c.isspace()}


def _column(tmp_path, cells: list[str]) -> RawTable:
    path = tmp_path / "f"
    path.write_text("x\ty\n" + "".join(f"{c}\t1\n" for c in cells), encoding="utf-8")
    read, line = parse_file(path, _form(separator="\t", strip=False), source="f")
    return RawTable(read, np.full(len(read), "f"), line, np.full(len(read), ""))


def test_the_largest_numbers_of_single_precision_are_taken(tmp_path):
    ends = [sign * float(np.finfo(np.float32).max) for sign in (1, -1)]
    assert numbers_of(_column(tmp_path, [*map(repr, ends)]), "x", (), "columns").tolist() == ends


def _bits(values) -> list[bytes]:
    return [b"nan" if v != v else struct.pack("d", v) for v in values]


@settings(max_examples=300)
@given(
    st.lists(
        st.one_of(
            st.floats(allow_nan=False).map(repr),
            st.floats(-1e30, 1e30).map(lambda v: f"{v:.9f}"),
            st.integers().map(str),
            st.from_regex(r"\A[+-]?[0-9]{0,25}\.?[0-9]{0,25}([eE][+-]?[0-9]{1,2})?\Z"),
            st.sampled_from([c for c in CELLS if not set(c) & set('\t\n\r"')]),
        ),
        min_size=1,
        max_size=6,
    ),
    st.sampled_from([("",), ("", "NA", "-9"), (), ("nan", "inf", "?")]),
)
def test_numbers_have_the_bits_of_pythons(tmp_path, cells, missing):
    raw = _column(tmp_path, cells)
    expected = slow_numbers(cells, missing)
    wrong = [row for row, value in enumerate(expected) if value is None]
    if wrong:
        with pytest.raises(DataError, match=rf"^f, line {wrong[0] + 2}: column 'x' holds .* not a"):
            numbers_of(raw, "x", missing, "columns")
    elif any(abs(v) > 3e38 for v in expected):  # of single precision: see its test
        with contextlib.suppress(DataError):
            numbers_of(raw, "x", missing, "columns")
    else:
        assert _bits(numbers_of(raw, "x", missing, "columns")) == _bits(expected)
    text = [None if cell in missing else cell for cell in cells]
    assert text_column(raw, "x", missing, "columns").tolist() == text
