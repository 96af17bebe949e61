"""Payload files: Parquet tables, JSON documents, safetensors arrays, PNG, PDF, HTML; no pickles.

Every write is deterministic (equal content, equal bytes) and atomic (a reader sees the old file or
the whole new one, never a part).
"""

import contextlib
import hashlib
import io
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np

from frugal.core.errors import DataError
from frugal.core.layout import Bundle
from frugal.core.rows import Partitions, open_rows, readable, require_file
from frugal.core.stored import StoredArrays
from frugal.core.strict_yaml import short_integer
from frugal.results.replacing import replace_files

_HIVE = re.compile(r"([A-Za-z_]\w*)=([^/=]+)")
_KINDS = {
    ".parquet": ("a table",),
    ".html": ("a table",),
    ".json": ("a document",),
    ".safetensors": ("arrays",),
    ".png": ("a figure",),
    ".pdf": ("a figure",),
    ".svg": ("a figure",),
}
LARGE_BYTES = 1 << 26  # hashed in a tenth of a second
_DIGEST = re.compile(r"[0-9a-f]{64}")
_FORMULA = ("=", "+", "-", "@", "\t", "\r")  # first character
_SIGNED = re.compile(r"[+-]?\d+(\.\d*)?([eE][+-]?\d+)?")
_HEADER = "frugal"  # key of the header among a safetensors file's own remarks
_PAGE_ROWS = 500
_PAGE_STYLE = (
    "body{font:14px sans-serif;color:#111;background:#fff;margin:1em}"
    "table{border-collapse:collapse}th,td{padding:2px 10px;text-align:right;white-space:nowrap}"
    "th{position:sticky;top:0;background:#fff;border-bottom:1px solid #111}"
    "tr:nth-child(even) td{background:#f2f2f2}"
)


def file_digest(path: Path) -> str:
    """SHA-256 of a file's bytes, as hexadecimal text."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def noted_digest(path: Path, notes: Path) -> str:
    """SHA-256 of a file; of a large one from a note, if it was neither changed nor replaced since.

    Args:
        path: of the file.
        notes: folder in which a note bears the file's place, size, and times of change, of which
            nobody can set the last.
    """
    status = path.stat()
    if status.st_size < LARGE_BYTES:
        return file_digest(path)
    identity = (
        status.st_dev,
        status.st_ino,
        status.st_size,
        status.st_mtime_ns,
        status.st_ctime_ns,
    )
    note = notes / "-".join(map(str, identity))
    if note.is_file() and _DIGEST.fullmatch(noted := note.read_text(errors="replace")):
        return noted
    digest = file_digest(path)
    with contextlib.suppress(DataError):  # a folder that cannot be written to costs time, no more
        write_bytes(note, digest.encode())
    return digest


def hive_keys(path: Path) -> dict[str, str]:
    """The `key=value` folders of a path, in order."""
    matches = (_HIVE.fullmatch(part) for part in path.parent.parts)
    return {match[1]: match[2] for match in matches if match}


def all_digits(number: float | int) -> str:
    """A number with all its digits and no exponent, as names of folders and sentences have it."""
    text = format(Decimal(repr(float(number))), "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


def write_bytes(path: Path, content: bytes) -> None:
    """Write all of it or nothing.

    Raises:
        DataError: the disk is full, or the folder cannot be written to; the target is untouched.
    """
    replace_files({path: content})


def csv_bytes(table: Any) -> bytes:
    """A table as CSV for spreadsheets, which must not take a text of somebody's for a formula.

    A text that begins like one is written with an apostrophe in front, as they write it themselves.
    """
    texts = {
        name: [_no_formula(cell) for cell in table[name]]
        for name in table.columns
        if table[name].dtype.kind not in "biuf"
    }
    table = table.assign(**texts).rename(columns=_no_formula)
    return table.to_csv(index=False, lineterminator="\n").encode()


def _no_formula(cell: Any) -> Any:
    formula = isinstance(cell, str) and cell[:1] in _FORMULA and not _SIGNED.fullmatch(cell)
    return f"'{cell}" if formula else cell


def json_bytes(document: Any) -> bytes:
    """Readable JSON, keys in their own order, one line end at the end; NaN is refused."""
    text = json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False)
    return (text + "\n").encode()


def seal(document: dict[str, Any]) -> str:
    """SHA-256 of a document's content without its seal: an edited one shows, whatever it holds."""
    content = {k: v for k, v in document.items() if k != "seal"}
    text = json.dumps(content, indent=2, ensure_ascii=False) + "\n"  # as `json_bytes`, NaN too
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def sealed(document: Mapping[str, Any], files: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """A document that shows whether it, or a file next to it, was edited: `require_sealed`.

    Args:
        document: that is handed out and read again.
        files: name of a file next to it → its payload.
    """
    digests = {
        name: hashlib.sha256(payload_bytes(Path(name), payload)).hexdigest()
        for name, payload in (files or {}).items()
    }
    document = {**document, **({} if files is None else {"digests": digests})}
    return document | {"seal": seal(document)}


def require_sealed(path: Path, document: Any, hint: str, names: Iterable[str] = ()) -> None:
    """Refuse a document of `sealed` that was edited, or a file next to it that is another.

    Args:
        path: of the document.
        document: as it was read.
        hint: what to do instead of editing.
        names: files that may lie next to it.

    Raises:
        DataError: names the first file that is not as it was written.
    """
    if not isinstance(document, Mapping) or not isinstance(document.get("seal"), str):
        raise DataError(f"{path} has no seal, by which an edited file shows; {hint}")
    digests = document.get("digests", {})
    digests = digests if isinstance(digests, Mapping) else {}
    folder, changed = path.parent, []
    present = {name for name in names if (folder / name).is_file()}
    for name in sorted(present | {str(name) for name in digests}):
        if name not in present or file_digest(folder / name) != digests.get(name):
            changed.append(name)
    changed += [] if seal(dict(document)) == document["seal"] else [path.name]
    if changed:
        raise DataError(
            f"{folder / changed[0]} is not as it was written: its digest is another; {hint}"
        )


def read_payload(path: Path) -> Any:
    """Read one payload by its suffix.

    Returns:
        A DataFrame (.parquet), a document (.json), or a dict of arrays (.safetensors); any other
        suffix is handed on as the path itself, for raw files that `frugal.data` parses.

    Raises:
        DataError: the file does not exist or does not have the content that its suffix states.
    """
    require_file(path)
    with readable(path):
        if path.suffix == ".parquet":
            import pandas as pd

            return pd.read_parquet(path, partitioning=None)
        if path.suffix == ".json":
            return json.loads(path.read_text(encoding="utf-8"), parse_int=short_integer)
        if path.suffix == ".safetensors":
            from safetensors import safe_open
            from safetensors.numpy import load_file

            with safe_open(path, framework="numpy") as stream:
                header_text = (stream.metadata() or {}).get(_HEADER)
            header = (
                None if header_text is None else json.loads(header_text, parse_int=short_integer)
            )
            arrays = load_file(path)
            if any(array.dtype.kind not in "biufc" for array in arrays.values()):
                raise TypeError  # ml_dtypes, where it is loaded, lends NumPy such types
            return StoredArrays(arrays, str(path), header)
    return path


def read_partitions(paths: list[Path]) -> Any:
    """Read several tables as one, with the `key=value` folders of each path as columns.

    Raises:
        DataError: a file is missing, unreadable or no Parquet table, or the paths do not have the
            same keys.
    """
    folders = _same_keys(paths)
    return joined_frames(folders, map(read_payload, paths))


def joined_frames(folders: Sequence[Mapping[str, str]], tables: Iterable[Any]) -> Any:
    """Several tables as one, each with its keys as columns."""
    import pandas as pd

    values = {key: list(dict.fromkeys(f[key] for f in folders)) for key in folders[0]}
    frames = []
    for frame, keys in zip(tables, folders, strict=True):
        new = {
            # one byte a row, where a text would take fifty
            key: pd.Categorical([value], categories=values[key]).repeat(len(frame))
            for key, value in keys.items()
            if key not in frame.columns
        }
        frames.append(frame.assign(**new)[[*new, *frame.columns]])
    return pd.concat(frames, ignore_index=True)


def partitions(paths: list[Path]) -> Partitions:
    """The same tables, each read when it is requested.

    Raises:
        DataError: as `read_partitions`.
    """
    return Partitions(_same_keys(paths), lambda k: open_rows(paths[k]))


def _same_keys(paths: list[Path]) -> list[dict[str, str]]:
    """The `key=value` folders of paths to tables; all have the same keys."""
    folders = [hive_keys(path) for path in paths]
    for path, keys in zip(paths, folders, strict=True):
        if path.suffix != ".parquet":
            raise DataError(f"{path} is no Parquet table; several files as one are Parquet tables")
        if keys.keys() != folders[0].keys():
            raise DataError(
                f"{path} has the key=value folders {_listed(keys)}, {paths[0]} has "
                f"{_listed(folders[0])}; files that are read as one have the same"
            )
    return folders


def _listed(keys: Mapping[str, str]) -> str:
    return ", ".join(keys) or "none"


def payload_bytes(path: Path, payload: Any) -> bytes:
    """The bytes that a payload takes under a path's suffix (the inverse of `read_payload`).

    Raises:
        DataError: the suffix is that of another kind of payload.
    """
    if isinstance(payload, bytes):
        return payload
    if path.suffix in _KINDS and _kind(payload) not in _KINDS[path.suffix]:
        endings = [suffix for suffix, kinds in _KINDS.items() if _kind(payload) in kinds]
        raise DataError(
            f"{path} cannot hold {_kind(payload)}, which the step makes for it; let its name end "
            f"in {' or '.join(endings)}"
        )
    if path.suffix == ".json":
        return json_bytes(payload)
    if path.suffix == ".safetensors":
        if isinstance(payload, Bundle):
            return _safetensors_bytes(payload.arrays, payload.header)
        return _safetensors_bytes(payload, None)
    if path.suffix in {".png", ".pdf", ".svg"}:
        return _figure_bytes(payload, path.suffix[1:])
    if path.suffix == ".parquet":
        sink = io.BytesIO()
        payload.to_parquet(sink, index=False, engine="pyarrow", compression="zstd")
        return sink.getvalue()
    if path.suffix == ".html":
        return _page_bytes(path, payload)
    raise TypeError(f"no payload format for {path}")


def _kind(payload: Any) -> str:
    """Description of a payload's type."""
    if hasattr(payload, "to_parquet"):
        return "a table"
    if hasattr(payload, "savefig"):
        return "a figure"
    if isinstance(payload, Bundle):
        return "arrays"
    if isinstance(payload, Mapping) and any(isinstance(v, np.ndarray) for v in payload.values()):
        return "arrays"
    return "a document"


def _page_bytes(path: Path, table: Any) -> bytes:
    """A table as a page of its own, for people: rounded, and only its first rows if it is long."""
    shown = table.head(_PAGE_ROWS)
    note = (
        f"{len(table):,} rows"
        if len(shown) == len(table)
        else (f"the first {len(shown):,} of {len(table):,} rows")
    )
    shown = shown.astype({c: object for c in shown if shown[c].dtype.kind != "f"})
    rows = shown.where(shown.notna(), np.nan).to_html(
        index=False, border=0, na_rep="", float_format=_five_digits
    )
    name = path.with_suffix(".parquet").name
    return (
        f'<!DOCTYPE html>\n<html lang="en"><meta charset="utf-8"><title>{name}</title>'
        f"<style>{_PAGE_STYLE}</style>\n<p>{name}: {note}, rounded to five digits.</p>\n{rows}\n"
    ).encode()


def _five_digits(value: float) -> str:
    """A number with five digits, written out where that is no longer than a power of ten."""
    return f"{value:.0f}" if 1e5 <= abs(value) < 1e10 else f"{value:.5g}"


def _safetensors_bytes(arrays: Mapping[str, np.ndarray], header: Mapping[str, Any] | None) -> bytes:
    from safetensors.numpy import save

    metadata = None if header is None else {_HEADER: json.dumps(header, ensure_ascii=False)}
    ordered = {name: np.asarray(array, order="C") for name, array in sorted(arrays.items())}
    return save(ordered, metadata=metadata)


def _figure_bytes(figure: Any, kind: str) -> bytes:
    import matplotlib as mpl

    sink = io.BytesIO()
    dates = {"pdf": ("CreationDate", "ModDate"), "png": ("Software",), "svg": ("Date", "Creator")}
    with mpl.rc_context():
        mpl.rcdefaults()  # a matplotlibrc of the reader, or of the working folder, changes no byte
        mpl.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "frugal"})
        figure.savefig(sink, format=kind, dpi=200, metadata=dict.fromkeys(dates[kind]))
    return sink.getvalue()
