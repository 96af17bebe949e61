"""New cases: `python -m frugal advise` and `export`, with spoilt CSVs and spoilt bundles."""

import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from frugal.results.files import seal

from tests.malformed.cases import Case, Warned, Wrong, command
from tests.unit.test_advice import HEAD, made

GROUP = "`python -m frugal advise` and `export`"
ROW = "a,60,no,,,\n"


def _advised(content: bytes, words: list[str]) -> str:
    """A file of cases beside a good bundle."""
    made(Path("bundle"))
    Path("cases.csv").write_bytes(content)
    return command("advise", "bundle", "cases.csv", *words)


def _stranger() -> Warned:
    message = _advised((HEAD + "a,60,perhaps,,,\n").encode(), [])
    if "smoker perhaps: never seen" not in message:
        raise Wrong(message)
    return Warned("the row is marked: smoker perhaps: never seen")


def _edited(name: str, old: bytes, new: bytes) -> str:
    made(Path("other"))
    return _spoilt(name, Path("other", name).read_bytes().replace(old, new))


def _spoilt(name: str, content: bytes | None) -> str:
    """A good file of cases beside a bundle of which one file is another."""
    made(Path("bundle"))
    Path("cases.csv").write_text(HEAD + ROW)
    place = Path("bundle", name)
    if content is None:
        place.unlink()
    else:
        place.write_bytes(content)
    return command("advise", "bundle", "cases.csv")


def _document(**changed: object) -> bytes:
    """The description of the good bundle with another value somewhere."""
    made(Path("other"))
    document = json.loads(Path("other/cases.json").read_text()) | changed
    return json.dumps(document | {"seal": seal(document)}).encode()


def _changed(key: str, value: object) -> str:
    return _spoilt("cases.json", _document(**{key: value}))


def _texts() -> Iterator[tuple[str, str, str]]:
    yield "no line", "", "has 0 lines"
    yield "a header alone", HEAD, "has 1 lines"
    yield "a column too few", "case,age,smoker,job,marker\na,60,no,,\n", "column 'scan'"
    yield "a column misspelt", HEAD.replace("scan", "scam") + ROW, "did you mean 'scam'"
    yield "a column too many", HEAD.strip() + ",bmi\n" + ROW.strip() + ",25\n", "column 'bmi'"
    yield "a column twice", HEAD.strip() + ",age\n" + ROW.strip() + ",60\n", "'age'"
    yield "no header", "a,60,no,x,1,2\nb,61,no,,,\n", "column 'age'"
    yield "a text in a number", HEAD + "a,sixty,no,,,\n", "'sixty', which is not a number"
    yield "a number beyond single precision", HEAD + "a,1e39,no,,,\n", "'age' holds 1e+39"
    yield "an empty cell of a free panel", HEAD + "a,,no,,,\n", "panel 'interview' is free"
    yield "a record too short", HEAD + "a,60,no\n", "has 3 cells"
    yield "a quote that is never closed", HEAD + '"a,60,no,,,\n', "never closed"


def cases() -> Iterator[Case]:
    """Every case of the group."""
    for name, text, message in _texts():
        yield Case(GROUP, f"cases: {name}", partial(_advised, text.encode(), []), message)
    no_text = partial(_advised, b"\xff\xfe\x00a", [])
    yield Case(GROUP, "cases: bytes that are no text", no_text, "has 1 lines")
    yield Case(GROUP, "cases: an unknown level", _stranger, "never seen", ends="warned")
    for name, file, old, new in (
        ("a price", "policy.safetensors", b'\\"cost\\": 30', b'\\"cost\\": 31'),
        ("a cost of errors", "cases.json", b"5000.0", b"50.0"),
    ):
        yield Case(
            GROUP,
            f"a bundle with {name} edited",
            partial(_edited, file, old, new),
            f"{file} is not as it was written",
        )
    for name, words, message in (
        ("`--id` of no column", ["--id", "name"], "--id names"),
        ("`--without` no panel", ["--without", "blod"], "--without 'blod' … did you mean 'blood'?"),
        ("`--out` the cases", ["--out", "cases.csv"], "is a file that is read"),
        ("`--out` the bundle", ["--out", "bundle/cases.json"], "is a file that is read"),
        ("`--hours` of a table", ["--hours", "8"], "--hours does not apply"),
        ("`--refer 1_0`", ["--refer", "1_0"], "--refer is '1_0'"),
        ("`--function` beside arrays", ["--function", "f.py"], "--function f.py"),
        ("`--rollout -1`", ["--rollout", "-1"], "--rollout"),
    ):
        yield Case(GROUP, name, partial(_advised, (HEAD + ROW).encode(), words), message)
    for name, file, content, message in (
        ("without its policy", "policy.safetensors", None, "is no bundle"),
        ("without its description", "cases.json", None, "is no bundle of a policy"),
        ("with a policy cut off", "policy.safetensors", b"abc", "policy.safetensors"),
        ("with a classifier cut off", "classifier.safetensors", b"abc", "classifier.safetensors"),
        ("with a description that is a list", "cases.json", b"[]", "edition"),
        ("with a description that is no JSON", "cases.json", b"{", "cases.json"),
    ):
        yield Case(GROUP, f"a bundle {name}", partial(_spoilt, file, content), message)
    for name, key, value, message in (
        ("of another edition", "bundle", 7, "edition 4"),
        ("of a member that it lacks", "member", 3, "policy 3 of 1"),
        ("with costs of other classes", "misclassification_cost", [[0]], "costs of errors … 2 × 2"),
        ("that describes no column", "cases", {}, "lacks or adds 'columns'"),
        ("with one key more", "code", "import os", "lacks or adds 'code'"),
    ):
        yield Case(GROUP, f"a bundle {name}", partial(_changed, key, value), message)
