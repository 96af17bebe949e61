"""What lies under results/: tables, models, documents, manifests and journals, spoilt."""

import json
import os
import pickle
import struct
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from frugal.answer.stored import require_graph, require_masks
from frugal.data.tables import table_from_frames
from frugal.learn.tree_scoring import predict_proba
from frugal.learn.trees import TreeEnsemble, fit_forest
from frugal.results.files import json_bytes, payload_bytes, read_payload, seal
from frugal.results.manifests import Checkpoint, Job, load_manifest, manifest_path
from frugal.results.survey import survey, tidy_up

from tests.malformed.cases import Case, command
from tests.unit import test_bad_files, test_stored_laws
from tests.unit.partly_observed import draw
from tests.unit.result_chains import TABLE, seal_anew, write_chain
from tests.unit.spoiling import spoilt

FILES = "Stored files: Parquet, JSON, safetensors"
MODELS = "Stored models, tables and laws"
VOUCHERS = "Manifests and journals"
VALUES, OBSERVED, LABEL = draw(n=120, d=4, classes=3, share=0.7, seed=3)


def _one(dtype: str = "F32", shape: Any = (1,), offsets: Any = (0, 4)) -> dict[str, Any]:
    return {"a": {"dtype": dtype, "shape": list(shape), "data_offsets": list(offsets)}}


HEADERS: dict[str, tuple[Any, bytes]] = {
    "bfloat16": (_one("BF16", [2]), b"0" * 4),
    "float8": (_one("F8_E4M3", [4]), b"0" * 4),
    "float4": (_one("F4", [8]), b"0" * 4),
    "big-endian": (_one(">F4"), b"0" * 4),
    "a size that overflows": (_one(shape=[2**62, 4]), b"0" * 4),
    "an empty array too large": (_one(shape=[2**62, 0], offsets=[0, 0]), b""),
    "a negative size": (_one(shape=[-1]), b"0" * 4),
    "more numbers than bytes": (_one(shape=[2], offsets=[0, 8]), b"0" * 4),
    "more bytes than numbers": (_one(), b"0" * 8),
    "offsets beyond the end": (_one(offsets=[2**40, 2**40 + 4]), b"0" * 4),
    "a hole": (_one(offsets=[4, 8]), b"0" * 8),
    "two arrays in one place": (_one() | {"b": _one()["a"]}, b"0" * 4),
    "a list": (b"[]", b""),
    "deep": (b'{"a":' * 100_000, b""),
    "not UTF-8": (b'{"\xff":{}}', b""),
    "a hundred axes": (_one(shape=[1] * 100), b"0" * 4),
}


def _lying(path: Path, header: Any, body: bytes, size: int | None = None) -> Path:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text) if size is None else size) + text + body)
    return path


def _read(name: str, content: bytes) -> str:
    Path(name).write_bytes(content)
    read_payload(Path(name))
    return "read"


def _read_header(header: Any, body: bytes, size: int | None = None) -> str:
    _lying(Path("w.safetensors"), header, body, size)
    read_payload(Path("w.safetensors"))
    return "read"


def files() -> Iterator[Case]:
    """Files that are not what their suffix says."""
    for name, payload in test_bad_files.PAYLOADS.items():
        whole = payload_bytes(Path(name), payload)
        for what, content in (
            ("empty", b""),
            ("cut off in the middle", whole[: len(whole) // 2]),
            ("its first half twice", whole[: len(whole) // 2] * 2),
            ("64 bytes of ones", b"\xff" * 64),
            ("100,000 open brackets", b"[" * 100_000),
            ("a page of a web server", b"<html>"),
            ("a pickle", pickle.dumps([1])),
            ("marks of Parquet alone", b"PAR1PAR1"),
        ):
            yield Case(FILES, f"`{name}`: {what}", partial(_read, name, content), name)
    for what, content in (
        ("two documents", b"{} {}"),
        ("a number of 5,000 digits", b"9" * 5000),
        ("Latin-1", b'{"a": "\xe9"}'),
    ):
        yield Case(FILES, f"`d.json`: {what}", partial(_read, "d.json", content), "d.json")
    for what, (header, body) in HEADERS.items():
        work = partial(_read_header, header, body)
        yield Case(FILES, f"a header of `w.safetensors`: {what}", work, "w.safetensors")
    for size in (10**9, 2**63, 2**64 - 1):
        work = partial(_read_header, b"{}", b"", size)
        yield Case(
            FILES, f"a header of `w.safetensors` said to have {size} bytes", work, "too large"
        )
    yield Case(FILES, "a pipe for a table", _pipe, "t.parquet is a folder, a pipe")
    yield Case(FILES, "a folder for a table", _folder, "t.parquet is a folder, a pipe")


def _pipe() -> str:
    os.mkfifo("t.parquet")
    return str(read_payload(Path("t.parquet")))


def _folder() -> str:
    Path("t.parquet").mkdir()
    return str(read_payload(Path("t.parquet")))


@cache
def forest() -> dict[str, np.ndarray]:
    """Arrays of a small forest, as they are stored."""
    rng = np.random.default_rng(0)
    return fit_forest(VALUES, OBSERVED, LABEL, classes=3, trees=2, min_leaf=9, rng=rng).to_arrays()


def _predict(name: str, change: Callable[[np.ndarray], np.ndarray | None]) -> str:
    """Store the forest with one array changed, read it back, use it."""
    arrays = dict(forest())
    changed = change(arrays[name].copy())
    if changed is None:
        del arrays[name]
    else:
        arrays[name] = changed
    path = Path("classifier.safetensors")
    path.write_bytes(payload_bytes(path, arrays))
    ensemble = TreeEnsemble.from_arrays(read_payload(path))
    predict_proba(ensemble, VALUES, OBSERVED)
    return "predictions"


def _at_first(value: Any) -> Callable[[np.ndarray], np.ndarray]:
    def change(array: np.ndarray) -> np.ndarray:
        array[0] = value
        return array

    return change


def models() -> Iterator[Case]:
    """A forest, a table with its catalogue, a missingness law."""
    for what, name, change in (
        ("a child beyond the end", "right", _at_first(10**8)),
        ("a child that is its own parent", "right", _at_first(0)),
        ("a negative child", "right", _at_first(-1)),
        ("a feature beyond the columns", "feature", _at_first(99)),
        ("a threshold that is NaN", "threshold", _at_first(np.nan)),
        ("an infinite threshold", "threshold", _at_first(np.inf)),
        ("a leaf that is NaN", "leaf_value", lambda a: np.full_like(a, np.nan)),
        ("leaves of one class", "leaf_value", lambda a: a[:, :1]),
        ("a root beyond the end", "root", _at_first(10**6)),
        ("no roots", "root", lambda a: a[:0]),
        ("an array of two axes", "threshold", lambda a: a[None]),
        ("complex numbers", "threshold", lambda a: a.astype(np.complex64)),
        ("an array of another length", "missing_left", lambda a: a[:-1]),
        ("an array that lacks", "feature", lambda a: None),
        ("an unknown link", "link", _at_first(7)),
    ):
        work = partial(_predict, name, change)
        yield Case(MODELS, f"a forest: {what} (`{name}`)", work, "classifier.safetensors")
    yield from _laws()
    yield from _tables()


def _law(graph: Any, known: Any, masks: Any) -> str:
    require_graph(graph, known, test_stored_laws.table())
    require_masks(masks, test_stored_laws.table())
    return "taken"


def _laws() -> Iterator[Case]:
    graph, known, masks = test_stored_laws.stored()
    with_columns = masks.assign
    at = ("indicators", "p")
    for what, place, value, words in (
        (
            "an intercept that is NaN",
            (*at, "intercept"),
            float("nan"),
            "at indicators.p.intercept is 'nan'",
        ),
        (
            "a cause that is no column",
            (*at, "values"),
            {"z": 1.0},
            "column that causes missingness 'z'",
        ),
        ("a cycle of panels", (*at, "indicators"), {"q": 1.0}, "has the cycle"),
        (
            "an unknown source",
            ("source",),
            "guessed",
            "has the source 'guessed'; allowed are induced, own",
        ),
        ("a panel that lacks", ("indicators",), {}, "laws of no panel"),
        ("a list for the panels", ("indicators",), [], "indicators"),
    ):
        work = partial(_law, spoilt(graph, place, value), known, masks)
        yield Case(MODELS, f"a missingness graph: {what}", work, words)
    for what, frame, words in (
        ("no column of a panel", masks.drop(columns="observed:p"), "lack the column 'observed:p'"),
        ("a mask of numbers", with_columns(**{"observed:p": 1.0}), "is of type float64"),
        (
            "probabilities that are NaN",
            with_columns(**{"probability:q": np.nan}),
            "'probability:q'",
        ),
        ("probabilities above 1", with_columns(**{"probability:p": 1.5}), "'probability:p'"),
        ("a row too few", masks.iloc[:-1], "seed 1 of the stored masks has 39 rows"),
        ("rows in another order", masks.iloc[::-1], "seed 1 of the stored masks has 40 rows"),
    ):
        yield Case(MODELS, f"stored masks: {what}", partial(_law, graph, known, frame), words)


def _table(frame: Any, catalogue: Any) -> str:
    table_from_frames(frame, catalogue)
    return "taken"


def _tables() -> Iterator[Case]:
    frame, catalogue = test_stored_laws._frames()
    for what, wrong, words in (
        ("a column that lacks", frame.drop(columns="a"), "lacks column 'a'"),
        (
            "labels of decimals",
            frame.assign(label=0.5),
            "'label' of the stored table is of type float64",
        ),
        (
            "a label beyond the classes",
            frame.assign(label=np.arange(len(frame)) % 3),
            "labels … run from 0 to 2",
        ),
        (
            "negative labels",
            frame.assign(label=-2 * (np.arange(len(frame)) % 2)),
            "labels … run from -2 to 0",
        ),
        ("no label", frame.assign(label=np.arange(len(frame)) % 3 - 1), "have no label"),
        ("a row twice", frame.assign(row_id=1), "has a row_id twice"),
        ("an infinite value", frame.assign(b=np.inf), "'b'"),
        ("a text for a value", frame.assign(c="x"), "'c'"),
    ):
        yield Case(MODELS, f"a stored table: {what}", partial(_table, wrong, catalogue), words)
    for what, place, value, words in (
        ("a negative number for a column's name", ("columns", 0, "name"), -1, "columns"),
        ("a column twice", ("columns", 0, "name"), "b", "twice"),
        ("a one-hot group beyond the columns", ("onehot",), [[7]], "one-hot"),
        ("error costs of another shape", ("misclassification_cost",), [[0, 1]], "costs"),
        ("a negative cost of a panel", ("panels", 1, "cost"), -1.0, "cost"),
        ("a cost of a panel that is NaN", ("panels", 1, "cost"), float("nan"), "cost"),
        ("a panel of no column", ("panels", 1, "columns"), ["zz"], "'zz'"),
    ):
        work = partial(_table, frame, spoilt(catalogue, place, value))
        yield Case(MODELS, f"a stored catalogue: {what}", work, words)


def _sealed(document: Any) -> bytes:
    return json_bytes(document | {"seal": seal(document)})


def _summarise(change: Callable[[Path], Any]) -> str:
    """A step whose input, or the input's manifest, was changed after it was made."""
    write_chain()
    change(TABLE)
    words = ["summarise_afape", "--seed", "0", "--input", f"estimates[]={TABLE}"]
    return command(*words, "--output", "summary=results/s.parquet")


def _audit(change: Callable[[], Any]) -> str:
    write_chain()
    change()
    return command("audit", "--look-in", "inputs", "--sample", "0")


def _started(change: Callable[[], Any]) -> str:
    """What the start of a run does with what lies under results/."""
    write_chain()
    change()
    tidy_up()
    survey("0" * 64)
    return "taken"


def _write(path: str | Path, content: bytes) -> Callable[[], Any]:
    return lambda: Path(path).write_bytes(content)


def _edited(path: Path) -> None:
    content = path.read_bytes()
    path.write_bytes(content[:10] + bytes([content[10] ^ 1]) + content[11:])


def _manifest(content: bytes) -> Callable[[Path], Any]:
    return lambda path: manifest_path(path).write_bytes(content)


JOURNAL = Path("results/summary/.s.parquet.h.1.2.commit")
NEW = Path("results/steps/gone.parquet.json")


def vouchers() -> Iterator[Case]:
    """Of a small chain of two steps."""
    for what, change in (
        ("one bit of a table flipped", _edited),
        ("a table cut off", lambda path: path.write_bytes(path.read_bytes()[:-1])),
        ("a table exchanged for another", lambda path: pd.DataFrame({"a": [1]}).to_parquet(path)),
        ("no manifest", lambda path: manifest_path(path).unlink()),
        ("an empty manifest", _manifest(b"")),
        ("a manifest that is a list", _manifest(b"[]")),
        ("a manifest nested 100,000 deep", _manifest(b"[" * 100_000)),
        ("a manifest of another table", _manifest(b'{"sha256": "00"}')),
        ("a manifest in Latin-1", _manifest(b'{"sha256": "\xe9"}')),
        ("a manifest whose digest is a list", _manifest(b'{"sha256": []}')),
    ):
        yield Case(
            VOUCHERS, f"an input of a step: {what}", partial(_summarise, change), "table.parquet"
        )
    side = manifest_path(TABLE)
    for what, path, content in (
        ("a manifest with an edited seed", side, None),
        ("a manifest that is no JSON", side, b"not json"),
        ("a manifest nested 100,000 deep", side, b'{"a":' * 100_000),
        ("a manifest with a number of 5,000 digits", side, b'{"seal": ' + b"9" * 5000 + b"}"),
        ("a sealed manifest without its parts", side, _sealed({"file": "x"})),
        ("a file that no step has made", Path("results/stray.csv"), b"1\n"),
        ("a manifest of a file that is not there", NEW, _of_nothing),
    ):
        change = _write(path, content) if isinstance(content, bytes) else content or _edited_seed
        words = path.name
        yield Case(VOUCHERS, f"`audit`: {what}", partial(_audit, change), words)
    journal, manifest = partial(_write, JOURNAL), partial(_write, NEW)
    pair = json.dumps([[JOURNAL.name.replace(".commit", ".part"), "../../a"]]).encode()
    for what, change in (
        ("a journal that is no JSON", journal(b"{")),
        ("a journal nested 100,000 deep", journal(b"[" * 100_000)),
        ("a journal of numbers", journal(b"[[1, 2]]")),
        ("a journal that moves a file out of its folder", journal(pair)),
        (
            "a journal that replaces a file by a visible one",
            journal(b'[["s.parquet", "t.parquet"]]'),
        ),
        ("a journal of a name with a zero byte", journal(rb'[[".a\u0000.h.1.2.part", "a"]]')),
        ("a journal that is a pipe", partial(os.mkfifo, JOURNAL)),
        ("a manifest that is a list", manifest(b"[]")),
        ("a manifest with another seal", manifest(b'{"seal": "x"}\n')),
        (
            "a manifest whose files are numbers",
            manifest(_sealed({"stage": "a", "outputs": [1], "environment": ""})),
        ),
        ("a manifest that is a folder", NEW.mkdir),
        ("a manifest that is a pipe", partial(os.mkfifo, NEW)),
    ):
        words = (JOURNAL if what.startswith("a journal") else NEW).name
        yield Case(VOUCHERS, f"the start of a run: {what}", partial(_started, change), words)
    yield Case(VOUCHERS, "a checkpoint cut off", _checkpoint, "remove it, and the step starts anew")


def _of_nothing() -> None:
    """As of a step whose only file is gone."""
    gone = {"path": "results/gone.parquet", "sha256": "0" * 64, "bytes": 1}
    seal_anew(NEW, load_manifest(manifest_path(TABLE)) | {"outputs": {"t": gone}, "tables": {}})


def _edited_seed() -> None:
    side = manifest_path(TABLE)
    side.write_text(side.read_text(encoding="utf-8").replace('"seed": 7', '"seed": 8'))


def _checkpoint() -> Any:
    Path("raw").write_text("a", encoding="utf-8")
    job = Job("prepare_data", {"raw": Path("raw")}, {"t": Path("t.parquet")}, {}, {}, 0)
    Checkpoint(job).path.write_bytes(b"cut")
    return Checkpoint(job).load()


def cases() -> Iterator[Case]:
    """Of all three."""
    yield from files()
    yield from models()
    yield from vouchers()
