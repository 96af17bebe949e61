"""How the file of an unknown table is read, guessed from its bytes; every guess is told.

For `frugal init`. Packing, encoding, separator, lines above the table and whether its first line
holds names are found here; what the columns are is `guessing`'s. Writes no file.
"""

import csv
import warnings
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
import pandas as pd

from frugal.core.errors import DataError
from frugal.core.schema_check import listed
from frugal.data.description_sources import Format
from frugal.data.guessing import NO_VALUE
from frugal.data.packed import unpacked_bytes
from frugal.data.parsing import read_file
from frugal.data.records import lines_of

SEPARATORS = ",;\t|"
SAMPLE = 1 << 16  # characters that tell a separator
LINES = 50  # of them
MOST_SKIPPED = 20  # lines above a table
_ALIKE = 0.9  # share of lines that have as many cells as most
_COMMA = r"-?\d+,\d+"
_NAMED = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "vertical bars", " ": "blanks"}
_PACKED = {b"PK": "zip", b"BZ": "bzip2", b"\xfd7": "xz", b"(\xb5": "zstandard"}  # first two bytes
_MARKS = {b"\xef\xbb\xbf": "utf-8-sig", b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}
_NO_TEXT = "is no text; allowed are CSV, TSV, ARFF, Parquet, Excel and XPT"


@dataclass(frozen=True)
class Opened:
    """A table as texts, and how it is read.

    Attributes:
        path: of the file that the YAML names: the table, or what it was converted to.
        cells: texts.
        form: the block `format` of the YAML.
        remarks: what was found, a sentence each.
        converted: whether `path` is to be written, from the cells.
        named: whether a line of the file holds the names of the columns.
    """

    path: Path
    cells: pd.DataFrame
    form: dict[str, Any]
    remarks: tuple[str, ...]
    converted: bool = False
    named: bool = True


def kind_of(path: Path) -> str:
    """The file's suffix in small letters, that before `.gz` where it is packed so."""
    plain = path.with_suffix("") if path.suffix.lower() == ".gz" else path
    return plain.suffix.lower()


def open_table(path: Path, place: Path, header: bool | None) -> Opened:
    """The table, by its suffix.

    Args:
        path: of the file.
        place: of the plain CSV that a table is converted to where it cannot be read as it is.
        header: whether the first line of a text or sheet holds names; None: guessed.

    Raises:
        DataError: it cannot be read as a table; the sentence says what to do.
    """
    suffix = kind_of(path)
    if suffix in (".arff", ".xpt"):
        form = Format(suffix[1:], (), ",", None, "%", True, "utf-8")
        cells, _ = read_file(path, form, source=path.name)
        return Opened(path, as_texts(cells), {"kind": suffix[1:]}, ())
    if suffix in (".parquet", ".xlsx", ".xls", ".xlsm", ".xlsb", ".ods"):
        if path.suffix.lower() == ".gz":
            raise DataError(f"{path} is packed; unpack it: {suffix[1:]} files are packed already")
        return _parquet(path, place) if suffix == ".parquet" else _sheet(path, place, header)
    return _text_file(path, place, header)


def _parquet(path: Path, place: Path) -> Opened:
    try:
        frame = pd.read_parquet(path)
    except (ValueError, OSError) as error:
        raise _unreadable(path, error) from None
    return _converted(place, as_texts(frame), [f"{path.name} has Parquet"])


def _sheet(path: Path, place: Path, header: bool | None) -> Opened:
    """The first sheet of an Excel file that has cells."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            sheets = pd.read_excel(path, sheet_name=None, header=None, engine="calamine")
    except (ValueError, OSError, BadZipFile, KeyError, RuntimeError) as error:
        raise _unreadable(path, error) from None
    except Exception as error:  # calamine's own class of errors
        raise _unreadable(path, error) from None
    name = next((one for one, sheet in sheets.items() if sheet.size), None)
    if name is None:
        raise DataError(f"{path} has no sheet with cells")
    cells = as_texts(sheets[name]).to_numpy()
    rows = [tuple(row) for row in cells if (row != "").any()]
    if len(rows) < 2:
        raise DataError(f"{path}, sheet {name!r} has {len(rows)} rows; a table has a head and rows")
    skipped = _rows_above([sum(cell != "" for cell in row) for row in rows])
    names, named, remarks = _names(rows[skipped], rows[skipped + 1 :], header)
    frame = pd.DataFrame(rows[skipped + named :], columns=names)
    if len(sheets) > 1:
        remarks.insert(0, f"of {len(sheets)} sheets the first, {name!r}, is read")
    if skipped:
        remarks.append(f"{skipped} rows above the table are passed over")
    return _converted(place, frame, [f"{path.name} has an Excel sheet"], remarks, named)


def _unreadable(path: Path, error: Exception) -> DataError:
    words = str(error).splitlines() or [type(error).__name__]
    return DataError(f"{path} cannot be read as {kind_of(path)[1:]}: {words[0]}")


def _text_file(path: Path, place: Path, header: bool | None) -> Opened:
    """A text file with a separator, packed by gzip or not."""
    text, encoding = _decoded(path)
    remarks = [f"read as {encoding}"] if encoding != "utf-8" else []
    separator, skipped, rows, above = _divided(text, path)
    if separator != ",":
        remarks.append(f"separated by {_NAMED[separator]}")
    as_r_writes = len(above) == len(rows[0]) - 1 and header is not False
    if as_r_writes and (header or _holds_names(("", *above), rows)):
        names, named, of_names = _names(("", *above), rows, True)
    else:
        as_r_writes = False
        names, named, of_names = _names(rows[0], rows[1:], header)
    if skipped and not as_r_writes:
        lines = "line 1 is" if skipped == 1 else f"lines 1 to {skipped} are"
        remarks.append(f"{lines} passed over, as the table begins below")
    remarks += of_names
    described: dict[str, Any] = {
        "kind": "csv", "separator": separator, "header": True, "comment": None, "strip": True,
        "encoding": encoding,
    }  # fmt: skip
    as_it_stands = named and list(rows[0]) == names
    if not as_it_stands:
        described["header"] = names
        skipped += _lines_of(text, skipped, separator) if named and not as_r_writes else 0
    if skipped:
        described["skip_lines"] = skipped
    form = Format(
        "csv", (), separator, None if as_it_stands else tuple(names), None, True, encoding,
        skip_lines=skipped,
    )  # fmt: skip
    cells, _ = read_file(path, form, source=path.name)
    cells = as_texts(cells)
    with_comma = [name for name in cells if _with_commas(cells[name])]
    if with_comma:
        for name in with_comma:
            cells[name] = cells[name].str.replace(",", ".", regex=False)
        what = f"{path.name} has numbers with decimal commas ({with_comma[0]}, …)"
        return _converted(place, cells, [what], remarks, named)
    return Opened(path, cells, described, tuple(remarks), named=named)


def _decoded(path: Path) -> tuple[str, str]:
    """The text of a file, and its encoding."""
    raw = unpacked_bytes(path)
    if packed := _PACKED.get(raw[:2]):
        excel = "; an Excel file is named .xlsx" if packed == "zip" else ""
        raise DataError(f"{path} is packed by {packed}: unpack it first (gzip is read){excel}")
    marked = (encoding for mark, encoding in _MARKS.items() if raw.startswith(mark))
    encoding = next(marked, None) or _unmarked(raw)
    try:
        text = raw.decode(encoding)
    except UnicodeDecodeError:
        raise DataError(f"{path} {_NO_TEXT}") from None
    if "\0" in text[:SAMPLE]:
        raise DataError(f"{path} {_NO_TEXT}")
    return text, encoding


def _unmarked(raw: bytes) -> str:
    """The encoding of a text without a mark at its beginning."""
    empty = np.frombuffer(raw[:SAMPLE], np.uint8) == 0
    if empty[1::2].mean() > 0.3 > empty[::2].mean():
        return "utf-16-le"
    if empty[::2].mean() > 0.3 > empty[1::2].mean():
        return "utf-16-be"
    for encoding in ("utf-8", "cp1252"):
        try:
            raw.decode(encoding)
        except UnicodeDecodeError:
            continue
        # without a letter of its own, cp1252 is latin-1
        own = encoding == "cp1252" and any(0x80 <= b < 0xA0 for b in set(raw))
        return encoding if encoding == "utf-8" or own else "latin-1"
    return "latin-1"


def _divided(text: str, path: Path) -> tuple[str, int, list[tuple[str, ...]], tuple[str, ...]]:
    """The separator that divides most lines alike; lines above, some records, and the one above."""
    lines = lines_of(text[:SAMPLE])
    whole = lines[:-1] if len(text) > SAMPLE else lines
    if sum(bool(line.strip()) for line in whole) < 2:
        count = len([line for line in lines if line.strip()])
        raise DataError(f"{path} has {count} lines; a table has a head and rows")
    found: dict[str, tuple[int, int, list[tuple[str, ...]], tuple[str, ...]]] = {}
    for mark in (*SEPARATORS, " "):
        if mark == " " and found:
            break
        records = _records(whole, mark)[: LINES + MOST_SKIPPED]
        sizes = [len(cells) for _, cells in records]
        above = _rows_above(sizes)
        below = sizes[above:]
        if below[0] > 1 and sum(n == below[0] for n in below) > _ALIKE * len(below):
            skipped, last = records[above - 1] if above else (0, ())
            alike = [cells for _, cells in records[above:] if len(cells) == below[0]]
            found[mark] = (below[0], skipped, alike, last)
    if not found:
        raise DataError(
            f"{path}: no separator among comma, semicolon, tab, | and blank divides its lines "
            "alike; save it as CSV"
        )
    separator = max(found, key=lambda mark: found[mark][0])
    return separator, *found[separator][1:]


def _records(lines: Sequence[str], separator: str) -> list[tuple[int, tuple[str, ...]]]:
    """Line in which each record ends, and its cells without blanks around them."""
    given = [line.strip(" \n") for line in lines] if separator == " " else lines
    reader = csv.reader(given, delimiter=separator, skipinitialspace=True)
    found = []
    try:
        for cells in reader:
            if any(cell.strip() for cell in cells):
                found.append((reader.line_num, tuple(cell.strip() for cell in cells)))
    except csv.Error:
        pass  # the reader of the table says in which line
    return found or [(1, ("",))]


def _rows_above(sizes: Sequence[int]) -> int:
    """Rows at the top that have another number of cells than most."""
    usual = Counter(sizes).most_common(1)[0][0]
    above = next(k for k, size in enumerate(sizes) if size == usual)
    return above if above <= MOST_SKIPPED else 0


def _lines_of(text: str, skipped: int, separator: str) -> int:
    """Lines of the first record below the skipped ones, blank ones above it included."""
    lines = lines_of(text[: 2 * SAMPLE])[skipped:]
    return _records(lines, separator)[0][0]


def _names(
    first: Sequence[str], rows: Sequence[Sequence[str]], header: bool | None
) -> tuple[list[str], bool, list[str]]:
    """Names of the columns, each another; whether the first row holds them; what was guessed."""
    named = _holds_names(first, rows) if header is None else header
    numbered = [f"column_{k + 1}" for k in range(len(first))]
    if not named:
        asked = "" if header is False else "; say --header if it does"
        return numbered, False, [
            f"the first line holds no names, so columns are column_1 to column_{len(first)}{asked}"
        ]  # fmt: skip
    names: list[str] = []
    remarks = []
    for name, number in zip(first, numbered, strict=True):
        new = name or number
        times = 1
        while new in names or (new != name and new in first):
            times += 1
            new = f"{name or number}_{times}"
        if new != name:
            said = f"a second column {name!r}" if name else "a column without a name"
            remarks.append(f"{said} is called {new!r} here")
        names.append(new)
    return names, True, remarks


def _holds_names(first: Sequence[str], rows: Sequence[Sequence[str]]) -> bool:
    """Whether a row is unlike those below it: no number where they have numbers, no text of theirs.

    A column speaks for names where its cells below are numbers and the first is none; against,
    where the first is a number too; without any such column, where the first stands below again.
    """
    below = pd.DataFrame(list(rows), columns=range(len(first)))
    known = below.mask(below.isin(NO_VALUE))
    numeric = [
        k for k in range(len(first))
        if known[k].notna().any()
        and pd.to_numeric(known[k].dropna().str.replace(",", "."), errors="coerce").notna().mean()
        > _ALIKE
    ]  # fmt: skip
    if numeric:
        numbers = pd.to_numeric(
            pd.Series([first[k] for k in numeric]).str.replace(",", "."), errors="coerce"
        )
        absent = np.array([first[k] in NO_VALUE[1:] for k in numeric])
        return bool((numbers.notna().to_numpy() | absent).mean() <= 0.5)
    again = [name != "" and bool((below[k] == name).any()) for k, name in enumerate(first)]
    return bool(np.mean(again) < 0.5)


def _with_commas(cells: pd.Series) -> bool:
    """Whether nearly all values are numbers, some with a comma where others have a point."""
    told = cells[~cells.isin(NO_VALUE)].str
    return bool(told.fullmatch(r"-?\d+(,\d+)?").mean() > _ALIKE and told.fullmatch(_COMMA).any())


def _converted(
    place: Path, cells: pd.DataFrame, what: list[str], further: Sequence[str] = (), named=True
) -> Opened:
    """The same as a plain CSV beside the YAML."""
    form = {
        "kind": "csv", "separator": ",", "header": True, "comment": None, "strip": True,
        "encoding": "utf-8",
    }  # fmt: skip
    said = (f"{listed(what)}: written anew as {place}", *further)
    return Opened(place, cells, form, said, True, named)


def as_texts(frame: pd.DataFrame) -> pd.DataFrame:
    """Cells as texts without blanks around them; no value is an empty text."""
    found = {}
    for name in frame.columns:
        column = frame[name]
        texts = column.astype("string").fillna("").astype(object).astype(str).str.strip()
        if pd.api.types.is_float_dtype(column.dtype):
            texts = texts.str.replace(r"\.0$", "", regex=True)
        found[str(name)] = texts
    return pd.DataFrame(found)
