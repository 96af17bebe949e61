"""JSON Lines: an object on each line, of a value or of a case."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from frugal.core.errors import DataError, shown_cell
from frugal.core.schema_check import listed
from frugal.data.long_files import LongFile
from frugal.data.long_formats import Preset, rows_of
from frugal.data.packed import MOST_UNPACKED, unpacked_stream

_OF_A_VALUE = {"id", "name", "value"}  # keys of an object of one value
_KEYS = {"unit": "id", "stay": "stay", "time": "time", "result": "result"}
_KEYS |= {"name": "name", "value": "value", "measure": "unit"}


@dataclass(frozen=True)
class JsonRecord:
    """An object of a file.

    Attributes:
        where: the file and the line, in refusals.
        line: of the object, or its number where the file is one document.
        content: its keys; numbers are texts, as they are written.
    """

    where: str
    line: int
    content: dict[str, Any]

    def text(self, *keys: str, of: Any = None) -> str:
        """The text, number or truth value below some keys; empty where there is none."""
        value = self._at(keys, self.content if of is None else of)
        if isinstance(value, dict | list):
            raise self._refusal(keys, value, "a text, a number or a truth value")
        return "" if value is None else str(value).strip()

    def entries(self, key: str, of: Any = None) -> list[dict[str, Any]]:
        """The objects of a list; none where it lacks."""
        value = self._at((key,), self.content if of is None else of) or []
        if isinstance(value, list) and all(isinstance(entry, dict) for entry in value):
            return value
        raise self._refusal((key,), value, "a list of objects")

    def _at(self, keys: tuple[str, ...], value: Any) -> Any:
        for k, key in enumerate(keys):
            if value is not None and not isinstance(value, dict):
                raise self._refusal(keys[:k], value, "an object")
            value = None if value is None else value.get(key)
        return value

    def _refusal(self, keys: tuple[str, ...], value: Any, allowed: str) -> DataError:
        place = f"{self.where}: {'.'.join(keys)!r}"
        return DataError(f"{place} is {shown_cell(value)}; allowed is {allowed}")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(pairs)
    if len(content) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for k, key in enumerate(keys) if key in keys[:k])
        raise ValueError(f"the key {shown_cell(twice)} occurs twice in an object")
    return content


# Numbers stay texts, which lose no digit: cells are read as those of other files are
_DECODER = json.JSONDecoder(
    parse_float=str, parse_int=str, parse_constant=str, object_pairs_hook=_object
)


def _parsed(text: bytes, name: str, line: int) -> Any:
    """Content of a line or a document."""
    try:
        return _DECODER.decode(text.rstrip().decode("utf-8-sig"))
    except json.JSONDecodeError as error:
        where = f"{name}, line {line + error.lineno - 1}"
        raise DataError(f"{where} is no JSON: {error.msg} at character {error.colno}") from None
    except (ValueError, RecursionError) as error:  # a key twice, no UTF-8, lists in lists
        raise DataError(f"{name}, line {line} cannot be read: {error}") from None


def json_records(path: Path) -> Iterator[JsonRecord]:
    """The objects of a file: one on each line, or those of one document; it is read once.

    Raises:
        DataError: a line is no object, has a key twice, or is too large.
    """
    with unpacked_stream(path) as stream:
        line, first = 0, True
        while text := stream.readline(MOST_UNPACKED + 1):
            line += 1
            begun = line
            stripped = text.removeprefix(b"\xef\xbb\xbf").strip()
            if not stripped:
                continue
            if first and stripped.endswith((b"{", b"[", b",")):  # a document of several lines
                text += stream.read(MOST_UNPACKED + 1 - len(text))
            if len(text) > MOST_UNPACKED:
                raise DataError(
                    f"{path} holds one document of more than {MOST_UNPACKED:,} bytes; write an "
                    "object on each line"
                )
            first = False
            content = _parsed(text, path.name, begun)
            is_list = isinstance(content, list)
            for number, entry in enumerate(content if is_list else [content], start=1):
                where = f"{path.name}, {f'entry {number}' if is_list else f'line {begun}'}"
                if not isinstance(entry, dict):
                    raise DataError(f"{where} is {shown_cell(entry)}; allowed is an object")
                yield JsonRecord(where, number if is_list else begun, entry)


def _rows(path: Path) -> Iterator[tuple[int, dict[str, str]]]:
    """A row for each value; all lines are like the first."""
    kind = None
    for record in json_records(path):
        keys = set(record.content)
        if kind is None:
            kind = keys >= _OF_A_VALUE and keys <= {*_KEYS.values()}
            timed = not kind and keys >= {"id", "time"}
        lack = (_OF_A_VALUE if kind else {"id", "time"} if timed else set()) - keys
        if lack or (kind and keys - {*_KEYS.values()}):
            raise DataError(
                f"{record.where} has the keys {listed(record.content)}, and lines above have "
                + ("id, name and value, and at most time, unit, stay and result" if kind else "id")
                + ("" if kind else " and time")
            )
        if kind:
            yield record.line, {column: record.text(key) for column, key in _KEYS.items()}
            continue
        unit = record.text("id") if timed else str(record.line)
        time = record.text("time") if timed else ""
        for key in record.content:
            if not (timed and key in ("id", "time")):
                row = {"unit": unit, "time": time, "name": key, "value": record.text(key)}
                yield record.line, row


def _read(path: Path) -> LongFile:
    return rows_of(path, _rows(path), tuple)


JSONL = Preset(
    name="jsonl",
    holds="object",
    lacks={"unit": "'id' is empty", "name": "'name' is empty"},
    read=_read,
)
