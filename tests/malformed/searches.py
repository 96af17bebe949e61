"""Data sets of `treatment`: through its commands."""

import json
import shutil
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import yaml

from tests.defaults import DEFAULT
from tests.malformed.cases import Case, command
from tests.malformed.plain_words import of_change
from tests.studies.treatment.search_files import (
    AMR_DRUGS,
    DRUGS,
    amr_file,
    kpneumoniae_file,
    write_rows,
)
from tests.studies.treatment.search_files import BREAKPOINTS as CLSI
from tests.unit.spoiling import DELETE, spoilt

TREATMENT = "Data sets of `treatment`: YAML and files"
ECOLI: dict[str, Any] = {
    "name": "own",
    "title": "Own",
    "note": "made up",
    "reader": "ecoli_ast",
    "files": [{"name": "e.csv", "url": "https://example.org", "sha256": [], "downloadable": False}],
    "actions": {"ceftazidime": "CTZ", "gentamicin": "GEN"},
    "results": ["R", "S"],
    "options": {},
}
ROWS = [[f"i{k}", "RS"[k % 2], "RS"[k // 2 % 2]] for k in range(40)]
SETTINGS = DEFAULT["treatment"]


def _prepare(content: Any) -> str:
    """The command `prepare_searches` on `own.yaml` and the file `e.csv` that lies there."""
    text = content if isinstance(content, str) else yaml.safe_dump(content)
    Path("own.yaml").write_text(text, encoding="utf-8")
    settings = {"seeds": 1, "test_share": 0.3, "prescribing": SETTINGS["prescribing"]}
    words = ["prepare_searches", "--seed", "0", "--settings", json.dumps(settings)]
    words += ["--input", "description=own.yaml", "--input", "raw_0=e.csv"]
    for name, suffix in (("units", "parquet"), ("catalogue", "json"), ("searches", "parquet")):
        words += ["--output", f"{name}=results/{name}.{suffix}"]
    return command(*words)


def _described(content: Any) -> str:
    write_rows(Path("e.csv"), ["Isolate", "CTZ", "GEN"], ROWS)
    return _prepare(content)


def _ecoli(header: list[str], rows: list[list[str]]) -> str:
    write_rows(Path("e.csv"), header, rows)
    return _prepare(ECOLI)


def _ecoli_bytes(content: bytes) -> str:
    Path("e.csv").write_bytes(content)
    return _prepare(ECOLI)


def _kpneumoniae(texts: dict[str, list[str]], **options: Any) -> str:
    kpneumoniae_file(Path(), texts)
    shutil.move("mic.csv", "e.csv")
    content = ECOLI | {"reader": "kpneumoniae_mic", "actions": DRUGS, "results": ["R", "I", "S"]}
    return _prepare(content | {"options": {"breakpoints": CLSI} | options})


def _amr(old: str, new: str, **options: Any) -> str:
    amr_file(Path(), 60, 0)
    text = Path("isolates.csv").read_text(encoding="utf-8")
    if old == "age":  # of the first record
        person, _, rest = text.split("\n")[1].split(",", 2)
        old, new = f"{person},20", f"{person},{new}"
        text = text.replace(text.split("\n")[1], f"{person},20,{rest}", 1)
    assert old in text
    Path("e.csv").write_text(text.replace(old, new, 1), encoding="utf-8")
    content = ECOLI | {"reader": "amr_isolates", "actions": AMR_DRUGS, "results": ["R", "I", "S"]}
    known = {"organisms": {"E. coli": "B_ESCHR_COLI"}, "factors": ["gender", "ward", "age_group"]}
    return _prepare(content | {"options": known | options})


def _yamls() -> Iterator[tuple[tuple[Any, ...], Any, str]]:
    yield ("reader",), "ecoli", "reader"
    yield ("reader",), "mimic3", "option 'exclude_other_antibiotics' is missing"
    yield ("reader",), "kpneumoniae_mic", "option 'breakpoints' is missing"
    yield ("options",), {"breakpoints": "x"}, "option 'breakpoints' does not apply"
    yield ("options",), None, "'options'"
    yield ("files",), [], "files has 0 entries"
    yield ("files", 0, "sha256"), "x", "sha256"
    yield ("files", 0, "sha256"), ["0" * 64], "SHA-256"
    yield ("files", 0, "url"), "example.org", "url"
    yield ("files", 0, "downloadable"), "no", "downloadable"
    yield ("actions",), {}, "actions"
    yield ("actions",), ["CTZ", "GEN"], "actions"
    yield ("actions",), {"ceftazidime": "CTX"}, "'CTX'"
    yield ("actions",), {"a": "CTZ", "b": "CTZ"}, "'CTZ'"
    yield ("results",), ["S", "R"], "from the worst on"
    yield ("results",), ["R"], "results"
    yield ("results",), ["R", "I", "X", "S"], "results"
    yield ("results",), [], "results"
    yield ("name",), "../own", "'name'"
    yield ("redaer",), "ecoli_ast", "did you mean 'reader'"
    yield ("title",), DELETE, "'title' is missing"


def cases() -> Iterator[Case]:
    """YAML, then files."""
    add = partial(Case, TREATMENT)
    for place, value, words in _yamls():
        yield add(
            of_change(place, value),
            partial(
                _described,
                spoilt(ECOLI | {"redaer": 0} if place == ("redaer",) else ECOLI, place, value),
            ),
            words,
        )
    header = ["Isolate", "CTZ", "GEN"]
    readers = (_ecoli_bytes, _ecoli, _kpneumoniae, _amr)
    sent, rows, doses, amr = (partial(partial, reader) for reader in readers)
    for name, work, words in (
        (
            "a letter that is no result",
            rows(header, [*ROWS, ["x", "X", "S"]]),
            "'X'; allowed are R, S or nothing",
        ),
        ("a small letter", rows(header, [*ROWS, ["x", "s", "S"]]), "'s'"),
        ("a drug's column misspelt", rows(["Isolate", "CTX", "GEN"], ROWS), "'CTZ'"),
        ("no isolate that was tested against all", rows(header, [["i", "S", ""]]), "none"),
        ("a header only", rows(header, []), "holds no record"),
        ("an empty file", sent(b""), "e.csv"),
        ("a page of a web server", sent(b"<html><body>404</body></html>"), "e.csv"),
        ("Latin-1 in place of UTF-8", sent(b"Isolate,CTZ,GEN\n\xe9,S,R\n"), "e.csv"),
        ("a line of too many cells", sent(b"Isolate,CTZ,GEN\na,S,R\nb,S,R,S\n"), "e.csv"),
        ("a line of too few cells", sent(b"Isolate,CTZ,GEN\na,S,R\nb,S\nc,R,R\n"), "e.csv"),
        ("two columns of a name", sent(b"Isolate,CTZ,CTZ,GEN\na,S,R,S\nb,R,S,R\n"), "'CTZ'"),
        ("semicolons", sent(b"Isolate;CTZ;GEN\na;S;R\n"), "e.csv"),
        ("an open quote", sent(b'Isolate,CTZ,GEN\n"a,S,R\nb,S,R\n'), "e.csv"),
        ("one isolate", rows(header, ROWS[:1]), "own"),
        ("a gzip cut off, without the ending .gz", sent(b"\x1f\x8b\x08\x00abc"), "e.csv"),
        (
            "a concentration in words",
            doses({"K1": ["about 4", "4", "1"]}),
            "'about 4' cannot be read",
        ),
        ("a concentration with a decimal comma", doses({"K1": ["0,5", "4", "1"]}), "'0,5'"),
        ("a negative concentration", doses({"K1": ["-4", "4", "1"]}), "'-4'"),
        ("an infinite concentration", doses({"K1": ["1e999", "4", "1"]}), "'1e999'"),
        (
            "unknown breakpoints",
            doses({"K1": ["1"] * 3}, breakpoints="EUCAST"),
            "no breakpoints 'EUCAST'; allowed are 'CLSI",
        ),
        ("an unknown covariate", amr("patient", "patient", factors=["age"]), "'age'"),
        ("a covariate twice", amr("patient", "patient", factors=["ward", "ward"]), "ward"),
        (
            "an organism that no isolate is",
            amr("patient", "patient", organisms={"x": "B_X"}),
            "none of 0 units",
        ),
        ("an unknown ward", amr("ICU", "Moon"), "'Moon'"),
        ("an unknown gender", amr(",F,", ",X,"), "'X'"),
        ("an age in words", amr("age", "twenty"), "'twenty'"),
        ("a negative age", amr("age", "-20"), "'-20'"),
        ("an age that is missing", amr("age", ""), "age"),
    ):
        yield add(name, work, words)
