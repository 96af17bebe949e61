"""An answer as tables and plain JSON values, of which its text and its page are made."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from frugal.answer import support as supports
from frugal.answer.candidates import PRACTICE
from frugal.answer.evidence import Evidence, Judged
from frugal.answer.examples import examples_of
from frugal.answer.part import parts
from frugal.answer.requirements import Variant, variant_of
from frugal.answer.words import OF_LABEL
from frugal.core.episodes import REFERRED
from frugal.core.table import Table
from frugal.judge.choice import (
    Candidates,
    Choice,
    Saving,
    price_range,
    rows_for_margin,
    tipping_gamma,
)
from frugal.judge.comparisons import LEVEL
from frugal.judge.intervals import effective_sample_size, normal_interval
from frugal.judge.policy_tree import Node, flows_of, lines_of, risk_of_orders, tree_of
from frugal.judge.prices import ExtraCosts
from frugal.judge.semi_offline import path_probability
from frugal.learn.record_law import LABEL, Added, untested


def document_of(judged: Judged) -> dict[str, Any]:
    """The whole answer in plain JSON values, with the content of each part under its name."""
    evidence, chosen = judged.evidence, judged.chosen
    data, settings, within_budgets = evidence.table, evidence.settings, judged.within
    panels, shares = [panel.name for panel in data.actions], evidence.shares(judged.handed_out)
    chance = path_probability(judged.handed_out, evidence.law)
    tree = tree_of(judged.handed_out, chance, shares)
    return {
        **_recommendation(judged),
        "panels": _orders(judged, shares, tree),
        "examples": [] if data.numeric else examples_of(judged.handed_out, data),
        **{part.name: part.content(judged) for part in parts() if part.content is not None},
        "objective": settings["objective"],
        "versions": versions(chosen, settings),
        "within_budgets": [
            _brief(within_budgets[budget]) | {"budget": budget, **_ends(within_budgets[budget])}
            for budget in settings["budgets"]
        ],
        "support": supports.document(evidence.graph, evidence.records.unsupported, data),
        "does": lines_of(
            tree, panels, data.classes, "decide" if data.numeric is None else "predict"
        ),
        "flows": flows_of(tree, panels),
        "graph": {
            "state": _graph_state(evidence),
            "added": [_cause(entry, data) for entry in evidence.added],
            "refused": [_cause(entry, data) for entry in evidence.refused],
            "before": None if judged.before is None else _brief(judged.before),
            "untested": [data.actions[j].name for j in untested(evidence.assumed)],
        },
    }


def _graph_state(evidence: Evidence) -> str:
    """Whether the records agree with the assumed causes of gaps, if a design did not make all."""
    if evidence.law.known:
        return "known"
    if evidence.refused or evidence.added:
        return "refuted" if evidence.refused else "widened"
    gaps = int((~evidence.observed.all(axis=0)).sum())
    return "untested" if len(untested(evidence.assumed)) == gaps else "held"


def _recommendation(judged: Judged) -> dict[str, Any]:
    """The named policy, and changes that would alter it; costs of a case in the table's unit."""
    chosen, evidence = judged.chosen, judged.evidence
    data, record_law, gamma = evidence.table, evidence.law, evidence.settings["gamma"]
    labels = record_law.labels
    candidates, named = chosen.candidates, chosen.candidates.outcomes[chosen.policy]
    weight = named.weight
    a, classes = len(data.actions), data.classes
    labelled = np.ones(len(weight)) if labels is None else labels.weight
    names = [panel.name for panel in data.actions]
    of_costs = (*data.unit_cost_names, *ExtraCosts.of(data).names, REFERRED)
    linear = candidates.score == "cost"  # what follows holds for costs alone
    hidden = linear and not record_law.known  # which hides no cause
    k, paid = len(classes), [j for j, name in enumerate(names) if name not in data.fees]
    wrong = [a + d * k + c for d, c in np.argwhere(candidates.errors.T).tolist()]
    wrong = wrong if data.numeric is None else []
    positions = [*paid, *wrong, *(a + k * k + g for g in range(len(data.set_ups)))]
    positions += [len(of_costs) - 1] * len(candidates.person)
    directions = {of_costs[k]: np.eye(len(candidates.unit_costs))[k] for k in positions}
    unit_costs = {of_costs[k]: float(candidates.unit_costs[k]) for k in positions}
    if data.numeric is not None:  # one price of all errors
        name, price = f"a unit of {data.numeric.loss} error", data.numeric.price
        name += " (of the label)" if name in directions else ""
        cells = candidates.errors.T.ravel() / price
        directions[name] = np.pad(cells, (a, len(candidates.unit_costs) - a - k * k))
        unit_costs[name] = price
    practice = candidates.outcomes[PRACTICE]
    return {
        "policy": chosen.policy,
        "state": chosen.state,
        "margin": chosen.margin,
        "cost": chosen.cost,
        **_of_named(chosen),
        "bound": chosen.bound,
        "practice": candidates.cost(PRACTICE),
        "saving": chosen.saving.value,
        "saving_low": chosen.saving.low,
        "saving_high": chosen.saving.high,
        "short_list": list(chosen.short_list),
        "left_out": list(candidates.left_out),
        "beyond": list(chosen.beyond),
        "repeated": chosen.repeated,
        "worth_of_knowing": chosen.last.worth,
        "rows": len(weight),
        "effective_rows": effective_sample_size(weight * labelled),
        "rows_for_margin": _number(rows_for_margin(chosen)),
        "tipping_gamma": _number(tipping_gamma(chosen, gamma)) if hidden else None,
        "most_gamma": gamma,
        "prices": {
            name: [_number(end) for end in price_range(chosen, along, unit_costs[name])]
            for name, along in directions.items()
            if linear
        },
        "unit_costs": unit_costs,
        "person": evidence.person,
        "errors": {
            of_costs[k]: {"policy": float(named.mean[k]), "practice": float(practice.mean[k])}
            | _rise(chosen.fewer.get(k))
            for k in wrong
        },
    }


def _orders(judged: Judged, handed_out: np.ndarray, tree: Node) -> dict[str, Any]:
    """Panel → shares of cases: recorded, ordered by what is handed out, and by what was judged.

    With two classes also the predicted risks at which it is ordered; None where it is not.
    """
    chosen, evidence = judged.chosen, judged.evidence
    data, habitual = evidence.table, evidence.law.habitual
    observed = evidence.observed[habitual] if habitual.any() else evidence.observed
    a, two = len(data.actions), len(data.classes) == 2 and data.numeric is None
    shares = chosen.candidates.outcomes[chosen.policy].shares(a)
    risks = risk_of_orders(tree, a) if two else [None] * a
    return {
        panel.name: {
            "recorded": float(observed[:, j].mean()),
            "policy": float(handed_out[j]),
            "judged": float(shares[j]),
            "risk": risks[j],
        }
        for j, panel in enumerate(data.actions)
    }


def _rise(fewer: Saving | None) -> dict[str, float]:
    """By how much an error is more frequent than in practice; empty where it is not compared."""
    return {} if fewer is None else {"rise_low": -fewer.high, "rise_high": -fewer.low}


def versions(chosen: Choice, settings: Mapping[str, Any]) -> dict[str, str]:
    """Candidate → its version in the answer, the first one where it is not among them."""
    if not settings["budgets"]:
        return {name: name for name in settings["agents"]}
    named = {variant_of(name).agent: name for name in chosen.candidates.names}
    return {name: named.get(name, Variant(name, 0).key) for name in settings["agents"]}


def outcomes(chosen: Choice, data: Table) -> pd.DataFrame:
    """A row for each candidate and for practice, the cheapest first.

    Intervals of candidates hold all at once: they are valid whichever one is named.
    """
    candidates = chosen.candidates
    names = [*candidates.names, PRACTICE]
    error = np.sqrt(np.diag(candidates.covariance(names)))
    costs = np.array([candidates.cost(name) for name in names])
    low, high = normal_interval(costs, error, level=LEVEL)
    low[:-1] = costs[:-1] - chosen.compared.simultaneous
    high[:-1] = costs[:-1] + chosen.compared.simultaneous
    rows = []
    for k, name in enumerate(names):
        place = candidates.names.index(name) if name != PRACTICE else None
        rows.append(
            {
                "agent": name,
                "cost": costs[k],
                "std_error": error[k],
                **interval_of(float(low[k]), float(high[k]), candidates),
                **parts_of_cost(candidates, name),
                "not_worse": name in chosen.short_list,
                "bound": np.nan if place is None else float(chosen.compared.bound[place]),
            }
            | shares_of(candidates, name, data)
        )
    frame = pd.DataFrame(rows).sort_values(["cost", "agent"], kind="stable", ignore_index=True)
    return frame if len(candidates.person) else frame.drop(columns="referral_cost")


def parts_of_cost(candidates: Candidates, name: str) -> dict[str, float]:
    """Parts of the mean cost of a case by a policy, and the effective sample size."""
    outcome, a = candidates.outcomes[name], len(candidates.price)
    errors = outcome.mean[a : a + candidates.errors.size] @ candidates.errors.T.ravel()
    return {
        "acquisition_cost": candidates.paid(name),
        "misclassification_cost": float(errors),
        "referral_cost": outcome.mean[-1] * candidates.person.sum(),
        "effective_rows": effective_sample_size(outcome.weight),
    }


def shares_of(candidates: Candidates, name: str, data: Table) -> dict[str, float]:
    """Share of cases for which a policy acquires each panel."""
    shares = candidates.outcomes[name].shares(len(data.actions))
    return {f"share:{panel.name}": float(shares[j]) for j, panel in enumerate(data.actions)}


def terms_of(chosen: Choice, data: Table) -> pd.DataFrame:
    """Weight and term of the cost, candidate by candidate; the mean of terms is the cost."""
    candidates, unit = chosen.candidates, chosen.candidates.unit_costs
    return pd.concat(
        pd.DataFrame(
            {
                "agent": name,
                "row_id": data.row_id,
                "weight": outcome.weight,
                "term": (outcome.mean + outcome.influence) @ unit,
            }
        )
        for name, outcome in candidates.outcomes.items()
    ).reset_index(drop=True)


def _ends(answer: Choice) -> dict[str, float]:
    """Interval of the compared quantity, and the mean price of the panels."""
    return _of_named(answer) | {"price": answer.candidates.paid(answer.policy)}


def _of_named(answer: Choice) -> dict[str, float]:
    return interval_of(
        answer.cost - answer.half_width, answer.cost + answer.half_width, answer.candidates
    )


def interval_of(low: float, high: float, candidates: Candidates) -> dict[str, float]:
    """Ends within the range of a case's cost, or of 1 − F1."""
    most = 1.0 if candidates.score == "f1" else np.inf
    return {"ci_low": max(low, 0.0), "ci_high": min(high, most)}


def _cause(cause: Added, data: Table) -> dict[str, Any]:
    column = OF_LABEL if cause.column == LABEL else data.columns[cause.column]
    return {"panel": data.actions[cause.panel].name, "column": column, "z": cause.z}


def _brief(answer: Choice) -> dict[str, Any]:
    return {
        "policy": answer.policy,
        "cost": answer.cost,
        "bound": answer.bound,
        "state": answer.state,
    }


def _number(value: float) -> float | None:
    """None where JSON has no such number."""
    return float(value) if np.isfinite(value) else None
