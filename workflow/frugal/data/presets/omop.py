"""OMOP: the table MEASUREMENT, and the names of concepts where CONCEPT lies next to it."""

import csv
import io
from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path

import pandas as pd

from frugal.core.errors import DataError
from frugal.core.schema_check import require_unique_names
from frugal.data.encoded_columns import whole
from frugal.data.long_files import LongFile
from frugal.data.long_formats import Preset, by_words
from frugal.data.packed import unpacked_stream

_CONCEPTS = ("concept.csv", "concept.csv.gz", "concept.tsv", "concept.tsv.gz")
_LIMITS = {"4171756": "<", "4171754": "<=", "4172704": ">", "4171755": ">="}  # operators
_NO_CONCEPT = ("", "0")


def _names(folder: Path, concepts: Collection[str]) -> dict[str, str]:
    """Concept → name, of those concepts alone: CONCEPT may have millions of lines."""
    place = next((p for p in sorted(folder.iterdir()) if p.name.lower() in _CONCEPTS), None)
    if place is None:
        return {}
    names: dict[str, str] = {}
    try:
        with unpacked_stream(place) as stream:
            lines = io.TextIOWrapper(stream, "utf-8-sig", newline="")
            head = lines.readline().rstrip("\r\n")
            mark = "\t" if "\t" in head else ","
            columns = [name.strip(' "').lower() for name in head.split(mark)]
            if not {"concept_id", "concept_name"} <= {*columns}:
                raise DataError(f"{place} has no columns concept_id and concept_name")
            concept, name = columns.index("concept_id"), columns.index("concept_name")
            quoting = csv.QUOTE_NONE if mark == "\t" else csv.QUOTE_MINIMAL  # as Athena writes it
            for row in csv.reader(lines, delimiter=mark, quoting=quoting):
                if len(row) > max(concept, name) and row[concept] in concepts:
                    names[row[concept]] = row[name].strip()
    except (csv.Error, UnicodeDecodeError) as error:
        raise DataError(f"{place} cannot be read: {error}") from None
    return names


def _words(concepts: pd.Series, words: Mapping[str, str], other: str | None = None) -> pd.Series:
    """The word of each concept; without one, `other`, or the concept itself."""
    kinds = map(str, concepts.unique())
    return concepts.map({k: words.get(k) or (k if other is None else other) for k in kinds})


def _read(path: Path) -> LongFile:
    file = LongFile.of(path)
    cells = file.cells.rename(columns=lambda name: str(name).lower())
    require_unique_names(list(cells.columns), file.name)
    file = replace(file, cells=cells, quantities=("value_as_number",))
    file.require_columns("person_id", "measurement_concept_id", "value_as_number")
    timed = [c for c in ("measurement_datetime", "measurement_date") if c in cells]
    if not timed:
        file.require_columns("measurement_datetime")
    cells = file.plain()

    def column(name: str, *, concept: bool = False) -> pd.Series:
        if name not in cells:
            return pd.Series("", index=cells.index, dtype=object)
        texts = pd.Series(file.names(name, empty=True), dtype=object)
        texts = texts.map(whole) if concept else texts
        return texts.mask(file.absent(name) | (concept & texts.isin(_NO_CONCEPT)), "")

    code, unit, value = (
        column(f"{name}_concept_id", concept=True) for name in ("measurement", "unit", "value_as")
    )
    names = _names(path.resolve().parent, {*code, *unit, *value})
    number = _words(column("operator_concept_id", concept=True), _LIMITS, other="")
    number = (number + cells["value_as_number"]).mask(cells["value_as_number"] == "", "")
    text = _words(value, names)
    source = column("measurement_source_value")
    written = column("unit_source_value")
    measure = _words(unit, {**dict(zip(unit, written, strict=True)), **names})
    first, *second = (column(name) for name in timed)
    rows = {
        "unit": column("person_id"),
        "stay": column("visit_occurrence_id"),
        "time": first.mask(first == "", second[0]) if second else first,
        "name": by_words(code, names).mask(code == "", source),
        "value": number.mask(number == "", text.mask(text == "", column("value_source_value"))),
        "measure": measure.mask(unit == "", written),
    }
    return LongFile(file.name, pd.DataFrame(rows), file.lines, remarks=file.remarks)


OMOP = Preset(
    name="omop",
    holds="row of MEASUREMENT",
    lacks={
        "unit": "'person_id' is empty",
        "name": "'measurement_concept_id' is 0 or empty, and 'measurement_source_value' empty, too",
    },
    read=_read,
)
