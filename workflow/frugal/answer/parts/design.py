"""Panels to record next: a design for further cases as a protocol, its value, and in words.

Numbers come from `judge/designs.py` and `judge/information_value.py`; `answer/recorded.py` reads
the protocol back.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from frugal.answer.evidence import Judged
from frugal.answer.part import Part, Section, Shown
from frugal.core.table import Table
from frugal.judge.designs import (
    MOST_CASES,
    Box,
    Compared,
    Design,
    believed,
    cases_needed,
    compared,
    designed,
    expected,
)
from frugal.judge.information_value import Kind, worth
from frugal.judge.verdicts import joined, number, percent

PriceOf = Callable[[np.ndarray], np.ndarray]

NAME = "design"
SHOWN = 3  # strata that a sentence names
SURE = ("best", "good_enough")


def _content(judged: Judged) -> dict[str, Any] | None:
    """The design for further cases, and the expected answer, in plain JSON values."""
    settings = judged.requested(NAME)
    if settings is None:
        return None
    chosen, evidence, followed = judged.chosen, judged.evidence, judged.paths
    record_law, data = evidence.law, evidence.table
    further, budget = settings["design"], settings["budget"]
    first_row = int(evidence.catalogue["report"].get("rows_read", len(data))) + 1
    names = (*chosen.candidates.names, *chosen.candidates.left_out)
    paths = {name: followed[name].within(record_law) for name in names}
    policies = compared(chosen, paths, record_law)
    if policies is None:
        return {"cases": further, "protocol": None}
    prices, shared = data.action_cost, data.shared_costs
    complete = np.asarray(record_law.observed.all(axis=0))

    def price_of(sets: np.ndarray) -> np.ndarray:
        """Of incomplete panels, beyond those that every case has."""
        return shared.price(sets | complete, prices) - shared.price(complete[None], prices)

    now = record_law.observed[record_law.habitual] & ~complete
    money = float(price_of(now).mean()) if budget is None else budget
    able = np.flatnonzero(data.free_columns & np.isfinite(data.values).all(axis=0))
    design = designed(policies, data.values[:, able], price_of, money, further)
    plans = {"as_before": None, "by_design": design}
    then = {name: expected(policies, plan, further) for name, plan in plans.items()}
    needed = {name: cases_needed(policies, plan) for name, plan in plans.items()}
    boxes = [{int(able[c]): ends for c, ends in box.items()} for box in design.boxes]
    return {
        "cases": further,
        "money": money,
        "price": design.price,
        "bound": {name: each.bound for name, each in then.items()},
        "sure": {name: each.sure for name, each in then.items()},
        "needed": {n: round(value) if np.isfinite(value) else None for n, value in needed.items()},
        "shares": design.share.tolist(),
        "value": _value(settings, policies, design, price_of, record_law.observed, data),
        "protocol": {"first_row": first_row, "strata": _strata(design, boxes, data)},
    }


def _value(
    settings: Mapping[str, Any],
    policies: Compared,
    design: Design,
    price_of: PriceOf,
    observed: np.ndarray,
    data: Table,
) -> dict[str, Any] | None:
    """Expected value of certainty and of records of each kind; None without `cases_a_year`."""
    year = settings.get("cases_a_year")
    if year is None:
        return None
    set_up, years = settings.get("record_set_up") or 0.0, settings.get("years")
    years = 1.0 if years is None else years
    belief, further = believed(policies), settings["design"]
    kinds = _kinds(settings.get("record_price"), policies, design, price_of, observed)
    names = np.array([panel.name for panel in data.actions])
    documents = []
    for of, panels, kind in kinds:
        each = worth(belief, kind, further, year * years, set_up)
        documents.append(
            {"of": of, "panels": names[panels].tolist(), "price": kind.price}
            | each._asdict()
            | {"a_year": year * each.value, "exhausted": each.best >= int(kind.most)}
        )
    return {
        "cases_a_year": year,
        "years": years,
        "set_up": set_up,
        "perfect": belief.perfect,
        "panels": {
            names[panels][0]: belief.sample(kind.then(kind.most))
            for of, panels, kind in kinds
            if of == "present"
        },
        "kinds": documents,
    }


def _kinds(
    price: float | None, policies: Compared, design: Design, price_of: PriceOf, observed: np.ndarray
) -> list[tuple[str, np.ndarray, Kind]]:
    """Kinds of further records: who is recorded, and which panels.

    New cases hold all panels of the policies, or those that the design draws; present cases that
    lack one of these panels, drawn at random, get it.

    Args:
        price: of a record; None: that of its panels.
        policies: under comparison.
        design: of new cases.
        price_of: sets of panels.
        observed: panels that records hold. (n, p)
    """
    every = np.asarray(policies.requested.any(axis=0))
    drawn = float(design.share @ (design.chance * design.sets.any(axis=1)))

    def of_set(panels: np.ndarray) -> float:
        return float(price_of(panels[None])[0]) if price is None else price

    all_panels = Kind(
        of_set(every), MOST_CASES, lambda n: policies.covariance(n, np.ones(len(observed)))
    )
    planned = Kind(
        design.price if price is None else price * drawn,
        MOST_CASES,
        lambda n: policies.covariance(n, design.of_rows),
    )

    def completing(j: int) -> Kind:
        lack = int((~observed[:, j]).sum())
        price_of_one = of_set(np.arange(len(every)) == j)
        return Kind(price_of_one, lack, lambda n: policies.completed(n / lack, j))

    present = [
        ("present", np.arange(len(every)) == j, completing(j))
        for j in np.flatnonzero(every).tolist()
    ]
    return [("new", every, all_panels), ("design", design.sets.any(axis=0), planned), *present]


def _strata(design: Design, boxes: list[Box], data: Table) -> list[dict[str, Any]]:
    """Strata of a protocol."""
    names = np.array([panel.name for panel in data.actions])
    return [
        {
            "where": {
                data.columns[c]: {
                    key: float(end)
                    for key, end in (("from", low), ("below", below))
                    if np.isfinite(end)
                }
                for c, (low, below) in box.items()
            },
            "record": [{"panels": names[panels].tolist(), "probability": float(chance)}]
            if panels.any()
            else [],
        }
        for box, panels, chance in zip(boxes, design.sets, design.chance, strict=True)
    ]


def _where(where: Mapping[str, Mapping[str, float]]) -> str:
    """Conditions of a stratum in words."""
    each = []
    for column, ends in where.items():
        low, below = ends.get("from"), ends.get("below")
        if low is None:
            each.append(f"{column} below {number(below)}")
        elif below is None:
            each.append(f"{column} from {number(low)} on")
        else:
            each.append(f"{column} {number(low)} to {number(below)}")
    return " and ".join(each) or "all cases"


def _sentences(shown: Shown) -> list[str]:
    """Panels to record next, as one line; none where it was not requested."""
    choice, unit = shown.choice, shown.unit
    design = choice[NAME]
    if design is None:
        return []
    if design["protocol"] is None:
        return [
            "No design of further cases: one policy alone may be the best, so more records are "
            "not expected to change the choice."
            if len(choice["short_list"]) == 1 and not choice["left_out"]
            else "No design of further cases: too few records show two policies that may be best."
        ]
    rows = _table(shown)
    assert rows is not None
    most = rows.sort_values("probability", ascending=False, kind="stable")[:SHOWN]
    strata = [
        f"{row['stratum']}: {row['panels']} in {percent(row['probability'])}"
        for row in most.to_dict("records")
    ]
    strata += ["the other strata are on the page"] if len(rows) > SHOWN else []
    bound, sure, needed = design["bound"], design["sure"], design["needed"]
    cheaper, of = (
        ("better", "of F1") if choice["objective"] == "f1" else ("cheaper", f"{unit} a case")
    )
    cases = {
        name: "more than a million" if value is None else f"about {number(value)}"
        for name, value in needed.items()
    }
    then = (
        f"Expected then: another policy is {cheaper} by at most {number(bound['by_design'])} {of}, "
        f"recorded as before {number(bound['as_before'])}."
    )
    if choice["state"] not in SURE and choice["graph"]["state"] != "refuted":
        then += f" The answer is good enough with probability {sure['by_design']:.2f}"
        if sure["by_design"] < 0.5:
            then += f"; for 0.50, {cases['by_design']} such cases are needed, recorded as before "
            then += cases["as_before"]
        then += "."
    return [
        *_worth(design, unit),
        f"Of {design['cases']:,} further cases, record all of these panels or none, at random: "
        f"{'; '.join(strata)}. This costs {number(design['price'])} {unit} a case. {then}",
    ]


def _worth(design: Mapping[str, Any], unit: str) -> list[str]:
    """Whether more records pay, of the kind with the largest net benefit; none if not stated."""
    value = design.get("value")
    if value is None:
        return []
    best = max(value["kinds"], key=lambda kind: (kind["best_net"], kind["net"]))
    of_design = next(kind for kind in value["kinds"] if kind["of"] == "design")
    more = [best, of_design] if best["best"] and not of_design["best"] else [best]
    return [_pays(kind, value, unit) for kind in more]


def _pays(kind: Mapping[str, Any], value: Mapping[str, Any], unit: str) -> str:
    """Whether records of a kind pay: as many as requested, or the best number if that is less."""
    records, cost, a_year, best = (kind[key] for key in ("records", "cost", "a_year", "best"))
    years = value["years"]
    if 0 < best < records:
        records, cost = best, value["set_up"] + kind["price"] * best
        a_year = (kind["best_net"] + cost) / years
    which = {
        "new": " with all panels",
        "design": " by the design",
        "present": f" of {joined(kind['panels'])} for present cases that lack it",
    }[kind["of"]]
    clause = f"cost {number(cost)} {unit} and are worth {number(a_year)} {unit} a year" + (
        "" if years == 1 else f" for {number(years)} years"
    )
    if not best:
        return f"More records{which} do not pay: {records:,} {clause}."
    beyond = f"; beyond {number(best)} they are not" if not kind["exhausted"] else ""
    return f"{records:,} more records{which} {clause}{beyond}."


def _table(shown: Shown) -> pd.DataFrame | None:
    """A row for each stratum; None where there is no design."""
    design = shown.choice[NAME]
    if design is None or design["protocol"] is None:
        return None
    rows = [
        {
            "stratum": _where(stratum["where"]),
            "share of cases": percent(share),
            "panels": joined(entry["panels"]),
            "probability": float(entry["probability"]),
        }
        for stratum, share in zip(design["protocol"]["strata"], design["shares"], strict=True)
        for entry in stratum["record"] or [{"panels": ["none"], "probability": 0.0}]
    ]
    return pd.DataFrame(rows)


DESIGN = Part(
    name="design",
    place=70,
    content=_content,
    settings={
        "design": (
            "Number",
            "number of further cases for which the answer states which panels to record, for at "
            "most `budget` a case",
        ),
        "cases_a_year": (
            "Amount",
            "with `design`, number of cases that a policy decides in a year; the answer states "
            "cost and value of further records, and how many are best",
        ),
        "years": ("Amount", "years for which the policy is used; 1 by default"),
        "record_price": (
            "Amount",
            "price of a further record; by default that of the panels recorded",
        ),
        "record_set_up": ("Amount", "price of recording any further case; 0 by default"),
    },
    needs={
        "cases_a_year": ("cost", "design"),
        "years": ("cases_a_year",),
        "record_price": ("cases_a_year",),
        "record_set_up": ("cases_a_year",),
    },
    reads=("budget",),
    section=Section("Records to come", _sentences, ("Records to come, by stratum", _table)),
)
