"""The kidney injury and sepsis cohorts of MIMIC-III, one record per ICU stay.

After section 6 and appendix B.1 of `diagnosis` (Yu et al. 2023), whose tables of features are
lost. MIMIC-III needs its own permission and is never kept here; the open demo runs every step.
Must not know panels, prices or learners.

ASSUME: the paper leaves these choices open. A unit is an adult's first ICU stay. Features are
the first values of the first 24 hours of the stay, plus age, sex, kind of admission, care unit,
chronic diseases (by the codes of the admission, which are given at its end), and whether a
ventilator was used. `aki`: stays with creatinine on the first day and in hours 24 to 72; nobody
is left out for kidney function before it. `sepsis`: antibiotic and culture close together
(`suspected_infection`) with the earlier within a day of ICU admission, and SOFA of the first
day of 2 or more, from a baseline of 0; any row of MICROBIOLOGYEVENTS is a culture, any systemic
antibiotic counts; an inspired share of oxygen holds for four hours.

SOFA is the Sequential Organ Failure Assessment from the worst values of a day [diagnosis, sec. 6],
after Vincent et al. (1996) as Sepsis-3 uses it: six organ systems, 0 to 4 points each; a system
without a measurement counts 0.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
from jaxtyping import Bool, Float, Int

from frugal.core.errors import ConfigError
from frugal.data import mimic_items as items
from frugal.data.mimic_items import antibiotic_of
from frugal.data.mimic_tables import (
    EmptyCohortError,
    chart_events,
    drip_events,
    first_stays,
    lab_events,
    open_tables,
    query,
    urine_output,
)

ADULT_YEARS, DAY, LATER = 18.0, 24.0, 72.0  # age; hours
SEPSIS_POINTS = 2
OXYGEN_HOURS = 4  # that an inspired share holds
TYPICAL_KG = 80.0  # where a rate per minute needs a weight that nobody wrote down
_VITALS = (
    "heart_rate",
    "systolic_pressure",
    "diastolic_pressure",
    "mean_pressure",
    "respiratory_rate",
    "temperature",
    "pulse_oximetry",
    "weight",
)


@dataclass(frozen=True, eq=False)
class _Day:
    """Data of the stays. Index of frames: icustay_id.

    Attributes:
        stays: one row per stay.
        labs: laboratory events up to 72 hours.
        charts: charted events of the first day, without impossible values.
        coma: coma scale of the first day: `icustay_id`, `hour`, `value`.
        ventilated: ids of stays with a ventilator on the first day.
    """

    stays: pd.DataFrame
    labs: pd.DataFrame
    charts: pd.DataFrame
    coma: pd.DataFrame
    ventilated: frozenset[str]

    def of_stays(self, values: pd.Series) -> Float[np.ndarray, " n"]:
        """Values by stay in the order of the stays; NaN where there is none. (n,)"""
        return values.reindex(self.stays["icustay_id"]).to_numpy(dtype=np.float64)


def mimic_diagnosis(files: Mapping[str, Path], *, task: str) -> pd.DataFrame:
    """Records of a cohort: features of the first day and the inputs of the label.

    Args:
        files: any name → path of each published table, plain or gzipped.
        task: `aki` (columns `creatinine_day_1`, the lowest, and `creatinine_later`, the highest of
            hours 24 to 72; KDIGO's creatinine criteria make the label) or `sepsis` (columns
            `died` in hospital, and the points of `sofa`).

    Returns:
        One row per stay, in the order of their ids; NaN or None where nothing is known.

    Raises:
        EmptyCohortError: nobody is left; the message names the step.
        DataError: a file lacks a column or cannot be read.
        ConfigError: there is no such task.
    """
    if task not in ("aki", "sepsis"):
        raise ConfigError(f"there is no MIMIC-III cohort {task!r}; allowed are aki and sepsis")
    connection = open_tables(files)
    try:
        stays = first_stays(connection)
        steps = {"patients with an ICU stay": len(stays)}
        stays = stays[stays["age"] >= ADULT_YEARS].reset_index(drop=True)
        steps["adults"] = len(stays)
        _require_some(stays, steps)
        connection.register("stays", stays)
        day = _first_day(connection, stays)
        records = _features(connection, day)
        if task == "aki":
            retained = _with_creatinine(day, records, steps)
        else:
            retained = _with_sepsis(connection, day, records, steps)
    finally:
        connection.close()
    _require_some(records[retained], steps)
    return records[retained].reset_index(drop=True)


def _first_day(connection: duckdb.DuckDBPyConnection, stays: pd.DataFrame) -> _Day:
    charts = chart_events(connection, hours=DAY)
    on = charts[(charts["name"] == "ventilator") & ~charts["text"].isin(items.NOT_VENTILATED)]
    coma = _coma_scale(charts)
    charts = charts.dropna(subset=["value"])
    fahrenheit = charts["name"] == "temperature_f"
    value = charts["value"].where(~fahrenheit, (charts["value"] - 32) / 1.8)
    name = charts["name"].replace(["temperature_f", "temperature_c"], "temperature")
    charts = charts.assign(name=name, value=value)
    low = charts["name"].map({k: v[0] for k, v in items.POSSIBLE.items()}).fillna(-np.inf)
    high = charts["name"].map({k: v[1] for k, v in items.POSSIBLE.items()}).fillna(np.inf)
    charts = charts[charts["value"].between(low, high)]
    labs = lab_events(connection, hours=LATER)
    return _Day(stays, labs, charts, coma, frozenset(on["icustay_id"]))


def _features(connection: duckdb.DuckDBPyConnection, day: _Day) -> pd.DataFrame:
    """One row per stay with all data of a patient's first day."""
    columns: dict[str, np.ndarray] = {
        "icustay_id": day.stays["icustay_id"].to_numpy(dtype=object),
        "age": day.stays["age"].to_numpy(dtype=np.float64),
        **{
            c: day.stays[c].to_numpy(dtype=object)
            for c in ("gender", "admission_type", "first_careunit")
        },
        "ventilated": _yes_no(day.stays["icustay_id"].isin(day.ventilated).to_numpy()),
        "coma_scale": day.of_stays(_first(day.coma)),
    }
    for name in _VITALS:
        columns[name] = day.of_stays(_first(day.charts[day.charts["name"] == name]))
    first_day = day.labs[day.labs["hour"] < DAY]
    for name in items.LABS:
        if name != "gas_inspired_oxygen":
            columns[name] = day.of_stays(_first(first_day[first_day["name"] == name]))
    codes = query(connection, "SELECT hadm_id, icd9_code FROM DIAGNOSES_ICD")
    category = pd.to_numeric(codes["icd9_code"].str[:3], errors="coerce")  # E and V codes: none
    for name, ranges in items.HISTORY.items():
        hit = np.logical_or.reduce([category.between(low, high).to_numpy() for low, high in ranges])
        ill = day.stays["hadm_id"].isin(codes.loc[hit, "hadm_id"])
        columns[name] = _yes_no(ill.to_numpy())
    return pd.DataFrame(columns)


def _with_creatinine(
    day: _Day, records: pd.DataFrame, steps: dict[str, int]
) -> Bool[np.ndarray, " n"]:
    """Stays with creatinine on both sides of the first day's end; adds the label's inputs."""
    events = day.labs[day.labs["name"] == "creatinine"]
    before = events[events["hour"] < DAY].groupby("icustay_id")["value"].min()
    after = events[events["hour"] >= DAY].groupby("icustay_id")["value"].max()
    records["creatinine_day_1"] = day.of_stays(before)
    records["creatinine_later"] = day.of_stays(after)
    first = records["creatinine_day_1"].notna().to_numpy()
    in_both = first & records["creatinine_later"].notna().to_numpy()
    steps["with creatinine on the first day"] = int(first.sum())
    steps["and in hours 24 to 72"] = int(in_both.sum())
    return in_both


def _with_sepsis(
    connection: duckdb.DuckDBPyConnection, day: _Day, records: pd.DataFrame, steps: dict[str, int]
) -> Bool[np.ndarray, " n"]:
    """Stays with a suspected infection and organ failure; adds the points and the outcome."""
    records["sofa"] = _sofa_points(connection, day).astype(np.float64)
    records["died"] = day.stays["died"].to_numpy(dtype=np.int64).astype(str).astype(object)
    suspected = day.stays["hadm_id"].isin(_suspected(connection)).to_numpy()
    septic = suspected & (records["sofa"].to_numpy() >= SEPSIS_POINTS)
    steps["with a suspected infection"] = int(suspected.sum())
    steps[f"and SOFA of {SEPSIS_POINTS} or more"] = int(septic.sum())
    return septic


def _suspected(connection: duckdb.DuckDBPyConnection) -> set[str]:
    """Admissions with culture and antibiotic close together and around ICU admission."""
    pairs = query(connection, "SELECT DISTINCT drug, route FROM PRESCRIPTIONS ORDER BY drug, route")
    drugs = pairs.fillna("")
    is_antibiotic = [antibiotic_of(d, r) != "" for d, r in drugs.itertuples(index=False, name=None)]
    connection.register("antibiotics", drugs[np.array(is_antibiotic, dtype=bool)])
    times = query(
        connection,
        """
        SELECT s.hadm_id,
            date_diff('day', CAST(s.intime AS DATE), c.day) AS culture,
            date_diff('day', CAST(s.intime AS DATE), a.day) AS antibiotic
        FROM stays s
        JOIN (
            SELECT DISTINCT hadm_id,
                CAST(CAST(coalesce(charttime, chartdate) AS TIMESTAMP) AS DATE) AS day
            FROM MICROBIOLOGYEVENTS
        ) c ON c.hadm_id = s.hadm_id
        JOIN (
            SELECT DISTINCT p.hadm_id, CAST(CAST(p.startdate AS TIMESTAMP) AS DATE) AS day
            FROM PRESCRIPTIONS p
            JOIN antibiotics b ON coalesce(p.drug, '') = b.drug AND coalesce(p.route, '') = b.route
            WHERE p.startdate IS NOT NULL
        ) a ON a.hadm_id = s.hadm_id
        WHERE c.day IS NOT NULL
        """,
    )
    culture, antibiotic = (times[c].to_numpy(dtype=np.int64) for c in ("culture", "antibiotic"))
    near = np.abs(np.minimum(culture, antibiotic)) <= 1  # days from ICU admission
    return set(times["hadm_id"][suspected_infection(culture, antibiotic) & near])


def _sofa_points(connection: duckdb.DuckDBPyConnection, day: _Day) -> np.ndarray:
    first_day = day.labs[day.labs["hour"] < DAY]

    def worst(name: str, frame: pd.DataFrame, how: str) -> Float[np.ndarray, " n"]:
        values = frame[frame["name"] == name].groupby("icustay_id")["value"].agg(how)
        return day.of_stays(values)

    unaided, ventilated = _oxygen_ratios(day, first_day)
    urine = urine_output(connection, hours=DAY).set_index("icustay_id")["urine"]
    coma = day.coma.groupby("icustay_id")["value"].min()
    return (
        respiration(unaided, ventilated)
        + coagulation(worst("platelets", first_day, "min"))
        + liver(worst("bilirubin", first_day, "max"))
        + circulation(worst("mean_pressure", day.charts, "min"), _rates(connection, day))
        + consciousness(day.of_stays(coma))
        + kidney(worst("creatinine", first_day, "max"), day.of_stays(urine))
    )


def _oxygen_ratios(
    day: _Day, labs: pd.DataFrame
) -> tuple[Float[np.ndarray, " n"], Float[np.ndarray, " n"]]:
    """Lowest PaO₂/FiO₂ of stays without and with a ventilator, mmHg. ((n,), (n,))"""
    pressure = labs[labs["name"] == "oxygen_pressure"][["icustay_id", "hour", "value"]]
    same_gas = labs[labs["name"] == "gas_inspired_oxygen"]
    charted = day.charts[day.charts["name"] == "inspired_oxygen"]
    inspired = pd.concat([charted, same_gas])[["icustay_id", "hour", "value"]]
    share = inspired["value"].where(inspired["value"] <= 1, inspired["value"] / 100)
    inspired = inspired.assign(share=share)[share.between(0.2, 1)].drop(columns="value")
    matched = pd.merge_asof(
        pressure.sort_values(["hour", "icustay_id"], kind="stable"),
        inspired.sort_values(["hour", "icustay_id"], kind="stable"),
        on="hour",
        by="icustay_id",
        tolerance=OXYGEN_HOURS,
        direction="backward",
    )
    ratio = matched["value"] / matched["share"]
    lowest = day.of_stays(ratio.groupby(matched["icustay_id"]).min())
    aided = day.stays["icustay_id"].isin(day.ventilated).to_numpy()
    return np.where(aided, np.nan, lowest), np.where(aided, lowest, np.nan)


def _rates(connection: duckdb.DuckDBPyConnection, day: _Day) -> dict[str, Float[np.ndarray, " n"]]:
    """Highest rate of each drug on the first day, µg/kg/min; 0 where it was not given. (n,)"""
    drips = drip_events(connection, hours=DAY)
    kg = drips["icustay_id"].map(_first(day.charts[day.charts["name"] == "weight"]))
    per_kg = drips["rateuom"].str.lower().str.contains("kg")
    rate = drips["rate"].where(per_kg, drips["rate"] / kg.fillna(TYPICAL_KG))
    highest = rate.groupby([drips["name"], drips["icustay_id"]]).max()
    names = set(drips["name"])
    return {
        drug: np.nan_to_num(day.of_stays(highest.loc[drug]))
        if drug in names
        else np.zeros(len(day.stays))
        for drug in items.DRIPS
    }


def _coma_scale(charts: pd.DataFrame) -> pd.DataFrame:
    """Coma scale by stay and hour: the total, else the sum of its parts; 15 where intubated."""
    keys = ["icustay_id", "hour"]
    parts = [
        charts[charts["name"] == f"coma_{part}"].groupby(keys)["value"].first().rename(part)
        for part in ("eye", "verbal", "motor", "total")
    ]
    wide = pd.concat(parts, axis=1)
    wide.index.names = keys  # lost where one of them is empty
    scale = wide["total"].fillna(wide["eye"] + wide["verbal"] + wide["motor"])
    tube = charts[(charts["name"] == "coma_verbal") & charts["text"].isin(items.INTUBATED)]
    intubated = wide.index.isin(pd.MultiIndex.from_frame(tube[keys]))
    frame = scale.where(~intubated, 15.0).rename("value").reset_index()
    return frame[frame["value"].between(3, 15)]


def _first(events: pd.DataFrame) -> pd.Series:
    """First value of each stay; of values at one time, the lowest."""
    ordered = events.sort_values(["icustay_id", "hour", "value"], kind="stable")
    return ordered.groupby("icustay_id")["value"].first()


def _yes_no(answer: Bool[np.ndarray, " n"]) -> np.ndarray:
    return np.where(answer, "yes", "no").astype(object)


def _require_some(records: pd.DataFrame, steps: Mapping[str, int]) -> None:
    if records.empty:
        counts = "; ".join(f"{step}: {count}" for step, count in steps.items())
        raise EmptyCohortError(
            f"0 patients qualify for the MIMIC-III cohort. Patients after each step: {counts}"
        )


def respiration(
    ratio_unaided: Float[np.ndarray, " n"], ratio_ventilated: Float[np.ndarray, " n"]
) -> Int[np.ndarray, " n"]:
    """Points by the lowest PaO₂/FiO₂ (mmHg) without and with a ventilator; NaN: none taken. (n,)

    3 (below 200) and 4 (below 100) need a ventilator; without one, such ratios count 2.
    """
    unaided = _below(ratio_unaided, (400.0, 300.0))
    return np.maximum(unaided, _below(ratio_ventilated, (400.0, 300.0, 200.0, 100.0)))


def coagulation(platelets: Float[np.ndarray, " n"]) -> Int[np.ndarray, " n"]:
    """Points by the lowest platelet count (10⁹/L). (n,)"""
    return _below(platelets, (150.0, 100.0, 50.0, 20.0))


def liver(bilirubin: Float[np.ndarray, " n"]) -> Int[np.ndarray, " n"]:
    """Points by the highest bilirubin (mg/dL). (n,)"""
    return _at_least(bilirubin, (1.2, 2.0, 6.0, 12.0))


def circulation(
    mean_pressure: Float[np.ndarray, " n"], rates: dict[str, Float[np.ndarray, " n"]]
) -> Int[np.ndarray, " n"]:
    """Points by the lowest mean pressure (mmHg) and the highest rates of drugs (µg/kg/min). (n,)

    Args:
        mean_pressure: NaN where none was taken. (n,)
        rates: `norepinephrine`, `epinephrine`, `dopamine`, `dobutamine`; 0 where not given. (n,)
    """
    catecholamine = np.maximum(rates["norepinephrine"], rates["epinephrine"])
    dopamine, dobutamine = rates["dopamine"], rates["dobutamine"]
    return np.select(
        [
            (catecholamine > 0.1) | (dopamine > 15),
            (catecholamine > 0) | (dopamine > 5),
            (dopamine > 0) | (dobutamine > 0),
            mean_pressure < 70,
        ],
        [4, 3, 2, 1],
        default=0,
    ).astype(np.int64)


def consciousness(coma_scale: Float[np.ndarray, " n"]) -> Int[np.ndarray, " n"]:
    """Points by the lowest Glasgow coma scale (3 to 15). (n,)"""
    return _below(coma_scale, (15.0, 13.0, 10.0, 6.0))


def kidney(
    creatinine: Float[np.ndarray, " n"], urine: Float[np.ndarray, " n"]
) -> Int[np.ndarray, " n"]:
    """Points by the highest creatinine (mg/dL) and the urine of the day (mL). (n,)"""
    by_urine = np.select([urine < 200, urine < 500], [4, 3], default=0)
    return np.maximum(_at_least(creatinine, (1.2, 2.0, 3.5, 5.0)), by_urine).astype(np.int64)


def suspected_infection(
    culture_day: Int[np.ndarray, " m"], antibiotic_day: Int[np.ndarray, " m"]
) -> Bool[np.ndarray, " m"]:
    """Pairs of a culture and an antibiotic that mean suspicion, in days. (m,)

    The antibiotic follows within three days of the culture, or the culture within one day of the
    antibiotic (72 and 24 hours; prescriptions know the day only).
    """
    wait = antibiotic_day - culture_day
    return (wait >= -1) & (wait <= 3)


def _below(value: Float[np.ndarray, " n"], limits: tuple[float, ...]) -> Int[np.ndarray, " n"]:
    return (value[:, None] < np.array(limits)).sum(axis=1)


def _at_least(value: Float[np.ndarray, " n"], limits: tuple[float, ...]) -> Int[np.ndarray, " n"]:
    return (value[:, None] >= np.array(limits)).sum(axis=1)
