"""The MIMIC-III cohorts of the diagnosis study, stay by stay, from the definition.

Shares nothing with the package: plain dictionaries, loops, clock arithmetic, its own item numbers.
"""

from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from typing import Any

Row = dict[str, str]


def moment(text: str) -> datetime:
    return datetime.strptime(text, "%Y-%m-%d %H:%M:%S")


def first_adult_stays(tables: dict[str, list[Row]]) -> list[Row]:
    born = {p["subject_id"]: moment(p["dob"]) for p in tables["PATIENTS"]}
    by_patient: dict[str, list[Row]] = {}
    for stay in tables["ICUSTAYS"]:
        by_patient.setdefault(stay["subject_id"], []).append(stay)
    firsts = [min(own, key=lambda s: (s["intime"], s["icustay_id"])) for own in by_patient.values()]
    return [
        s for s in firsts if (moment(s["intime"]) - born[s["subject_id"]]).days / 365.2425 >= 18
    ]


def _hours_in(stay: Row, text: str) -> float:
    return (moment(text) - moment(stay["intime"])) / timedelta(hours=1)


def labs(stay: Row, tables: dict[str, list[Row]], item: int, start: float, end: float) -> list:
    """(hour, value) of a laboratory item, start ≤ hour < end."""
    found = []
    for row in tables["LABEVENTS"]:
        if row["subject_id"] == stay["subject_id"] and row["itemid"] == str(item):
            hour = _hours_in(stay, row["charttime"])
            if start <= hour < end and row["valuenum"]:
                found.append((hour, float(row["valuenum"])))
    return sorted(found)


def kidney_cohort(tables: dict[str, list[Row]]) -> dict[str, tuple[float, float]]:
    """Stay → lowest creatinine of the first day, highest of hours 24 to 72."""
    result = {}
    for stay in first_adult_stays(tables):
        early = labs(stay, tables, 50912, 0, 24)
        late = labs(stay, tables, 50912, 24, 72.0001)
        if early and late:
            result[stay["icustay_id"]] = (min(v for _, v in early), max(v for _, v in late))
    return result


def _charted(stay: Row, tables: dict[str, list[Row]], wanted: Iterable[int]) -> list[tuple]:
    texts = {str(item) for item in wanted}
    return sorted(
        (_hours_in(stay, row["charttime"]), float(row["valuenum"] or "nan"), row["value"])
        for row in tables["CHARTEVENTS"]
        if row["icustay_id"] == stay["icustay_id"]
        and row["itemid"] in texts
        and row["error"] != "1"
        and 0 <= _hours_in(stay, row["charttime"]) <= 24
    )


def _grade(value: float | None, rules: list[tuple[Callable[[float], bool], int]]) -> int:
    return 0 if value is None else next((p for rule, p in rules if rule(value)), 0)


def sofa(stay: Row, tables: dict[str, list[Row]]) -> int:
    """Points of the first day; charts as in the drawn tables: MetaVision's items only."""

    def extreme(pairs: list[tuple], which: Any) -> float | None:
        return which((p[1] for p in pairs), default=None)

    day = [labs(stay, tables, item, 0, 24) for item in (51265, 50885, 50912, 50821, 50816)]
    platelets, bilirubin, creatinine, oxygen, gas_share = day
    on = [t for _, _, t in _charted(stay, tables, [223848]) if t not in ("", "Other/Remeasured")]
    shares = [
        (h, v if v <= 1 else v / 100)
        for h, v in [*gas_share, *((h, v) for h, v, _ in _charted(stay, tables, [223835]))]
    ]
    shares = [(h, v) for h, v in shares if 0.2 <= v <= 1]
    ratios = []
    for hour, pressure in oxygen:
        usable = [(h, v) for h, v in shares if hour - 4 <= h <= hour]
        if usable:
            ratios.append(pressure / max(usable)[1])
    worst = min(ratios, default=None)
    ventilated = [(lambda r: r < 100, 4), (lambda r: r < 200, 3)] if on else []
    points = _grade(worst, [*ventilated, (lambda r: r < 300, 2), (lambda r: r < 400, 1)])
    points += _grade(
        extreme(platelets, min),
        [(lambda v, b=b: v < b, p) for b, p in ((20, 4), (50, 3), (100, 2), (150, 1))],
    )
    points += _grade(
        extreme(bilirubin, max),
        [(lambda v, b=b: v >= b, p) for b, p in ((12, 4), (6, 3), (2, 2), (1.2, 1))],
    )
    points += _heart(stay, tables)
    points += _coma(stay, tables)
    kidney = _grade(
        extreme(creatinine, max),
        [(lambda v, b=b: v >= b, p) for b, p in ((5, 4), (3.5, 3), (2, 2), (1.2, 1))],
    )
    urine = [
        float(row["value"])
        for row in tables["OUTPUTEVENTS"]
        if row["icustay_id"] == stay["icustay_id"]
        and row["itemid"] == "226559"
        and 0 <= _hours_in(stay, row["charttime"]) <= 24
    ]
    little = 0 if not urine else 4 if sum(urine) < 200 else 3 if sum(urine) < 500 else 0
    return points + max(kidney, little)


def _heart(stay: Row, tables: dict[str, list[Row]]) -> int:
    weights = [v for _, v, _ in _charted(stay, tables, [224639]) if 20 <= v <= 400]
    rate = {221906: 0.0, 221289: 0.0, 221662: 0.0, 221653: 0.0}
    for row in tables["INPUTEVENTS_MV"]:
        item = int(row["itemid"])
        if row["icustay_id"] != stay["icustay_id"] or item not in rate or not row["rate"]:
            continue
        if row["statusdescription"] == "Rewritten":
            continue
        if _hours_in(stay, row["starttime"]) <= 24 and _hours_in(stay, row["endtime"]) >= 0:
            per_kg = "kg" in row["rateuom"]
            own = float(row["rate"]) / (1 if per_kg else weights[0] if weights else 80)
            rate[item] = max(rate[item], own)
    nor, adrenaline, dopamine, dobutamine = rate.values()
    if max(nor, adrenaline) > 0.1 or dopamine > 15:
        return 4
    if max(nor, adrenaline) > 0 or dopamine > 5:
        return 3
    if dopamine > 0 or dobutamine > 0:
        return 2
    pressures = [v for _, v, _ in _charted(stay, tables, [220052]) if 10 <= v <= 250]
    return int(bool(pressures) and min(pressures) < 70)


def _coma(stay: Row, tables: dict[str, list[Row]]) -> int:
    parts: dict[float, dict[int, tuple[float, str]]] = {}
    for item in (220739, 223900, 223901):
        for hour, value, text in _charted(stay, tables, [item]):
            parts.setdefault(hour, {}).setdefault(item, (value, text))
    scales = []
    for found in parts.values():
        if 223900 in found and found[223900][1] in ("No Response-ETT", "1.0 ET/Trach"):
            scales.append(15.0)
        elif len(found) == 3:
            scales.append(sum(v for v, _ in found.values()))
    if not scales:
        return 0
    lowest = min(scales)
    return next((p for b, p in ((6, 4), (10, 3), (13, 2), (15, 1)) if lowest < b), 0)


def sepsis_cohort(tables: dict[str, list[Row]], antibiotics: set[str]) -> dict[str, int]:
    """Stay → points, of stays with suspected infection and two points or more."""
    result = {}
    for stay in first_adult_stays(tables):
        arrival = moment(stay["intime"]).date()
        suspected = False
        for culture in tables["MICROBIOLOGYEVENTS"]:
            if culture["hadm_id"] != stay["hadm_id"]:
                continue
            taken = moment(culture["charttime"] or culture["chartdate"]).date()
            for drug in tables["PRESCRIPTIONS"]:
                if drug["hadm_id"] != stay["hadm_id"] or drug["drug"] not in antibiotics:
                    continue
                if not drug["startdate"]:
                    continue
                given = moment(drug["startdate"]).date()
                close = -1 <= (given - taken).days <= 3
                suspected |= close and abs((min(given, taken) - arrival).days) <= 1
        points = sofa(stay, tables)
        if suspected and points >= 2:
            result[stay["icustay_id"]] = points
    return result
