"""MIMIC-III's published CSV files as tables of one DuckDB connection, and events around ICU stays.

Files may be plain or gzipped, column names in any case and order. Knows no cohort and no label.
"""

import re
from collections.abc import Mapping
from pathlib import Path

import duckdb
import pandas as pd

from frugal.core.errors import DataError
from frugal.data.mimic_items import CHARTS, DRIPS, IRRIGANT, LABS, URINE

COLUMNS = {
    "ADMISSIONS": "hadm_id admittime admission_type hospital_expire_flag",
    "PATIENTS": "subject_id gender dob",
    "ICUSTAYS": "icustay_id subject_id hadm_id intime outtime first_careunit",
    "LABEVENTS": "subject_id itemid charttime valuenum",
    "CHARTEVENTS": "icustay_id itemid charttime value valuenum error",
    "OUTPUTEVENTS": "icustay_id itemid charttime value",
    "INPUTEVENTS_CV": "icustay_id itemid charttime rate rateuom",
    "INPUTEVENTS_MV": "icustay_id itemid starttime endtime rate rateuom statusdescription",
    "MICROBIOLOGYEVENTS": "hadm_id chartdate charttime",
    "PRESCRIPTIONS": "hadm_id startdate drug route",
    "DIAGNOSES_ICD": "hadm_id icd9_code",
}
_FIRST_STAYS = """
    SELECT icustay_id, subject_id, hadm_id, intime, gender, admission_type, first_careunit,
        least(age, 90) AS age, died
    FROM (
        SELECT i.icustay_id, i.subject_id, i.hadm_id, CAST(i.intime AS TIMESTAMP) AS intime,
            p.gender, a.admission_type, i.first_careunit,
            date_diff('day', CAST(p.dob AS TIMESTAMP), CAST(i.intime AS TIMESTAMP)) / 365.2425
                AS age,
            CAST(a.hospital_expire_flag AS INTEGER) AS died,
            row_number() OVER (
                PARTITION BY i.subject_id ORDER BY CAST(i.intime AS TIMESTAMP), i.icustay_id
            ) AS nth
        FROM ICUSTAYS i
        JOIN PATIENTS p ON p.subject_id = i.subject_id
        JOIN ADMISSIONS a ON a.hadm_id = i.hadm_id
        WHERE i.intime IS NOT NULL
    )
    WHERE nth = 1
    ORDER BY CAST(icustay_id AS BIGINT)
"""
_HOUR = "date_diff('second', s.intime, CAST({time} AS TIMESTAMP)) / 3600.0"


class EmptyCohortError(DataError):
    """No patient meets the rules of a cohort."""


def open_tables(files: Mapping[str, Path]) -> duckdb.DuckDBPyConnection:
    """A connection in which each file is a view under the name of its table.

    Args:
        files: any name → path; the table is identified by the file's name, up to its first dot.

    Raises:
        DataError: a file is no table that is needed, lacks a column, or cannot be read.
    """
    connection = duckdb.connect(config={"threads": 1})
    for path in files.values():
        name = path.name.split(".")[0].upper()
        if name not in COLUMNS:
            raise DataError(
                f"{path} is no table that the cohort needs; these are {', '.join(COLUMNS)}"
            )
        _open_table(connection, path, name)
    absent = set(COLUMNS) - {path.name.split(".")[0].upper() for path in files.values()}
    if absent:
        raise DataError(
            f"the cohort needs the file {min(absent)}.csv or {min(absent)}.csv.gz as published "
            "with MIMIC-III 1.4; name it under 'source.files'"
        )
    return connection


def first_stays(connection: duckdb.DuckDBPyConnection) -> pd.DataFrame:
    """The first ICU stay of every patient, with age (90 for those above 89), and who died.

    Also makes the table `stays` of the connection, to which events are joined.
    """
    frame = query(connection, _FIRST_STAYS)
    connection.register("stays", frame)
    return frame


def lab_events(connection: duckdb.DuckDBPyConnection, *, hours: float) -> pd.DataFrame:
    """Laboratory values of the stays, from admission on: `icustay_id`, `name`, `hour`, `value`."""
    return query(
        connection,
        f"""
        SELECT s.icustay_id, m.name, {_HOUR.format(time="e.charttime")} AS hour,
            CAST(e.valuenum AS DOUBLE) AS value
        FROM LABEVENTS e
        JOIN items m ON CAST(e.itemid AS BIGINT) = m.itemid
        JOIN stays s ON e.subject_id = s.subject_id
        WHERE e.valuenum IS NOT NULL AND {_HOUR.format(time="e.charttime")} BETWEEN 0 AND {hours}
        ORDER BY s.icustay_id, m.name, hour, value
        """,
        items=LABS,
    )


def chart_events(connection: duckdb.DuckDBPyConnection, *, hours: float) -> pd.DataFrame:
    """Charted values of the stays: `icustay_id`, `name`, `hour`, `value`, `text`; no errors."""
    return query(
        connection,
        f"""
        SELECT s.icustay_id, m.name, {_HOUR.format(time="e.charttime")} AS hour,
            CAST(e.valuenum AS DOUBLE) AS value, coalesce(e.value, '') AS text
        FROM CHARTEVENTS e
        JOIN items m ON CAST(e.itemid AS BIGINT) = m.itemid
        JOIN stays s ON e.icustay_id = s.icustay_id
        WHERE coalesce(e.error, '0') <> '1'
            AND {_HOUR.format(time="e.charttime")} BETWEEN 0 AND {hours}
        ORDER BY s.icustay_id, m.name, hour, value, text
        """,
        items=CHARTS,
    )


def drip_events(connection: duckdb.DuckDBPyConnection, *, hours: float) -> pd.DataFrame:
    """Rates of drugs that raise pressure: `icustay_id`, `name`, `rate`, `rateuom`."""
    return query(
        connection,
        f"""
        SELECT icustay_id, name, CAST(rate AS DOUBLE) AS rate, coalesce(rateuom, '') AS rateuom
        FROM (
            SELECT s.icustay_id, m.name, e.rate, e.rateuom
            FROM INPUTEVENTS_CV e
            JOIN items m ON CAST(e.itemid AS BIGINT) = m.itemid
            JOIN stays s ON e.icustay_id = s.icustay_id
            WHERE {_HOUR.format(time="e.charttime")} BETWEEN 0 AND {hours}
            UNION ALL
            SELECT s.icustay_id, m.name, e.rate, e.rateuom
            FROM INPUTEVENTS_MV e
            JOIN items m ON CAST(e.itemid AS BIGINT) = m.itemid
            JOIN stays s ON e.icustay_id = s.icustay_id
            WHERE {_HOUR.format(time="e.starttime")} <= {hours}
                AND {_HOUR.format(time="e.endtime")} >= 0
                AND coalesce(e.statusdescription, '') <> 'Rewritten'
        )
        WHERE rate IS NOT NULL AND CAST(rate AS DOUBLE) > 0
        ORDER BY icustay_id, name, rate, rateuom
        """,
        items=DRIPS,
    )


def urine_output(connection: duckdb.DuckDBPyConnection, *, hours: float) -> pd.DataFrame:
    """Urine of the first hours in mL: `icustay_id`, `urine`; no row where none is written down."""
    return query(
        connection,
        f"""
        SELECT s.icustay_id,
            sum(CASE m.name WHEN 'irrigant' THEN -1 ELSE 1 END * CAST(e.value AS DOUBLE)) AS urine
        FROM OUTPUTEVENTS e
        JOIN items m ON CAST(e.itemid AS BIGINT) = m.itemid
        JOIN stays s ON e.icustay_id = s.icustay_id
        WHERE e.value IS NOT NULL AND {_HOUR.format(time="e.charttime")} BETWEEN 0 AND {hours}
        GROUP BY s.icustay_id
        ORDER BY s.icustay_id
        """,
        items={"urine": URINE, "irrigant": IRRIGANT},
    )


def query(
    connection: duckdb.DuckDBPyConnection,
    sql: str,
    *,
    items: Mapping[str, tuple[int, ...]] | None = None,
) -> pd.DataFrame:
    """Result of a query; `items` becomes a table of item numbers and names.

    Raises:
        DataError: a cell is no number or no time where one is needed; the message begins with it.
    """
    if items is not None:
        pairs = [(item, name) for name, numbers in items.items() for item in numbers]
        connection.register("items", pd.DataFrame(pairs, columns=["itemid", "name"]))
    try:
        frame = connection.execute(sql).df()
    except duckdb.Error as error:
        raise DataError(f"MIMIC-III's files cannot be read: {_first_line(error)}") from None
    frame.columns = frame.columns.str.lower()  # a column keeps the case of its file
    return frame


def _open_table(connection: duckdb.DuckDBPyConnection, path: Path, name: str) -> None:
    # a path is a pattern to DuckDB, and a folder key=value a column
    quoted = re.sub(r"[\[*?]", r"[\g<0>]", str(path)).replace("'", "''")
    try:
        with path.open("rb") as stream:
            packing = "gzip" if stream.read(2) == b"\x1f\x8b" else "none"
        connection.execute(
            f"CREATE VIEW {name} AS SELECT * FROM read_csv('{quoted}', header = true, "
            f"delim = ',', quote = '\"', escape = '\"', all_varchar = true, "
            f"compression = '{packing}', hive_partitioning = false)"
        )
        columns = connection.execute(f"DESCRIBE {name}").df()["column_name"].str.lower().tolist()
    except (duckdb.Error, OSError) as error:
        raise DataError(f"{path} cannot be read as a CSV: {_first_line(error)}") from None
    for column in COLUMNS[name].split():
        if column not in columns:
            raise DataError(
                f"{path} has no column {column!r}; {name} of MIMIC-III 1.4 has "
                f"{', '.join(COLUMNS[name].split())}"
            )


def _first_line(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0].rstrip(".") if lines else type(error).__name__
