"""FHIR: Observations, one on each line (NDJSON), or the entries of a Bundle."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from frugal.data.long_files import LongFile
from frugal.data.long_formats import Preset, by_words, rows_of
from frugal.data.presets.jsonl import JsonRecord, json_records

_LEFT_OUT = ("entered-in-error", "cancelled")  # a status whose values are none
_LOINC = "http://loinc.org"
_SIMPLE = ("valueString", "valueInteger", "valueBoolean", "valueDateTime", "valueTime")
_TIMES = (("effectiveDateTime",), ("effectiveInstant",), ("effectivePeriod", "start"))


def _resources(record: JsonRecord) -> Iterator[JsonRecord]:
    """The resource of a line, or those of a Bundle."""
    if record.content.get("resourceType") != "Bundle":
        yield record
        return
    for number, entry in enumerate(record.entries("entry"), start=1):
        resource = entry.get("resource")
        if isinstance(resource, dict):
            yield JsonRecord(f"{record.where}, entry {number}", record.line, resource)


def _code(record: JsonRecord, concept: Any) -> tuple[str, str]:
    """Code and word of a concept: LOINC's coding, else the first that has a code."""
    codings = record.entries("coding", of=concept or {})
    coded = [coding for coding in codings if record.text("code", of=coding)]
    coded.sort(key=lambda coding: coding.get("system") != _LOINC)
    chosen = coded[0] if coded else {}
    text = record.text("text", of=concept or {})
    code, word = record.text("code", of=chosen), record.text("display", of=chosen)
    return code or text, word or text


def _value(record: JsonRecord, of: Mapping[str, Any]) -> tuple[str, str]:
    """Value and unit of measure; both empty where there is none, as with a reason for absence."""
    if (quantity := of.get("valueQuantity")) is not None:
        unit = record.text("code", of=quantity) or record.text("unit", of=quantity)
        number = record.text("value", of=quantity)
        return (record.text("comparator", of=quantity) + number if number else ""), unit
    if (concept := of.get("valueCodeableConcept")) is not None:
        code, word = _code(record, concept)
        return word or code, ""
    return next(filter(None, (record.text(key, of=of) for key in _SIMPLE)), ""), ""


def _id(record: JsonRecord, key: str, kind: str) -> str:
    """The id in a reference, such as Patient/7 or an address that ends in it; of others all."""
    return re.sub(rf"^(.*/)?{kind}/|/_history/.*", "", record.text(key, "reference"))


def _read(path: Path) -> LongFile:
    left_out: Counter[str] = Counter()
    words: dict[str, str] = {}

    def rows() -> Iterator[tuple[int, dict[str, str]]]:
        for record in (each for line in json_records(path) for each in _resources(line)):
            kind, status = record.text("resourceType"), record.text("status")
            if kind != "Observation" or status in _LEFT_OUT:
                left_out[status if kind == "Observation" else kind or "without a type"] += 1
                continue
            same = {
                "unit": _id(record, "subject", "Patient"),
                "stay": _id(record, "encounter", "Encounter"),
                "time": next(filter(None, (record.text(*keys) for keys in _TIMES)), ""),
                "result": record.text("issued"),
            }
            parts = record.entries("component")
            alone = not parts or any(_value(record, record.content))
            for part in (*([record.content] if alone else []), *parts):
                code, word = _code(record, part.get("code"))
                words.setdefault(code, word)
                value, measure = _value(record, part)
                left_out.update(key for key in part if not value and key.startswith("value"))
                yield record.line, {**same, "name": code, "value": value, "measure": measure}

    read = rows_of(
        path,
        rows(),
        lambda: (f"{path.name}: left out: {n:,} {kind}" for kind, n in left_out.items()),
    )
    return replace(read, cells=read.cells.assign(name=by_words(read.cells["name"], words)))


FHIR = Preset(
    name="fhir",
    holds="Observation",
    lacks={
        "unit": "an Observation has no 'subject.reference'",
        "name": "an Observation has no 'code' with a code or a text",
    },
    read=_read,
)
