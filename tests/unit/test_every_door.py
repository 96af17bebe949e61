"""Small files through every door: what one reads, all read, and alike; refusals are one sentence.

A file is one entry of FILES with what it holds, or the refusal; a door is one function of DOORS,
from a file's path to what was read: column → numbers, levels as texts, None for no value.
"""

import gzip
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import Any

import frugal
import numpy as np
import openpyxl
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from frugal.core.errors import FrugalError
from frugal.data.case_document import TableColumns, case_document
from frugal.data.cases import read_cases
from frugal.data.description import Description, load_description
from frugal.data.encoding import encode
from frugal.data.long_files import LongFile
from frugal.data.parsing import parse_files
from frugal.data.prepare import prepare
from frugal.data.raw import locate_file
from frugal.run.init_command import init_command, stated_amounts
from frugal.studies.over_time.data import read_over_time, read_running
from frugal.studies.recourse.catalogue import catalogue_of, units_of
from frugal.studies.recourse.sheets import read_sheet
from frugal.studies.treatment.data.own_records import describe_records, read_own_records

from tests.unit.init_cases import priced

N = 80
Cell = float | str | None
Reading = Mapping[str, Sequence[Cell]]


@dataclass(frozen=True)
class File:
    """A small file, or a data frame.

    Attributes:
        content: its text or bytes, or the frame.
        reading: what each door reads; columns that are not listed here are not looked at.
        clusters: how many there are; 0: not looked at.
        absent: columns that no door makes a feature of.
        refusal: words of the sentence with which each door refuses it; empty: it is read.
        remark: words of a remark, at doors that make remarks.
        doors: those that it is for; empty for all.
        options: `sheet`, `leave_out`, … of the door.
        name: of the file, or of the Parquet file of a frame; empty: by its content.
    """

    content: "str | bytes | pd.DataFrame | pa.Table"
    reading: Reading = field(default_factory=dict)
    absent: tuple[str, ...] = ()
    refusal: str = ""
    remark: str = ""
    doors: tuple[str, ...] = ()
    clusters: int = 0
    options: Mapping[str, Any] = field(default_factory=dict)
    name: str = ""

    def written(self, folder: Path) -> Path:
        """The path of the file in a folder."""
        if isinstance(self.content, str | bytes):
            content = self.content.encode() if isinstance(self.content, str) else self.content
            path = folder / (self.name or ("t.xlsx" if content.startswith(b"PK") else "t.csv"))
            path.write_bytes(content)
            return path
        path, table = folder / (self.name or "t.parquet"), self.content
        pq.write_table(table if isinstance(table, pa.Table) else pa.Table.from_pandas(table), path)
        return path


def _clean() -> dict[str, list[Cell]]:
    """What the plain table holds: two columns known of all, one with gaps, and the label."""
    rng = np.random.default_rng(0)
    gap = rng.random(N) < 0.3
    return {
        "age": [float(v) for v in rng.integers(20, 90, N)],
        "sex": [str(v) for v in rng.choice(["f", "m"], N)],
        "crp": [None if gap[k] else k / 2 + 0.25 for k in range(N)],
        "ill": [str(v) for v in np.where(rng.random(N) < 0.5, "yes", "no")],
    }


CLEAN = _clean()


def texts(reading: Reading = CLEAN, **columns: list[str]) -> dict[str, list[str]]:
    """Cells as a plain CSV has them; further columns, or others under their names."""
    written = {
        name: ["" if v is None else f"{v:g}" if isinstance(v, float) else str(v) for v in cells]
        for name, cells in reading.items()
    }
    return written | columns


def csv(
    cells: Mapping[str, list[str]], mark: str = ",", end: str = "\n", line_end: str = ""
) -> str:
    """A text file of these cells; `line_end` stands at the end of each record, not of the names."""
    rows = [list(cells), *zip(*cells.values(), strict=True)]
    lines = [mark.join(row) + (line_end if k else "") for k, row in enumerate(rows)]
    return end.join(lines) + end


def described(path: Path) -> tuple[Description, pd.DataFrame]:
    """The description of a YAML, and its table."""
    found = load_description(path)
    files: dict[str, Path] = {}
    for file in found.source.files:
        place = locate_file(found, file.name, data_mirror=None)
        assert place is not None
        files[file.name] = place
    table = prepare(found, files, 0).table
    frame = pd.DataFrame(table.values, columns=list(table.columns))
    return found, frame.assign(label=table.label)


def reading_of(found: Description, frame: pd.DataFrame) -> dict[str, list[Cell]]:
    """Cells of each raw column, from encoded ones."""
    read: dict[str, list[Cell]] = {}
    for column in found.columns:
        if column.kind == "numeric":
            values = frame[column.name].tolist()
            read[column.raw_name] = [None if np.isnan(v) else float(v) for v in values]
            continue
        levels = list(column.levels or ())
        code = frame[[f"{column.name}={level}" for level in levels]].to_numpy()
        read[column.raw_name] = [
            None if np.isnan(row).any() else levels[int(row.argmax())] for row in code
        ]
    classes = found.label.classes
    read[found.label.column] = [classes[k] if k >= 0 else None for k in frame["label"]]
    return read


def _words(options: Mapping[str, Any]) -> list[str]:
    """Options as `init` takes them."""
    pairs = ((f"--{name.replace('_', '-')}", str(value)) for name, value in options.items())
    return [word for pair in pairs for word in pair]


def door_init(file: File, folder: Path) -> Reading:
    """`frugal init`, and a run by its YAML."""
    path = file.written(folder)
    out = folder / "t.yaml"
    assert (
        init_command([str(path), "--label", "ill", "--out", str(out), *_words(file.options)]) == 0
    )
    return reading_of(*described(priced(folder)))


TERMS = {"label": "ill", "errors": {"missed": 20, "false alarm": 10}}


def _loaded(table: Any, options: Mapping[str, Any]) -> Reading:
    """What `load` reads; the panels without a price are named by its refusal."""
    prices: dict[str, float] = {}
    try:
        loaded = frugal.load(table, **TERMS, **options)
    except FrugalError as refusal:
        names, lacks, _ = str(refusal).partition("; allowed is a number from 0 on for each")
        if not lacks:
            raise
        prices = dict.fromkeys(re.findall(r"'([^']*)'", names), 1.0)
        loaded = frugal.load(table, **TERMS, prices=prices, **options)
    found = loaded.question.study.descriptions[loaded.name]
    for remark in loaded.remarks:
        print(remark)
    return reading_of(found, loaded.frame)


def door_frame(file: File, folder: Path) -> Reading:
    """`load` of a data frame: as it is, or as pandas reads the Parquet file."""
    frame = (
        pd.read_parquet(file.written(folder)) if isinstance(file.content, bytes) else file.content
    )
    return _loaded(frame, file.options)


def door_records(file: File, folder: Path) -> Reading:
    """Files of searches, over time, and of recourse: columns known by name."""
    columns = tuple(file.reading or CLEAN)
    sex = [str(v) for v in dict.fromkeys(file.reading.get("sex", CLEAN["sex"])) if v]
    counted = [name for name in columns if name not in ("sex", "ill")]
    read = LongFile.of(file.written(folder), *columns, quantities=counted)
    read.require_columns(*columns)
    numbers = {name: read.numbers(name, empty=True).tolist() for name in counted}
    levels = {name: of for name, of in (("sex", sex), ("ill", ["no", "yes"])) if name in columns}
    words = {name: read.levels(name, of).tolist() for name, of in levels.items()}
    return {name: [None if np.isnan(v) else v for v in of] for name, of in numbers.items()} | {
        name: [None if k < 0 else levels[name][k] for k in of] for name, of in words.items()
    }


def door_cases(file: File, folder: Path) -> Reading:
    """New cases of a policy that was learned from the plain table."""
    plain = folder / "plain"
    plain.mkdir()
    door_init(FILES["plain"], plain)
    found, frame = described(plain / "t.yaml")
    table = encode(parse_files(found, {"t.csv": plain / "t.csv"}), found)
    document = case_document(
        found,
        TableColumns.of(table.table, np.array(["train"] * len(frame))),
        {"report": table.report},
    )
    read = read_cases(
        file.written(folder),
        document,
        provides=table.table.provides,
        id_column=None,
        complete=False,
    )
    assert not any(read.outside)
    values = pd.DataFrame(read.values, columns=list(table.table.columns))
    reading = reading_of(found, values.assign(label=-1))
    return {**reading, "ill": list(file.reading.get("ill", ()))}


def door_file(file: File, folder: Path) -> Reading:
    """`load` of the file itself."""
    return _loaded(file.written(folder), file.options)


DOORS: dict[str, Callable[[File, Path], Reading]] = {
    "init": door_init,
    "load(file)": door_file,
    "load(frame)": door_frame,
    "records": door_records,
    "cases": door_cases,
}
REMARKS = ("init", "load(file)", "load(frame)")  # doors that make remarks


def takes(door: str, file: File) -> bool:
    """Whether a door is for a file: one of frames takes frames and Parquet files alone."""
    if file.doors:
        return door in file.doors
    if door not in REMARKS:  # of what `init` guesses, and of a sheet that is named
        form_alone = file.reading is CLEAN or "formula" in file.refusal
        return form_alone and not file.options
    framed = not isinstance(file.content, str | bytes) or file.name.endswith(".parquet")
    return framed or door != "load(frame)"


def book(
    *sheets: tuple[str, Mapping[str, list[str]] | None], hidden: tuple[str, ...] = ()
) -> bytes:
    """A spreadsheet of these sheets; None for one with a word alone."""
    made = openpyxl.Workbook()
    made.remove(made["Sheet"])
    for title, cells in sheets:
        sheet: Any = made.create_sheet(title)
        sheet.sheet_state = "hidden" if title in hidden else "visible"
        columns = cells or {"Exported by the laboratory": [""]}
        for row in [list(columns), *zip(*columns.values(), strict=True)]:
            sheet.append([_typed(cell) for cell in row])
    return _bytes_of(made)


def _typed(cell: str) -> float | str | None:
    """A number, a text, or nothing, as a spreadsheet has it; a formula begins with =."""
    try:
        return float(cell)
    except ValueError:
        return cell.strip('"') or None


def _bytes_of(made: openpyxl.Workbook) -> bytes:
    content = BytesIO()
    made.save(content)
    return content.getvalue()


OLD = {name: cells[:30] for name, cells in texts().items()}
SEX = [str(v) for v in CLEAN["sex"]]
MIXED = [v.upper() if k % 4 == 0 else v for k, v in enumerate(SEX)]
COMMON: list[Cell] = [*SEX]  # the commoner spelling of each
IDS = [906 * 10**15 + 70 * (k // 2) for k in range(N)]
SHUFFLED = [str(k * 7 % N) for k in range(N)]


def _occ(word: str | None) -> list[Any]:
    """A column of texts, some of which are a word."""
    return [word if k % 4 == 0 else "abc"[k % 3] for k in range(N)]


def arff(cells: Mapping[str, list[str]] | None = None, **types: str) -> str:
    """The plain table in Weka's format."""
    cells = cells or texts()
    kinds = {"age": "numeric", "crp": "numeric", "sex": "{f,m}", "ill": "{no,yes}"} | types
    head = "".join(f"@attribute {name} {kinds[name]}\n" for name in cells)
    rows = (",".join(cell or "?" for cell in row) for row in zip(*cells.values(), strict=True))
    return f"@relation t\n{head}@data\n" + "\n".join(rows) + "\n"


def keel() -> str:
    """The plain table in KEEL's format."""
    text = arff(age="integer[20, 90]", crp="real [0.0, 99.0]", sex="{f, m}", ill="{no, yes}")
    head, data = text.replace("?", "<null>").split("@data\n")
    return f"{head}@inputs age, sex, crp\n@outputs ill\n@data\n{data.replace(',', ', ')}"


FORMULAS = texts(crp=["=A2*2", *texts()["crp"][1:]])
SHIFTED = texts(dict(list(CLEAN.items())[::-1]))  # the label first, the age last
NO_LAC = texts(lac=[""] * N)

FILES: dict[str, File] = {
    "plain": File(csv(texts()), CLEAN),
    "semicolons": File(csv(texts(), ";"), CLEAN),
    "tabs": File(csv(texts(), "\t"), CLEAN, name="t.tsv"),
    "bars, and Windows": File(csv(texts(), "|", "\r\n"), CLEAN, name="t.txt"),
    "utf-16": File(csv(texts()).encode("utf-16"), CLEAN),
    "packed": File(gzip.compress(csv(texts()).encode()), CLEAN, name="t.csv.gz"),
    "frame": File(pd.DataFrame(CLEAN), CLEAN),
    # a separator at the end of each record
    "commas at ends": File(csv(texts(), line_end=","), CLEAN, remark="begins no"),
    "semicolons at ends": File(csv(texts(), ";", line_end=";"), CLEAN),
    "tabs at ends": File(csv(texts(), "\t", line_end="\t"), CLEAN, name="t.tsv"),
    "two at ends": File(csv(texts(), line_end=",,"), CLEAN, ("column_5",)),
    "the label first": File(csv(SHIFTED, line_end=","), CLEAN),
    "at the end of names, too": File(csv(texts(), end=",\n"), CLEAN, ("column_5",)),
    "at the end of names alone": File(csv(texts()).replace("ill\n", "ill,\n", 1), CLEAN),
    "an empty last column": File(csv(NO_LAC, line_end=","), CLEAN, ("lac",)),
    "as R writes it": File(
        csv({"": [f'"{k}"' for k in range(1, N + 1)], **texts()}).replace(",", "", 1),
        CLEAN,
        ("column_1",),
    ),
    "as R writes it, a sparse last column": File(
        csv(
            {"": [f'"{k}"' for k in range(1, 101)]}
            | {name: (cells * 3)[:100] for name, cells in texts().items()}
            | {"x": ["" if k < 90 else str(k % 3) for k in range(100)]}
        ).replace(",", "", 1),
        {name: (cells * 3)[:100] for name, cells in CLEAN.items()},
        ("column_1",),
    ),
    # declared by the file
    "ARFF": File(arff(), CLEAN, name="t.arff"),
    "ARFF in latin-1": File(("% Größe\n" + arff()).encode("latin-1"), CLEAN, name="t.arff"),
    "KEEL": File(keel(), CLEAN, name="t.dat"),
    "ARFF, levels in quotes of either kind": File(
        arff(sex="{\"f\",'f','m ', m}", ill="{'no',yes}"), CLEAN, name="t.arff"
    ),
    "ARFF, spellings": File(
        arff(texts(sex=MIXED), sex="{F,f,M,m}"),
        CLEAN | {"sex": COMMON},
        remark="are taken for one value",
        name="t.arff",
    ),
    "ARFF, a level that is not declared": File(
        arff(sex="{f}"), CLEAN, remark="'m', which its declaration lacks", name="t.arff"
    ),
    "ARFF, levels that mean no value": File(
        arff(
            texts(sex=["?" if k % 5 else "f" if k % 2 else "m" for k in range(N)]), sex="{f,m,NA}"
        ),
        {"sex": [None if k % 5 else "f" if k % 2 else "m" for k in range(N)]},
        name="t.arff",
    ),
    "categories, spellings": File(
        pd.DataFrame(CLEAN).assign(sex=pd.Categorical(MIXED)),
        CLEAN | {"sex": COMMON},
        remark="are taken for one value",
    ),
    "categories with blanks": File(
        pd.DataFrame(CLEAN).assign(
            sex=pd.Categorical([f"{v}{' ' * (k % 2)}" for k, v in enumerate(SEX)])
        ),
        CLEAN,
    ),
    # bytes
    "bytes": File(
        pd.DataFrame(CLEAN).assign(
            sex=[v.encode() for v in SEX],
            ill=[str(v).encode() for v in CLEAN["ill"]],
            crp=pd.Series([None if v is None else str(v).encode() for v in CLEAN["crp"]]),
        ),
        CLEAN,
    ),
    "bytes that are no text": File(
        pd.DataFrame(CLEAN).assign(sex=[b"\xff\xfe" + v.encode() for v in SEX]),
        refusal=r"column 'sex' holds b?.*bytes that are no UTF-8 text",
    ),
    "lists": File(
        pd.DataFrame(CLEAN).assign(sex=pd.Series([[v] for v in SEX])),
        refusal=r"column 'sex' holds \['[fm]'\], which is no single value",
        doors=("load(frame)",),
    ),
    # names by numbers
    "whole numbers with a gap": File(
        pa.table({**CLEAN, "patient_id": pa.array([None, *IDS[1:]], pa.int64())}),
        CLEAN,
        ("patient_id",),
        doors=("load(frame)",),
    ),
    "whole numbers of 18 digits": File(
        pa.table({**CLEAN, "patient_id": pa.array(IDS, pa.int64())}),
        CLEAN,
        ("patient_id",),
        clusters=N // 2,
    ),
    "floats that lost digits": File(
        pd.DataFrame(CLEAN).assign(patient_id=[float(k) for k in IDS]),
        refusal="column 'patient_id' holds .*, a number that has lost its last digits",
    ),
    "single floats that lost digits": File(
        pd.DataFrame(CLEAN).assign(
            patient_id=np.array([3e7 + k // 2 for k in range(N)], dtype=np.float32)
        ),
        refusal="column 'patient_id' holds .*, a number that has lost its last digits",
    ),
    "floats that are quantities": File(
        pd.DataFrame(CLEAN).assign(x=[(k * 7 % N + 0.5) * 1e17 for k in range(N)]),
        CLEAN | {"x": [(k * 7 % N + 0.5) * 1e17 for k in range(N)]},
    ),
    "shuffled row numbers": File(csv({"": SHUFFLED, **texts()}), CLEAN, ("column_1",)),
    "row numbers as pandas names them": File(
        csv({"Unnamed: 0": SHUFFLED, **texts()}), CLEAN, ("Unnamed: 0",)
    ),
    "row numbers as readr names them": File(csv({"...1": SHUFFLED, **texts()}), CLEAN, ("...1",)),
    "a named column of whole numbers": File(
        csv({"x": SHUFFLED, **texts()}), CLEAN | {"x": [float(v) for v in SHUFFLED]}
    ),
    "codes of two digits": File(
        csv(texts(site=[f"{k % 10 + 1:02d}" for k in range(N)])),
        CLEAN | {"site": [f"{k % 10 + 1:02d}" for k in range(N)]},
        remark="different numbers with a zero in front",
    ),
    "codes that outgrow their zeros": File(
        csv(texts(site=[["08", "09", "10", "100"][k % 4] for k in range(N)])),
        CLEAN | {"site": [["08", "09", "10", "100"][k % 4] for k in range(N)]},
    ),
    "a number with a zero in front": File(
        csv(texts(x=["05", *[str(k * 7 % 30) for k in range(1, N)]])),
        CLEAN | {"x": [5.0, *[float(k * 7 % 30) for k in range(1, N)]]},
        remark="x: holds '05', which is read as the number 5",
    ),
    "whole numbers with decimals": File(
        csv(texts(age=[f"{float(v):.6f}" for v in texts()["age"]])), CLEAN
    ),
    "powers of ten": File(csv(texts(age=[f"{float(v):.18e}" for v in texts()["age"]])), CLEAN),
    "wells": File(
        csv(texts(well=[f"{k % 2 + 1}E{k % 3 + 1}" for k in range(N)])),
        CLEAN | {"well": [f"{k % 2 + 1}E{k % 3 + 1}" for k in range(N)]},
        remark="read as names and no powers of ten",
    ),
    "wells among numbers": File(
        csv(texts(x=["1E2", *[str(k * 7 % 30) for k in range(1, N)]])),
        CLEAN | {"x": [100.0, *[float(k * 7 % 30) for k in range(1, N)]]},
        remark="x: holds '1E2', which is read as the number 100",
    ),
    # words for no value
    **{
        f"no value: {word}": File(
            csv(texts(occ=_occ(word))), {"occ": _occ(None)}, remark="means no value (occ)"
        )
        for word in ("\\N", "<NA>", "(null)", "NaT", "#NULL!", "<null>", "Null", "NAN")
    },
    **{
        f"maybe no value: {word}": File(
            csv(texts(occ=_occ(word))), {"occ": _occ(word)}, remark="may mean no value"
        )
        for word in (
            *("None", "Nicht gemacht", "k. A.", "non fait", "sin datos"),
            "Not recorded",
            "-",
            "n.a.",
            "unknown",
            "#DIV/0!",
            "Na",
            "not_done",
            "--",
        )
    },
    # records
    "text behind a quote": File(
        csv(texts(x=['"a"b', *["c", "d"] * (N // 2 - 1), "c"])), refusal="line 2 is no rec"
    ),
    "blanks around quotes": File(csv(texts(sex=[f' "{v}" ' for v in SEX])), CLEAN),
    "quotes within": File(
        csv(texts(x=[['"a ""b"" , c"', "d"][k % 2] for k in range(N)])),
        CLEAN | {"x": [['a "b" , c', "d"][k % 2] for k in range(N)]},
    ),
    "words in rows that are left out": File(
        csv(texts(crp=["not done", *texts()["crp"][1:]], ill=["", *texts()["ill"][1:]])),
        {name: cells[1:] for name, cells in CLEAN.items()},
    ),
    # spreadsheets
    "Excel": File(book(("data", texts())), CLEAN),
    "a hidden first sheet": File(
        book(("old", OLD), ("data", texts()), hidden=("old",)),
        CLEAN,
        remark="of 2 sheets ('old': hidden) 'data' is read",
    ),
    "a sheet of words first": File(book(("README", None), ("data", texts())), CLEAN),
    "a sheet of lists first": File(
        book(("lists", {"sex": ["f", "m"], "ward": ["1", "2"]}), ("data", texts())), CLEAN
    ),
    "a sheet that is named": File(
        book(("old", OLD), ("data", texts())), CLEAN, options={"sheet": "data"}
    ),
    "a hidden sheet that is named": File(
        book(("a", OLD), ("b", texts()), hidden=("b",)), CLEAN, options={"sheet": "b"}
    ),
    "no such sheet": File(
        book(("old", OLD), ("data", texts())),
        refusal=r"sheet is 'dat'; the sheets of .* are 'old', 'data'; did you mean 'data'\?",
        options={"sheet": "dat"},
    ),
    "no sheet with the label": File(
        book(("a", {"x": ["1", "2"], "y": ["1", "2"]}), ("b", {"z": ["1", "2"]})),
        refusal=r"sheet 'a' \(others: 'b'\): there is no column 'ill'",
    ),
    "a formula without a value": File(
        book(("notes", None), ("data", FORMULAS)),
        refusal=r"t\.xlsx, sheet 'data': the formula in cell C2 has no stored value; open",
    ),
    "a formula on another sheet": File(
        book(("data", texts()), ("sums", {"x": ["=SUM(data!A2:A9)"]})), CLEAN
    ),
    "a sheet of a text file": File(
        csv(texts()),
        refusal="sheet is 'data', and .*t.csv is no spreadsheet",
        options={"sheet": "data"},
    ),
}


# new cases have no column that the table lacked
LACKING = (
    "an empty last column",
    "as R writes it, a sparse last column",
    "whole numbers of 18 digits",
)


@pytest.mark.parametrize(
    ("file", "door"),
    [
        (file, door)
        for file in FILES
        for door in DOORS
        if takes(door, FILES[file]) and not (door == "cases" and file in LACKING)
    ],
)
def test_a_file_is_read_alike_by_every_door(tmp_path, capsys, file, door):
    entry = FILES[file]
    if entry.refusal:
        with pytest.raises(FrugalError, match=entry.refusal) as refused:
            DOORS[door](entry, tmp_path)
        assert "\n" not in str(refused.value)
        return
    read = DOORS[door](entry, tmp_path)
    for name, cells in entry.reading.items():
        assert read[name] == cells, name
    assert not set(entry.absent) & set(read)
    assert door not in REMARKS or entry.remark in capsys.readouterr().out


SEARCH: dict[str, Any] = {"name": "s", "title": "S", "file": "own.csv", "layout": "long"}
SEARCH |= {"unit": "unit", "belongs_to": "whose", "step": "step", "treatment": "drug"}
SEARCH |= {"outcome": "result", "outcomes": {"levels": [0, 1, 2]}}
SEARCH |= {"covariates": {"age": {"edges": [64.5]}, "smokes": {"levels": [False, True]}}}
SEARCH |= {"delta": [0.2]}
TRIALS = {
    "unit": ["1", "1", "2", "3", "3"],
    "whose": ["10", "10", "10", "12", "12"],
    "step": ["1.5", "2.5", "1", "2", "1.25"],
    "drug": ["A", "B", "B", "A", "C"],
    "result": ["0", "2", "1", "", "1"],
    "age": ["70.5", "70.5", "", "64", "64"],
    "smokes": ["FALSE", "FALSE", "TRUE", "", ""],
}
WARDS = {
    "name": "w",
    "cost_unit": "EUR",
    "measurements": {
        "file": "own.csv",
        **{name: name for name in ("item", "ordered", "result", "value")},
        "unit": "stay",
    },
    "units": {
        "file": "units.csv",
        "unit": "stay",
        "static": ["age", "ward"],
        "cluster": "whose",
        "label": {"column": "died", "negative": "no", "positive": "yes"},
    },
    "windows": {"hours": 8, "number": 2},
    "columns": {"crp": {"item": "crp"}, "lac": {"item": "7"}},
    "panels": {"lab": {"columns": ["crp", "lac"], "price": 10}},
    "errors": {"missed": 2000, "false_alarm": 500},
}
VALUES = {
    "stay": ["1", "1", "2", "2", "3"],
    "item": ["crp", "7", "crp", "7", "7"],
    "ordered": ["0.5", "9", "1", "8.25", "2"],
    "result": ["1.5", "10", "2", "9.75", "3"],
    "value": ["1.5", "20", "", "1200.5", "3"],
}
STAYS = {
    "stay": ["1", "2", "3"],
    "age": ["62.5", "", "40"],
    "ward": ["medical", "surgical", "medical"],
    "whose": ["11", "12", "11"],
    "died": ["no", "yes", ""],
}
PEOPLE = {"unit": ["1", "2"], "group": ["old", "young"], "income": ["1", "0"], "saving": ["1", "2"]}
ACTIONS = {
    "action": ["threshold", "work", "save"],
    "cost": ["", "5", "2.5"],
    "groups": ["", '"old;young"', "young"],
    "income": ["3", "3", "0"],
    "saving": ["2", "0", "1"],
}
PLAIN_PRICES = {"panel": ["crp", "age"], "price": ["4.5", "20"]}
NUMERIC = ("step", "age", "ordered", "result", "value", "income", "saving", "cost", "price")


def read_search(files: Mapping[str, Path]) -> Any:
    described = describe_records(SEARCH, files["own"].parent / "s.yaml")
    own = read_own_records(described, files["own"])
    arrays = (own.covariate, own.action, own.outcome, own.cluster)
    return own.names, own.treatments, [array.tolist() for array in arrays]


def read_wards(files: Mapping[str, Path]) -> Any:
    path = files["own"].parent / "w.yaml"
    path.write_text(yaml.safe_dump(WARDS))
    paths = (files["own"], files["units"])
    data = read_over_time(path, paths)
    running, now = read_running(data.keys, paths, data.levels, None)
    found = data.records
    arrays = (found.values, found.static, found.label, found.cluster, running.values, now)
    return found.unit.tolist(), [np.nan_to_num(array, nan=-1).tolist() for array in arrays]


def read_recourse(files: Mapping[str, Path]) -> Any:
    catalogue = catalogue_of(read_sheet(files["actions"], "action", "cost"), source="a")
    names, features, group = units_of(read_sheet(files["units"], "unit"), catalogue, source="u")
    instance = catalogue.instance
    arrays = (instance.cost, instance.provides, instance.thresholds, instance.access)
    return names, catalogue.groups, [a.tolist() for a in (*arrays, features, group)]


def read_prices(files: Mapping[str, Path]) -> Any:
    return stated_amounts("--prices", str(files["own"]), "EUR")


OWN_DOORS: dict[str, tuple[Callable[[Mapping[str, Path]], Any], Mapping[str, Any]]] = {
    "search": (read_search, {"own": TRIALS}),
    "over_time": (read_wards, {"own": VALUES, "units": STAYS}),
    "recourse": (read_recourse, {"units": PEOPLE, "actions": ACTIONS}),
    "prices": (read_prices, {"own": PLAIN_PRICES}),
}


def _marked(cells: Mapping[str, list[str]], change: Callable[[str], str]) -> dict[str, list[str]]:
    return {n: [change(c) if n in NUMERIC else c for c in column] for n, column in cells.items()}


def _with_zero(cells: Mapping[str, list[str]]) -> dict[str, list[str]]:
    """Each whole number as a column of decimals has it."""
    return {n: [f"{c}.0" if c.isdigit() else c for c in column] for n, column in cells.items()}


def _stored(cells: Mapping[str, list[str]], path: Path) -> Path:
    columns = {n: [_typed(cell) for cell in column] for n, column in cells.items()}
    frame = pd.DataFrame({n: pd.Series(c).infer_objects() for n, c in columns.items()})
    texts = {n: frame[n].astype("string") for n in frame if frame[n].dtype == object}
    frame.assign(**{str(n): column for n, column in texts.items()}).to_parquet(
        path.with_suffix(".parquet"), index=False
    )
    return path.with_suffix(".parquet")


def _texts(change: Callable[[Mapping[str, list[str]]], str], suffix: str = ".csv", **how: Any):
    def write(cells: Mapping[str, list[str]], path: Path) -> Path:
        content = change(cells).encode(how.get("encoding", "utf-8"))
        packed = gzip.compress(content) if suffix.endswith("gz") else content
        place = path.with_name(path.name + suffix)
        place.write_bytes(packed)
        return place

    return write


def _sheets(cells: Mapping[str, list[str]], path: Path) -> Path:
    place = path.with_suffix(".xlsx")
    place.write_bytes(book(("README", None), ("old", cells), ("data", cells), hidden=("old",)))
    return place


def _commas(cells: Mapping[str, list[str]]) -> str:
    return csv(_marked(cells, lambda cell: cell.replace(".", ",")), ";")


FORMS: dict[str, Callable[[Mapping[str, list[str]], Path], Path]] = {
    "decimal commas": _texts(_commas),
    "tabs": _texts(lambda cells: csv(cells, "\t"), ".tsv"),
    "bars": _texts(lambda cells: csv(cells, "|"), ".txt"),
    "Windows": _texts(lambda cells: csv(cells, end="\r\n")),
    "utf-16": _texts(csv, encoding="utf-16"),
    "a mark at its beginning": _texts(csv, encoding="utf-8-sig"),
    "packed": _texts(csv, ".csv.gz"),
    "a separator at the end": _texts(lambda cells: csv(cells, line_end=",")),
    "a title": _texts(lambda cells: "Exported by the laboratory\n\n" + csv(cells)),
    "blanks": _texts(
        lambda cells: csv({f" {n} ": [f" {c} " for c in v] for n, v in cells.items()})
    ),
    "whole numbers with decimals": _texts(lambda cells: csv(_with_zero(cells))),
    "no value": _texts(lambda cells: csv(_marked(cells, lambda cell: cell or "NA"))),
    "no value as None": _texts(lambda cells: csv(_marked(cells, lambda cell: cell or "?"))),
    "Excel": _sheets,
    "Parquet": _stored,
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("door", OWN_DOORS)
def test_files_of_every_study_are_read_alike_in_every_form(tmp_path, door, form):
    read, tables = OWN_DOORS[door]
    plain, other = {}, {}
    for name, cells in tables.items():
        plain[name] = tmp_path / f"{name}_plain.csv"
        plain[name].write_text(csv(cells))
        other[name] = FORMS[form](cells, tmp_path / name)
    assert read(other) == read(plain)
