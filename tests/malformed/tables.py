"""Files of a data set: what stands in a CSV, in an ARFF file, or in a file that is neither."""

import bz2
import gzip
import io
import os
import pickle
import re
import zipfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from tests.malformed.cases import Case, command, prepared, same_table, write_small
from tests.malformed.configs import as_nobody
from tests.oracles.transport_writer import transport_file
from tests.unit.dataset_documents import CSV, document

CSVS = "Data sets: what stands in a CSV"
OTHERS = "Data sets: files that are no CSV"
PLAIN = CSV.encode()
swapped, with_text = PLAIN.replace, CSV.replace
HEADER, _, ROWS = CSV.partition("\n")
TABLES = {
    "nothing": (b"", "is empty"),
    "only a header": (CSV.split("\n")[0].encode(), "holds no record"),
    "a cell too few": (swapped(b"61,no,-9,0,0", b"61,no,-9,0"), "line 3 has 4 cells"),
    "a cell too many": (swapped(b"61,no", b"61,7,no"), "line 3 has 6 cells"),
    "a word for a number": (
        swapped(b"61,", b"old,"),
        "line 3: column 'age' holds 'old', which is not a num",
    ),
    "an infinite number": (swapped(b"61,", b"inf,"), "holds 'inf'"),
    "a number that is too large": (swapped(b"61,", b"1e999,"), "holds '1e999'"),
    "a number beyond single precision": (
        swapped(b"61,", b"1e39,"),
        "line 3: column 'age' holds 1e+39; allowed are numbers between -3.4e+38 and 3.4e+38",
    ),
    "an unknown level": (swapped(b"61,no", b"61,maybe"), "'maybe', which 'levels' lacks: no, y"),
    "an unknown label": (swapped(b"-9,0,0", b"-9,0,2"), "label 'ill' holds '2'; … knows 0, 1"),
    "one label only": (
        re.sub(rb",1\n", b",0\n", PLAIN),
        "label 'ill' has one class only, 'healthy', in 6 rows",
    ),
    "a column gone": (swapped(b"marker", b"markr"), "did you mean 'markr'?"),
    "the label gone": (swapped(b"ill", b"sick"), "no column 'ill', which 'label.column' names"),
    "two columns of a name": (swapped(b"marker", b"age"), "two columns named 'age'"),
    "another encoding": (swapped(b"yes", "jå".encode("latin-1")), "is not utf-8 text"),
    "two bytes a letter": (CSV.encode("utf-16"), "is not utf-8 text"),
    "a page of a web server": (
        b"<!DOCTYPE html>\n<html><body>404</body></html>\n",
        "has no column",
    ),
    "a spreadsheet": (b"PK\x03\x04\x14\x00\x06\x00\x08\x00" * 9, "small.csv"),
    "a pickle": (pickle.dumps({"age": [1]}), "small.csv"),
    "another separator": (with_text(",", ";").encode(), "has no column"),
    "an open quote": (swapped(b"47,no", b'"47,no'), "small.csv"),
    "zero bytes": (swapped(b"47", b"\0\0"), "small.csv"),
    "a free panel with a gap": (
        swapped(b"47,no", b",no"),
        "line 4: column 'age' has no value, but it is in a free panel",
    ),
}


def read(content: Any, raw: bytes) -> str:
    """The command `prepare_data`; a table that comes out of it is a defect where none should."""
    return f"a table of {len(prepared(content, raw))} rows"


def with_cell(old: str, new: str) -> bytes:
    """The small CSV with a piece of it replaced."""
    assert old in CSV
    return CSV.replace(old, new, 1).encode()


def form(**changes: Any) -> dict[str, Any]:
    """The small document with other keys under `source.format`."""
    made = document()
    made["source"]["format"] |= changes
    return made


def _numbers() -> Iterator[tuple[str, bytes, str]]:
    """Cells of the column `age` that are no number as they stand."""
    for what, cell in (
        ("a decimal comma in quotes", '"61,5"'),
        ("a decimal comma, bare", "61,5"),
        ("a comma between thousands", '"1,061"'),
        ("points between thousands", "1.061.000"),
        ("a blank between thousands", "1 061"),
        ("an underscore between thousands", "1_061"),
        ("a percent sign", "61%"),
        ("a unit in the cell", "61 years"),
        ("a currency", "€61"),
        ("a date", "2020-01-31"),
        ("a time", "01:30"),
        ("a fraction", "1/2"),
        ("a range", "60-65"),
        ("a limit of detection", "<61"),
        ("a number of Excel's kind, `=61`", "=61"),
        ("`NaN` where it is not declared missing", "NaN"),
        ("`NA` where it is not declared missing", "NA"),
        ("`NULL` where it is not declared missing", "NULL"),
        ("`?` where it is not declared missing", "?"),
        ("a lone point, as of SAS", "."),
        ("a lone hyphen", "-"),
        ("a typographic minus", "−61"),
        ("full-width digits", "６１"),
        ("Arabic digits", "٦١"),
        ("a hexadecimal number", "0x3D"),
        ("`True`", "True"),
        ("an exponent without digits", "6e"),
        ("two points", "6.1.0"),
        ("a number of 5,000 digits", "6" * 5000),
        ("minus infinity", "-inf"),
        ("a zero-width blank behind the number", "61\u200b"),
        ("an error of Excel in a later column", "61,no,#DIV/0!"),
    ):
        old = "61,no,-9" if "," in cell and '"' not in cell and "#" in cell else "61"
        yield f"{what}", with_cell(old, cell), "line 3"


def _levels() -> Iterator[tuple[str, Any, bytes, str]]:
    """Cells of the column `smoker`, whose levels are `no` and `yes`, and of the label."""
    bare = document()
    del bare["columns"][1]["levels"]
    kept = form(strip=False)
    yield (
        "a level with a blank behind, `strip: false`",
        kept,
        with_cell("54,yes", "54,yes "),
        "'yes '",
    )
    unlisted = form(strip=False)
    del unlisted["columns"][1]["levels"]
    yield (
        "levels that are not listed, one with a blank behind, `strip: false`",
        unlisted,
        with_cell("54,yes", "54,yes "),
        "'yes '",
    )
    yield "a level with a zero-width blank", None, with_cell("54,yes", "54,yes\u200b"), "\\u200b"
    yield (
        "a control character in a level that is not listed",
        bare,
        with_cell("54,yes", "54,\x1b[31myes"),
        "\\x1b",
    )
    yield (
        "UTF-8 that is read as Latin-1",
        form(encoding="latin-1"),
        with_cell("54,yes", "54,jå"),
        "'jÃ¥'",
    )
    yield "a label with a point behind", None, with_cell("-9,0,0", "-9,0,0."), "'0.'"
    yield "a label with a decimal", None, with_cell("-9,0,0", "-9,0,0.0"), "'0.0'"
    yield "a label in words", None, with_cell("-9,0,0", "-9,0,no"), "'no'"
    yield "a label without a value", None, with_cell("-9,0,0", "-9,0,"), "holds no value"
    yield "one record", None, f"{HEADER}\n54,yes,0.9,2,1\n".encode(), "one class only"
    yield (
        "two records, both of which the fit needs",
        None,
        f"{HEADER}\n54,yes,0.9,2,1\n61,no,1,0,0\n".encode(),
        "none of class",
    )
    yield "one record alone of the second class", None, with_cell("3,1\n", "3,0\n"), "none of class"
    empty = "\n".join(",".join([*row.split(",")[:3], "", row[-1]]) for row in ROWS.split())
    yield "a column without any value", None, f"{HEADER}\n{empty}\n".encode(), "'scan' has no value"
    codes = "\n".join(",".join([*r.split(",")[:2], "-9", *r.split(",")[3:]]) for r in ROWS.split())
    yield (
        "a column of special values only",
        None,
        f"{HEADER}\n{codes}\n".encode(),
        "'marker' holds special values only",
    )
    yield (
        "a category without any value",
        bare | {"panels": _all_paid()},
        with_text("yes", "").replace("no", "").encode(),
        "'smoker' has no value",
    )


def _all_paid() -> list[dict[str, Any]]:
    return [{"name": c, "columns": [c], "cost": 1} for c in ("age", "smoker", "marker", "scan")]


def _shapes() -> Iterator[tuple[str, bytes, str]]:
    """Lines, quotes, headers."""
    wide = ",".join(f"a_rather_long_name_of_a_column_{k}" for k in range(3000))
    yield "no header", ROWS.encode(), "'age'"
    yield "a header of two lines", f"{HEADER}\nyear,,ng/mL,1,\n{ROWS}".encode(), "'year'"
    yield "the header again in the middle", f"{CSV}{CSV}".encode(), "'age'"
    yield "a title above the header", f"My table\n{CSV}".encode(), "line 2 has 5 cells"
    yield "Excel's `sep=,` above the header", f"sep=,\n{CSV}".encode(), "line 2 has 5 cells"
    yield "a header in capitals", with_text("age", "AGE", 1).encode(), "'age'"
    yield "a header with units", with_text("age", "age [years]", 1).encode(), "'age'"
    yield (
        "a line break in a quoted header",
        with_text("age", '"age\n[years]"', 1).encode(),
        "'age'",
    )
    yield (
        "an escape character in the header",
        with_text("age", "\x1b[31mage", 1).encode(),
        "'age'",
    )
    yield "3,000 columns, none of them right", f"{wide}\n{'1,' * 2999}1\n".encode(), "'age'"
    yield (
        "two columns without a name",
        "\n".join(f"{r},," for r in CSV.split()).encode(),
        "named ''",
    )
    yield "a sum below the records", f"{CSV}Total,,,5,\n".encode(), "'Total'"
    yield "lines of commas below the records, as of Excel", f"{CSV},,,,\n".encode(), "line 8"
    yield "a remark below the records", f"{CSV}Source: the clinic\n".encode(), "line 8 has 1 cells"
    yield "a line cut off in the middle", CSV[:-8].encode(), "line 7 has"
    yield "tabs between cells", with_text(",", "\t").encode(), "no column 'age'"
    yield "blanks between cells", with_text(",", " ").encode(), "no column 'age'"
    yield (
        "semicolons and decimal commas, as of a German Excel",
        with_text(",", ";").replace(".", ",").encode(),
        "line 2 has 2 cells",
    )
    yield "an open quote in the last column", with_cell("-9,0,0", '-9,0,"0'), "line 3"
    yield "letters behind a closing quote", with_cell("61,no", '"61"x,no'), "text follows a closing"
    yield "a cell of 200 kB", with_cell("61,no", f"61,{'x' * 200_000}"), "line 3"
    yield "a line of 300,000 commas", with_cell("61,no", f"61,{',' * 300_000}no"), "line 3"
    yield "an error of Excel at the beginning of a line", with_cell("61,no", "#N/A,no"), "line 3"
    yield "a record behind the mark of comments", with_cell("61,no", "#61,no"), "line 3"
    yield "carriage returns within a line", with_cell("61,no", "61\r,no"), "line 3 has 1 cells"
    yield "UTF-16 with an even number of bytes", CSV.encode("utf-16-le"), "a\\x00g"
    yield "EBCDIC", CSV.encode("cp500"), "utf-8"


def _declared() -> Iterator[tuple[str, Any, bytes, str]]:
    """Files that are not as `source.format` says."""
    semicolons = with_text(",", ";").replace(".", ",").encode()
    yield "decimal commas, `separator: ;`", form(separator=";"), semicolons, "'0,9'"
    yield (
        "UTF-16 without its mark, `encoding: utf-16`",
        form(encoding="utf-16"),
        b"a,b\n1,2\n",
        "utf-16",
    )
    latin = form(encoding="latin-1", strip=False)
    ellipsis = swapped(b"54,yes", b"54,yes\x85")
    yield (
        "an ellipsis of Windows-1252, read as Latin-1: a control character",
        latin,
        ellipsis,
        "\\x85",
    )
    extra = "\n".join(f'{r},"note' if r.startswith("61") else f"{r},x" for r in CSV.split())
    yield (
        "an open quote in a column that is not used, which swallows the records below",
        None,
        extra.encode(),
        "line 3",
    )


def _accepted() -> Iterator[tuple[str, Any, bytes, str]]:
    """Oddities that mean what the plain file means: the table is the same."""
    lines = CSV.split()
    yield (
        "a byte order mark",
        None,
        b"\xef\xbb\xbf" + PLAIN,
        "the mark is no part of the first name",
    )
    yield "line ends of Windows", None, swapped(b"\n", b"\r\n"), "as line ends"
    yield "line ends of an old Mac", None, swapped(b"\n", b"\r"), "as line ends"
    yield "no line end at the end", None, PLAIN[:-1], "all records"
    yield ("blank lines between records", None, swapped(b"\n", b"\n\n"), "blank lines passed over")
    yield "lines of blanks", None, swapped(b"\n", b"\n  \n"), "blank lines passed over"
    yield (
        "every cell in quotes",
        None,
        "\n".join(",".join(f'"{cell}"' for cell in line.split(",")) for line in lines).encode(),
        "quotes left out",
    )
    yield "blanks around cells, `strip: true`", None, swapped(b",", b" , "), "blanks left out"
    yield "a hard blank behind a level", None, with_cell("54,yes", "54,yes\u00a0"), "blank left out"
    yield "a number with a plus and a point", None, with_cell("54,", "+54.,"), "as 54"
    yield "a remark above the header", None, b"# the clinic, 2020\n" + PLAIN, "as a comment"
    yield (
        "a remark between the records",
        None,
        with_cell("61,", "# second visit\n61,"),
        "as a comment",
    )
    yield (
        "a column of row numbers",
        None,
        "\n".join(f"{k},{line}" for k, line in enumerate(lines)).encode(),
        "left out",
    )
    yield (
        "a trailing comma on each line",
        None,
        "\n".join(f"{x}," for x in lines).encode(),
        "left out",
    )
    notes = "\n".join(f'{x},"one\ntwo"' for x in lines).replace('"one\ntwo"', "note", 1)
    yield (
        "a note of two lines in quotes, in a column that is not used",
        None,
        notes.encode(),
        "one record",
    )
    yield (
        "a note with a line separator of Unicode",
        None,
        "\n".join(f"{x},one\u2028two" for x in lines).replace("one\u2028two", "note", 1).encode(),
        "one record",
    )
    yield "gzipped, under the name `small.csv`", None, gzip.compress(PLAIN, mtime=0), "unpacked"


def csvs() -> Iterator[Case]:
    """What stands in a CSV."""
    for name, (raw, words) in TABLES.items():
        yield Case(CSVS, name, partial(read, None, raw), words)
    for name, raw, words in (*_numbers(), *_shapes()):
        yield Case(CSVS, name, partial(read, None, raw), words)
    for name, content, raw, words in (*_levels(), *_declared()):
        yield Case(CSVS, name, partial(read, content, raw), words)
    for name, content, raw, described in _accepted():
        work = partial(same_table, content, raw, f"read, {described}: the table of the plain file")
        yield Case(CSVS, name, work, ends="accepted")


def _zipped() -> bytes:
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w") as archive:
        archive.writestr(zipfile.ZipInfo("small.csv"), CSV)  # of 1980: the same bytes each time
    return sink.getvalue()


def _parquet() -> bytes:
    sink = io.BytesIO()
    pd.DataFrame({"age": [54.0]}).to_parquet(sink)
    return sink.getvalue()


def _placed(make: Callable[[Path], Any]) -> str:
    write_small(None, None)
    make(Path("small.csv"))
    return small_read()


def small_read() -> str:
    """The command on `small.yaml` and `small.csv` as they lie there."""
    words = ["prepare_data", "--seed", "0", "--input", "description=small.yaml"]
    words += ["--input", "raw_0=small.csv", "--output", "table=results/t.parquet"]
    return command(*words, "--output", "catalogue=results/c.json") or "a table"


def _one_text(names: list[str], text: str, rows: int) -> str:
    """A Parquet file with one text in all rows."""
    described = document()
    described["source"]["format"] = {"kind": "parquet", "missing": [""]}
    code = pa.array(np.zeros(rows, dtype=np.int8))
    column = pa.DictionaryArray.from_arrays(code, pa.array([text]))
    sink = io.BytesIO()
    pq.write_table(pa.table([column] * len(names), names=names), sink)
    return read(described, sink.getvalue())


def _no_right() -> Any:
    write_small()
    Path("small.csv").chmod(0)
    return as_nobody(small_read)


def others() -> Iterator[Case]:
    """Archives, other formats, and what is no file."""
    arff = form()
    arff["source"]["format"] = {"kind": "arff", "missing": [""]}
    kinds = "".join(f"@attribute {name} numeric\n" for name in HEADER.split(","))
    text = f"@relation small\n{kinds}@data\n{ROWS}"
    for name, raw, words in (
        ("ARFF with `@data` misspelt", text.replace("@data", "@dta"), "has no '@data' line"),
        ("a sparse ARFF file", text.replace("@data\n", "@data\n{0 54, 1 yes}\n"), "sparse ARFF"),
        ("ARFF with an attribute too few", text.replace("@attribute age numeric\n", ""), "5 cells"),
        ("ARFF without records", text.partition("@data\n")[0] + "@data\n", "holds no record"),
        ("ARFF with an attribute twice", text.replace("marker", "age"), "two columns named 'age'"),
        ("a CSV that is declared ARFF", CSV, "has no '@data' line"),
        ("an empty file that is declared ARFF", "", "has no '@data' line"),
        ("ARFF with an open quote", text.replace("61,no", "'61,no"), "small.csv, line"),
    ):
        yield Case(OTHERS, name, partial(read, arff, raw.encode()), words)
    xpt = form()
    xpt["source"]["format"] = {"kind": "xpt", "missing": []}
    columns = {"age": [1.0, 2.0], "LBXFER": [15.3, 1.0]}
    for name, raw, words in (
        ("an empty file that is declared SAS transport", b"", "does not begin like"),
        ("a CSV that is declared SAS transport", PLAIN, "does not begin like"),
        (
            "SAS transport of version 8",
            transport_file(columns).replace(b"LIBRARY", b"LIBV8  "),
            "version 5",
        ),
        ("SAS transport cut off", transport_file(columns)[:-7], "cut off or damaged"),
        ("SAS transport without records", transport_file(columns)[:640], "small.csv"),
        (
            "SAS transport with a damaged number",
            transport_file(columns).replace(b"00000000020000", b"0000000xx20000"),
            "is damaged",
        ),
        ("SAS transport of other columns", transport_file(columns), "'smoker'"),
    ):
        yield Case(OTHERS, name, partial(read, xpt, raw), words)
    for name, names, text, rows, words in (
        ("Parquet with a column twice", ["age", "age"], "1", 2, "two columns named 'age'"),
        ("Parquet of 13 million rows in 32 kB", ["age"], "1", 13_000_000, "unpacks to"),
        ("Parquet of one long text in all rows", ["age"], "x" * 60_000, 2000, "unpacks to"),
    ):
        yield Case(OTHERS, name, partial(_one_text, names, text, rows), words)
    packed = gzip.compress(PLAIN, mtime=0)
    for name, raw, words in (
        ("a zip archive with the CSV in it", _zipped(), "small.csv"),
        ("a gzip cut off", packed[:-9], "small.csv cannot be read"),
        (
            "a gzip with a flipped byte",
            packed[:30] + b"\xff" + packed[31:],
            "small.csv cannot be read",
        ),
        ("a gzip in a gzip", gzip.compress(packed, mtime=0), "small.csv"),
        ("a gzip and other bytes behind it", packed + b"more", "small.csv cannot be read"),
        ("a gzip of nothing", gzip.compress(b""), "is empty"),
        (
            "a gzip of 100 kB that unpacks to 100 MB",
            gzip.compress(bytes(100_000_001)),
            "unpacks to",
        ),
        ("bzip2 under the name of a CSV", bz2.compress(PLAIN), "small.csv"),
        ("a table of Parquet under the name of a CSV", _parquet(), "small.csv"),
        ("a PDF under the name of a CSV", b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n", "small.csv"),
        ("an old Excel file", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(512), "small.csv"),
        ("a NumPy array", b"\x93NUMPY\x01\x00v\x00" + bytes(64), "small.csv"),
        ("10,000 random bytes", np.random.default_rng(0).bytes(10_000), "small.csv"),
        ("10,000 zero bytes", bytes(10_000), "small.csv"),
    ):
        yield Case(OTHERS, name, partial(read, None, raw), words)
    for name, make in (
        ("a folder", Path.mkdir),
        ("no file of that name", lambda path: None),
        ("a link to itself", lambda path: path.symlink_to(path.name)),
        ("a link to nothing", lambda path: path.symlink_to("gone.csv")),
        ("a named pipe that nobody writes to", os.mkfifo),
        ("`/dev/zero` by a link", lambda path: path.symlink_to("/dev/zero")),
        ("`/dev/null` by a link", lambda path: path.symlink_to("/dev/null")),
    ):
        yield Case(OTHERS, name, partial(_placed, make), "small.csv")
    yield Case(OTHERS, "a file that may not be read", _no_right, "small.csv")


def cases() -> Iterator[Case]:
    """Of both."""
    yield from csvs()
    yield from others()
