"""Stages of the answer on one's own table: policies are evaluated, and the answer is written."""

import base64
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float

from frugal.answer.candidates import IN, PRACTICE, ROUNDING, from_frame, versions_of, within
from frugal.answer.parts import design as designs
from frugal.answer.parts import habit as habits
from frugal.answer.parts import referral as persons
from frugal.answer.parts import support as supports
from frugal.answer.parts import transport as other_cases
from frugal.answer.recorded import known_law
from frugal.answer.requirements import candidate
from frugal.answer.stored import StoredRecords
from frugal.answer.words import (
    NAMED,
    OF_LABEL,
    all_remarks,
    curve,
    document,
    net_benefit_words,
    words,
)
from frugal.config.declared import declared_kinds
from frugal.core.episodes import REFERRED
from frugal.core.errors import ConfigError
from frugal.core.regions import inside
from frugal.core.rows import Partitions, Rows, rows_of
from frugal.core.schema_check import listed
from frugal.core.streams import Streams
from frugal.core.table import Table
from frugal.data.case_document import TableColumns, case_document
from frugal.data.cases import read_cases
from frugal.data.description import load_description
from frugal.data.tables import EVERY, StoredTable
from frugal.draw.answers import AnswerText
from frugal.judge.choice import (
    Candidates,
    Choice,
    Saving,
    choose,
    judged,
    over_divisions,
    price_range,
    rows_for_margin,
    tipping_gamma,
)
from frugal.judge.comparisons import LEVEL
from frugal.judge.intervals import effective_sample_size, normal_interval
from frugal.judge.net_benefit import (
    ALL,
    NET_BENEFIT,
    THRESHOLDS,
    decision_curves,
    implied_threshold,
)
from frugal.judge.prices import ExtraCosts, PriceBox
from frugal.judge.recorded_labels import recorded_labels
from frugal.judge.referral import referred
from frugal.judge.semi_offline import Labels, Paths, lines_of, path_probability, terms, tree_of
from frugal.learn.record_law import (
    LABEL,
    Added,
    Causes,
    RecordedLabels,
    RecordLaw,
    untested,
    widened,
)
from frugal.missing.graphs import MissingnessGraph
from frugal.results.files import json_bytes, payload_bytes, sealed

ERRORS = "misclassification_cost"  # those of the table, which may be open in the YAML
PERSON = "Cases for a person"
HABIT = "The habit of ordering"
DESIGN = "What to record next"
ELSEWHERE = "Other cases"


def judge_candidates(
    *,
    table: pd.DataFrame | Rows,
    catalogue: Mapping[str, Any],
    masks: pd.DataFrame | Rows,
    graph: Mapping[str, Any],
    paths: Partitions,
    joined: pd.DataFrame | Rows,
    settings: Mapping[str, Any],
    streams: Streams,
    progress: Callable[..., Any],
) -> dict[str, Any]:
    """The answer as a document, the outcomes of every candidate, and their terms row by row.

    `paths` are those of the folds, `joined` those of the policies that are handed out.

    Each row is evaluated by policies that learned on the other folds. The missingness model is that
    of the graph, and once more with the causes that the records add.

    Settings: `agents` (names, in the order of preference), `margin` (share of the cost), `gamma`
    (the largest that is looked at), `objective` (cost or f1), `budgets` (of f1: the answer is for
    the first; `within_budgets` of the document has that of each, none of a lower F1 than that of a
    smaller budget), `audit_habit` (whether the paths hold those without each panel, and the
    document gets the whole habit audit), `design` (number
    of further `cases` to plan and most that their panels may cost, `budget`, or None), `recorded`
    (the protocol by which rows were recorded, or None), `referral` (`price` of a case that is
    handed to a person and `risk`, most that errors of the others may cost, or None),
    `most_missed` (group, or "" for all cases → share of the second of two classes that the named
    policy may miss).
    """
    stored = StoredTable(table, catalogue, unlabelled=True)
    records = StoredRecords(stored, catalogue, masks, graph)
    data, observed = records.at(records.table.positions(EVERY), records.seeds[0])
    votes = from_frame(rows_of(joined).read(), data)
    referral, errors = settings["referral"], data.misclassification_cost
    divided, streams = _divided(paths, data, observed), streams.of_any_table()
    decides, each_followed = divided[0][1], [followed for _, followed in divided]
    if referral is not None:
        each_followed = [
            {
                name: path if name.startswith(IN) else referred(path, errors, referral["price"])
                for name, path in decided.items()
            }
            for decided in each_followed
        ]
    followed = dict(each_followed[0])  # of the first division alone: what is not compared
    without = {name: followed.pop(name) for name in list(followed) if IN in name}
    values = np.where(data.columns_observed(observed), data.values, np.nan)
    recorded = settings["recorded"]
    record_model = RecordLaw(
        observed,
        values,
        data.label,
        records.table.fold,
        causes_of(graph, data),
        data.provides,
        protocol=None if recorded is None else known_law(recorded, data, observed),
        unsupported=inside(records.unsupported, values, observed.shape[1])
        if records.unsupported
        else None,
    )
    # columns that every record holds, and that vary
    varies = np.ptp(values, axis=0) > 0
    varying = values[:, varies]
    if not data.labelled.all():
        names = [data.columns[j] for j in np.flatnonzero(varies).tolist()]
        record_model = replace(
            record_model,
            labels=recorded_labels(record_model, varying, names, [p.name for p in data.actions]),
        )
    cluster = records.table.clusters(EVERY)
    wider, added, refused = widened(record_model)
    habit = habits.tested(record_model, varying, cluster, data, streams)

    extra, exact = ExtraCosts.of(data), data.exact_errors

    def judge(record_model: RecordLaw, paths: Mapping[str, Paths]) -> Candidates:
        return judged(
            paths,
            record_model,
            varying,
            extra.flat(data.action_cost),
            errors,
            practice=PRACTICE,
            extra=extra,
            person=None if referral is None else referral["price"],
            score=settings["objective"],
            cluster=cluster,
            exact=exact,
        )

    def answered(every: Candidates, budget: float, most: float = np.inf) -> Choice:
        tried = every.of([name for name in spent if _keeps(spent[name], budget)])
        return choose(
            tried.of(_best_versions(tried)),
            settings["margin"],
            streams.generator("quantiles"),
            price_box(every.unit_costs, data, catalogue, extra),
            limits=_limits(every, settings["most_missed"], records.table),
            tried=tried,
            most=most,
            refuted=bool(refused),
        )

    budgets = settings["budgets"] or [np.inf]
    names, spent = list(settings["agents"]), dict.fromkeys(settings["agents"], 0.0)
    if settings["budgets"]:
        learned = versions_of(names, budgets)
        spent = {
            name: max(
                float(_shares(each[name].within(wider), wider, data) @ data.action_cost)
                for each in (followed, votes)
            )
            for name in learned
            if name in followed
        }
        able = [name for name in spent if _keeps(spent[name], max(budgets))]
        names = [*{_acts(name, followed[name]): name for name in able}.values()]

    def judge_all(record_model: RecordLaw) -> Candidates:
        further = [replace(record_model, fold=fold, _sets={}) for fold, _ in divided[1:]]
        each = zip([record_model, *further], each_followed, strict=True)
        who = (*names, PRACTICE)
        return over_divisions([judge(model, {n: paths[n] for n in who}) for model, paths in each])

    every, most = judge_all(wider), np.inf
    answers: dict[float, Choice] = {}
    for budget in progress(sorted(set(budgets))):  # a policy is within every larger budget, too
        answers[budget] = answered(every, budget, most)
        most = answers[budget].cost
    chosen = answers[budgets[0]]
    before = answered(judge_all(record_model), budgets[0]) if added else None
    handed_out = votes[chosen.policy].within(wider)
    refers = None
    if referral is not None:
        handed_out = referred(handed_out, errors, referral["price"])
        deciding = f"{chosen.policy}{IN}"
        each = {chosen.policy: followed[chosen.policy], deciding: decides[chosen.policy]}
        together = judge(wider, each | {PRACTICE: followed[PRACTICE]})
        refers = persons.judged(
            together,
            deciding,
            without.get(f"{IN}{chosen.policy}"),
            record_model,
            data,
            referral,
            streams.generator("referral"),
        )
    tree = tree_of(handed_out, path_probability(handed_out, wider))
    shares = _shares(handed_out, wider, data)
    if settings["audit_habit"]:
        habit |= habits.audited(chosen, wider, data, judge, followed | without, streams)
    plan = settings["design"]
    first_row = int(catalogue["report"].get("rows_read", len(data))) + 1
    curves = _net_benefit(chosen, decides, wider, data)
    habitual = observed[wider.habitual] if wider.habitual.any() else observed
    choice_document = _judged(chosen, data, settings["gamma"], habitual, wider.labels, shares) | {
        "design": None
        if plan is None
        else designs.planned(
            chosen, followed, wider, data, plan["cases"], plan["budget"], first_row
        ),
        "net_benefit": _at_implied(curves, chosen.policy, data.misclassification_cost),
        "uncertain_prices": _uncertain(
            chosen, price_box(chosen.candidates.unit_costs, data, catalogue, extra), data
        ),
        "habit": habit,
        "referral": refers,
        "objective": settings["objective"],
        "versions": versions(chosen, settings),
        "within_budgets": [
            _brief(answers[budget]) | {"budget": budget, **_ends(answers[budget])}
            for budget in settings["budgets"]
        ],
        "groups": groups(chosen, records.table, data.label > 0),
        "support": supports.document(graph, records.unsupported, data),
        "labels": _labels(record_model, data),
        "does": lines_of(
            tree,
            [panel.name for panel in data.actions],
            data.classes,
            "decide" if data.numeric is None else "predict",
        ),
        "graph": {
            "state": "refuted" if refused else "widened" if added else "held",
            "added": [_cause(entry, data) for entry in added],
            "refused": [_cause(entry, data) for entry in refused],
            "before": None if before is None else _brief(before),
            "untested": [data.actions[j].name for j in untested(record_model)],
        },
    }
    return {
        "choice": choice_document,
        "outcomes": outcomes(chosen, data),
        "terms": _terms(chosen, data),
        "net_benefit": curves,
    }


def _divided(
    paths: Partitions, data: Table, observed: np.ndarray
) -> list[tuple[np.ndarray, dict[str, Paths]]]:
    """Fold of each row in each division, and the paths of all policies there."""
    place = pd.Series(np.arange(len(data)), index=data.row_id)
    frames = [paths.open(k).read() for k in range(len(paths.folders))]
    divided = []
    for number in sorted(frames[0]["repeat"].unique().tolist()):
        parts = [frame[frame["repeat"] == number] for frame in frames]
        fold = np.empty(len(data), dtype=np.int64)
        for k, part in enumerate(parts):
            fold[place[part["row_id"].unique()].to_numpy()] = k
        followed = from_frame(pd.concat(parts, ignore_index=True), data)
        followed[PRACTICE] = replace(followed[PRACTICE], acquired=observed)
        divided.append((fold, followed))
    return divided


def _labels(record_model: RecordLaw, data: Table) -> dict[str, Any] | None:
    """How many rows lack a label, and its causes; None where all have one."""
    labels = record_model.labels
    if labels is None:
        return None
    return {
        "missing": int((~labels.present).sum()),
        "effective_rows": effective_sample_size(labels.weight),
        "least_chance": float(labels.chance.min()),
        "contradicted": [data.columns[j] for j in labels.contradicted],
    }


def _net_benefit(
    chosen: Choice, followed: Mapping[str, Paths], record_model: RecordLaw, data: Table
) -> pd.DataFrame:
    """Decision curves of the candidates and of practice; empty where there are not two classes."""
    errors, candidates = data.misclassification_cost, chosen.candidates
    two = len(errors) == 2 and data.numeric is None
    if not two or errors[1, 0] <= errors[1, 1] or candidates.score == "f1":
        return pd.DataFrame(columns=list(NET_BENEFIT))
    names = [*candidates.names, PRACTICE]
    paths = {n: followed[n] if n == PRACTICE else followed[n].within(record_model) for n in names}
    implied = implied_threshold(errors)
    extra = ExtraCosts.of(data)
    return decision_curves(
        paths,
        record_model,
        extra.flat(data.action_cost),
        errors,
        extra=extra,
        cluster=candidates.cluster,
        thresholds=sorted({*THRESHOLDS, *((implied,) if 0 < implied < 1 else ())}),
    )


def _at_implied(
    curves: pd.DataFrame, policy: str, errors: Float[np.ndarray, "k k"]
) -> dict[str, Any] | None:
    """Net benefit at the threshold of the costs of errors, and where the policy's is the highest.

    None where there is no curve.
    """
    if not len(curves):
        return None
    value, low, high = (
        curves.pivot(index="threshold", columns="agent", values=name)
        for name in ("net_benefit", "ci_low", "ci_high")
    )
    frames = {"net_benefit": value, "ci_low": low, "ci_high": high}
    grid = value.index.to_numpy(dtype=float)
    at = float(grid[np.abs(grid - implied_threshold(errors)).argmin()])
    rivals = value.drop(columns=[PRACTICE]).to_numpy().max(axis=1)
    return {
        "threshold": at,
        **{name: float(frame[policy][at]) for name, frame in frames.items()},
        "all": float(value[ALL][at]),
        "practice": float(value[PRACTICE][at]),
        "highest_at": grid[value[policy].to_numpy() >= rivals].tolist(),
    }


def _shares(paths: Paths, record_model: RecordLaw, data: Table) -> Float[np.ndarray, " a"]:
    """Share of cases in which a policy acquires each panel; its paths are within the law."""
    label = np.maximum(data.label, 0)  # panels alone are read
    labels = Labels(np.eye(len(data.classes))[label], label)
    chance = path_probability(paths, record_model)
    outcome_terms = terms(
        paths, chance, labels, data.action_cost, data.misclassification_cost, record_model.fold
    )
    return outcome_terms.shares(len(data.actions))


def _keeps(price: float, budget: float) -> bool:
    """Whether a price is within a budget."""
    return price <= budget * (1 + ROUNDING)


def _acts(name: str, paths: Paths) -> tuple[str, bytes, bytes]:
    """The same for versions of a candidate that do the same in every row."""
    return candidate(name), paths.order.tobytes(), paths.verdict.tobytes()


def _best_versions(tried: Candidates) -> list[str]:
    """Of each candidate the version of the best score, the last one of equals."""

    def score(name: str) -> float:
        return tried.cost(name) if name in tried.outcomes else np.inf

    worst_first = sorted((*tried.names, *tried.left_out), key=score, reverse=True)
    return [*{candidate(name): name for name in worst_first}.values()]


def versions(chosen: Choice, settings: Mapping[str, Any]) -> dict[str, str]:
    """Candidate → its version in the answer, the first one where it is not among them."""
    if not settings["budgets"]:
        return {name: name for name in settings["agents"]}
    named = {candidate(name): name for name in chosen.candidates.names}
    return {name: named.get(name, within(name, 0)) for name in settings["agents"]}


def _within(candidates: Candidates, inside: np.ndarray) -> Candidates:
    """The same, judged on some of the rows."""
    outcomes = {name: outcome.of(inside) for name, outcome in candidates.outcomes.items()}
    return replace(candidates, outcomes=outcomes)


def _limits(
    every: Candidates, most_missed: Mapping[str, float], stored: StoredTable
) -> dict[str, tuple[Candidates, float]]:
    """Candidates in each group whose misses are bounded, and the bound.

    Raises:
        ConfigError: there is no such group.
    """
    group, names = stored.groups(EVERY), stored.group_names
    if unknown := [name for name in most_missed if name and name not in names]:
        raise ConfigError(
            f"config: 'most_missed' names the group {unknown[0]!r}; "
            f"allowed are {listed(names) or 'none: sensitive=COLUMN makes groups'}"
        )
    return {
        name: (_within(every, group == names.index(name)) if name else every, share)
        for name, share in most_missed.items()
    }


def groups(chosen: Choice, stored: StoredTable, ill: np.ndarray) -> dict[str, Any]:
    """Group of a unit → its rows, costs of the named policy and of practice there."""
    if not stored.group_names:
        return {}
    group, candidates = stored.groups(EVERY), chosen.candidates
    costs_by_group: dict[str, Any] = {}
    for k, name in enumerate(stored.group_names):
        inside = group == k
        if inside.sum() < 2 or (candidates.score == "f1" and not ill[inside].any()):
            continue  # F1 is not defined without a positive
        part = _within(candidates, inside)
        costs_by_group[name] = {"rows": int(inside.sum())}
        for label, who in (("policy", chosen.policy), ("practice", PRACTICE)):
            error = np.sqrt(np.diag(part.covariance([who])))
            low, high = normal_interval(np.array([part.cost(who)]), error, level=LEVEL)
            ends = _interval(float(low[0]), float(high[0]), candidates)
            costs_by_group[name][label] = {"cost": part.cost(who)} | ends
    return costs_by_group


def causes_of(graph: Mapping[str, Any], data: Table) -> list[Causes]:
    """Columns that cause the missingness of each panel, those of causal indicators included."""
    indicators = MissingnessGraph.from_dict(graph).indicators
    columns = {name: set(indicator.values) for name, indicator in indicators.items()}
    for _ in indicators:
        for name, indicator in indicators.items():
            columns[name] |= set().union(*(columns[cause] for cause in indicator.indicators))
    return [
        Causes(tuple(sorted(data.columns.index(column) for column in columns.get(panel.name, ()))))
        for panel in data.actions
    ]


def price_box(
    unit: Float[np.ndarray, " m"], data: Table, catalogue: Mapping[str, Any], extra: ExtraCosts
) -> PriceBox | None:
    """Ranges of unit costs as the YAML states them; None where all are known."""
    ranges = catalogue["report"].get("cost_ranges", {})
    names = (*data.unit_cost_names, *extra.names, REFERRED)[: len(unit)]
    box = PriceBox.of(unit, names, ranges)
    return box if box.uncertain.any() else None


def _uncertain(chosen: Choice, box: PriceBox | None, data: Table) -> dict[str, Any] | None:
    """Effect of ranges of unit costs on the choice; None where all costs are known, and of F1."""
    candidates = chosen.candidates
    if box is None or candidates.score == "f1":
        return None
    mean, names = candidates.means, candidates.names
    wide = np.flatnonzero(box.uncertain).tolist()
    along = {data.unit_cost_names[k]: box.cheapest_between(mean, k) for k in wide}
    return {
        "ranges": {data.unit_cost_names[k]: [float(box.low[k]), float(box.high[k])] for k in wide},
        "regret": dict(zip(names, box.worst_regret(mean).tolist(), strict=True)),
        "share_cheapest": dict(zip(names, box.share_cheapest(mean).tolist(), strict=True)),
        "cheapest_where": {
            name: {cost: list(ends) for cost, each in along.items() if (ends := each[place])}
            for place, name in enumerate(names)
        },
    }


def _judged(
    chosen: Choice,
    data: Table,
    gamma: float,
    observed: np.ndarray,
    labels: RecordedLabels | None,
    handed_out: Float[np.ndarray, " a"],
) -> dict[str, Any]:
    """The answer in plain JSON values; costs of a case in the data set's unit.

    `handed_out` are the shares of cases in which the policy that is handed out orders each panel.
    """
    candidates, named = chosen.candidates, chosen.candidates.outcomes[chosen.policy]
    weight = named.weight
    a, classes = len(data.actions), data.classes
    labelled = np.ones(len(weight)) if labels is None else labels.weight
    shares = named.shares(a)
    names = [panel.name for panel in data.actions]
    of_costs = (*data.unit_cost_names, *ExtraCosts.of(data).names, REFERRED)
    linear = candidates.score == "cost"  # what follows holds for costs alone
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
        "tipping_gamma": _number(tipping_gamma(chosen, gamma)) if linear else None,
        "most_gamma": gamma,
        "prices": {
            name: [_number(end) for end in price_range(chosen, along, unit_costs[name])]
            for name, along in directions.items()
            if linear
        },
        "unit_costs": unit_costs,
        "panels": {
            name: {
                "recorded": float(observed[:, j].mean()),
                "policy": float(handed_out[j]),
                "judged": float(shares[j]),
            }
            for j, name in enumerate(names)
        },
        "errors": {
            of_costs[k]: {"policy": float(named.mean[k]), "practice": float(practice.mean[k])}
            | _rise(chosen.fewer.get(k))
            for k in wrong
        },
    }


def _rise(fewer: Saving | None) -> dict[str, float]:
    """By how much an error is more frequent than in practice; empty where it is not compared."""
    return {} if fewer is None else {"rise_low": -fewer.high, "rise_high": -fewer.low}


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
    a = len(data.actions)
    rows = []
    for k, name in enumerate(names):
        outcome = candidates.outcomes[name]
        shares = outcome.shares(a)
        place = candidates.names.index(name) if name != PRACTICE else None
        rows.append(
            {
                "agent": name,
                "cost": costs[k],
                "std_error": error[k],
                **_interval(float(low[k]), float(high[k]), candidates),
                "acquisition_cost": candidates.paid(name),
                "misclassification_cost": float(
                    outcome.mean[a : a + candidates.errors.size] @ candidates.errors.T.ravel()
                ),
                "referral_cost": outcome.mean[-1] * candidates.person.sum(),
                "effective_rows": effective_sample_size(outcome.weight),
                "not_worse": name in chosen.short_list,
                "bound": np.nan if place is None else float(chosen.compared.bound[place]),
            }
            | {f"share:{panel.name}": float(shares[j]) for j, panel in enumerate(data.actions)}
        )
    frame = pd.DataFrame(rows).sort_values(["cost", "agent"], kind="stable", ignore_index=True)
    return frame if len(candidates.person) else frame.drop(columns="referral_cost")


def _terms(chosen: Choice, data: Table) -> pd.DataFrame:
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


def judge_elsewhere(
    *,
    table: pd.DataFrame,
    catalogue: Mapping[str, Any],
    terms: pd.DataFrame,
    description: Path,
    cases: Path,
    settings: Mapping[str, Any],
    streams: Streams,
    progress: Callable[..., Any],
) -> dict[str, pd.DataFrame]:
    """Costs of every policy for the cases of another table, whose labels are not read."""
    del settings, streams, progress
    stored = StoredTable(table, catalogue, unlabelled=True)
    columns = TableColumns(stored.layout, np.ones(len(table), dtype=bool), stored.column)
    described = load_description(description, {ERRORS: catalogue[ERRORS]})
    document = case_document(described, columns, catalogue)
    provides = stored.layout.provides
    read = read_cases(cases, document, provides=provides, id_column=None, complete=True)
    return {"elsewhere": other_cases.costs(terms, table, catalogue, read.values)}


def _ends(answer: Choice) -> dict[str, float]:
    """Interval of the compared quantity, and the mean price of the panels."""
    return _of_named(answer) | {"price": answer.candidates.paid(answer.policy)}


def _of_named(answer: Choice) -> dict[str, float]:
    return _interval(
        answer.cost - answer.half_width, answer.cost + answer.half_width, answer.candidates
    )


def _interval(low: float, high: float, candidates: Candidates) -> dict[str, float]:
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


def write_answer(
    *,
    choice: Mapping[str, Any],
    outcomes: pd.DataFrame,
    net_benefit: pd.DataFrame,
    catalogue: Mapping[str, Any],
    settings: Mapping[str, Any],
    streams: Streams,
    progress: Callable[..., Any],
    page: bool = True,
    elsewhere: pd.DataFrame | None = None,
) -> dict[str, bytes]:
    """The answer in at most twelve lines; the page has a picture and the steps of the policy.

    `page` False leaves out the page, which needs packages for pictures. `elsewhere` is of
    `judge_elsewhere`, where other cases were named.

    Settings: `budget` (of panels, a case on average, or None), `causes` (name of their YAML, or
    None), `transport` (name of the file of other cases, or None), `remarks` (changes that the
    question leaves out or adds), `reading` (words → file or command), `bundle` (folder of a policy,
    for POLICY its name), `kinds` (policy → kind of agent; the page describes the named one).
    """
    del streams, progress
    answer = _answer(choice, outcomes, catalogue, settings, elsewhere)
    bundle = settings["bundle"].replace("POLICY", candidate(choice["policy"]))
    written = {
        "text": answer.text().encode(),
        "document": json_bytes(sealed(document(choice, bundle, elsewhere))),
    }
    if not page:
        return written
    from frugal.answer.pictures import (  # matplotlib
        costs_figure,
        f1_figure,
        net_benefit_figure,
        support_figure,
    )

    drawn = f1_figure if choice["objective"] == "f1" else costs_figure
    unit = str(catalogue["report"]["cost_unit"])
    further = {}
    if lines := supports.sentences(choice["support"]):
        heading = "Where a panel is not ordered, for lack of records"
        further[heading] = _address(support_figure(supports.shares(choice))), " ".join(lines)
    if (at := choice["net_benefit"]) is not None:
        heading = "Net benefit by threshold, panels paid for, with 95 % interval"
        picture = _address(net_benefit_figure(net_benefit, choice["policy"], at["threshold"]))
        further[heading] = picture, net_benefit_words(at)
    shown = answer.page(_address(drawn(outcomes, choice["policy"], cost_unit=unit)), further)
    return {**written, "page": shown.encode()}


def _address(figure: Any) -> str:
    """A figure as a data address."""
    picture = payload_bytes(Path("answer.png"), figure)
    return f"data:image/png;base64,{base64.b64encode(picture).decode()}"


def _answer(
    choice: Mapping[str, Any],
    outcomes: pd.DataFrame,
    catalogue: Mapping[str, Any],
    settings: Mapping[str, Any],
    elsewhere: pd.DataFrame | None,
) -> AnswerText:
    """The parts of the answer in words."""
    report, policy = catalogue["report"], choice["policy"]
    unit = str(report["cost_unit"])
    text = words(choice, outcomes, unit, catalogue["classes"])
    rows = curve(choice, outcomes)
    tried = rows[(outcomes["agent"] != PRACTICE).to_numpy()]
    tried = tried.iloc[(tried[""] != NAMED).argsort(kind="stable")]
    within = [] if settings["budget"] is None else [_words_within(tried, settings["budget"], unit)]
    bundled, kinds = candidate(policy), settings["kinds"]
    kind = declared_kinds()[kinds[bundled]] if bundled in kinds else None
    described = [] if kind is None else [f"{bundled}: {kind.literals['doc']}."]
    where = {key: path.replace("POLICY", bundled) for key, path in settings["reading"].items()}
    f1 = choice["objective"] == "f1"
    tables = {
        f"{HABIT}, panel by panel": habits.table(choice, unit),
        f"{DESIGN}, by stratum": designs.table(choice),
        f"{PERSON}, by pattern of missing panels": persons.table(choice, unit),
        f"{ELSEWHERE}, policy by policy": other_cases.table(elsewhere, unit),
    }
    return AnswerText(
        title=str(report["title"]),
        heading=f"F1 of each policy, and the price of its panels, {unit} a case"
        if f1
        else f"Cost of each policy, {unit} a case",
        sentence=text.headline,
        curve=rows,
        further=all_remarks(report, settings["causes"], settings["remarks"]),
        reading=where,
        lead=[*supports.sentences(choice["support"]), text.orders, text.saving, text.sure],
        does=[*described, *choice["does"]],
        parts={
            "What it rests on": [
                *filter(None, [report.get("predicts")]),
                text.rests,
                *report["suspicions"],
            ],
            "Changes that would alter it": [*text.changes, *text.groups, *within],
            PERSON: persons.sentences(choice, unit),
            HABIT: habits.sentences(choice, unit),
            DESIGN: designs.sentences(choice, unit),
            ELSEWHERE: other_cases.sentences(elsewhere, choice, settings["transport"], unit),
        },
        folded=True,
        tables={heading: rows for heading, rows in tables.items() if rows is not None},
    )


def _words_within(rows: pd.DataFrame, budget: float, unit: str) -> str:
    """The named policy, which comes first, or the best one whose panels cost no more on average."""
    able = rows[rows["panels"] <= budget * (1 + ROUNDING)]
    if not len(able):
        cheapest = rows.sort_values("panels", kind="stable").iloc[0]
        return (
            f"No policy keeps to a budget of {budget:.3g} {unit} for panels; "
            f"{cheapest['policy']} comes closest with {cheapest['panels']:.3g}."
        )
    best = able.iloc[0]
    return (
        f"Within a budget of {budget:.3g} {unit} for panels: {best['policy']}, "
        f"{best['in all']:.3g} a case in all ({best['95 % from']:.3g} to {best['to']:.3g}), of "
        f"which panels {best['panels']:.3g}."
    )
