"""The answer for one table in words: policy, certainty, evidence and sensitivities.

Puts the results of `judge_candidates` into words; computes no estimate.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from frugal.answer import support as supports
from frugal.answer.part import Shown, parts
from frugal.answer.requirements import PRACTICE, variant_of
from frugal.core import schema_check
from frugal.judge.verdicts import how_sure, interval, joined, number, of_cost, percent

SHOWN = 3  # panels or prices that a sentence names
APART = 0.1  # difference of shares from which the policy handed out counts as different
NAMED = "the one to use"  # of the policies, in their table
WEAK = 1.1  # factor of odds below which a hidden cause is weak
ORDERED = 0.005  # share of cases from which a panel counts as ordered
OF_LABEL = "the label"  # in place of a column, as a cause of missingness
CHANGED = 0.05  # share of records from which a panel is named that is not ordered


@dataclass(frozen=True, eq=False)
class AnswerParts:
    """The four parts of the answer.

    Attributes:
        orders: the policy to use, and the panels that it orders.
        errors: per 1,000 cases, and today's; empty where the label has not two classes.
        cost: and the saving against recorded practice.
        sure: the state with its number.
        rests: its evidence.
        changes: sensitivities, and changes against today: sentences.
        last: further sentences of parts.
    """

    orders: str
    errors: str
    cost: str
    sure: str
    rests: str
    changes: Sequence[str]
    last: Sequence[str]


class PolicyTable(pd.DataFrame):
    """A data frame that prints all of its columns; what is selected from it is a plain one."""

    @property
    def _constructor(self) -> type[pd.DataFrame]:
        return pd.DataFrame

    def __repr__(self) -> str:
        with pd.option_context("display.max_columns", None, "display.width", 100):
            return pd.DataFrame(self).round(3).__repr__()


def words(
    choice: Mapping[str, Any], outcomes: pd.DataFrame, unit: str, classes: Sequence[str]
) -> AnswerParts:
    """The answer in sentences.

    Args:
        choice: as `judge_candidates` made it.
        outcomes: of every candidate and of practice.
        unit: of costs.
        classes: names of the classes.
    """
    if choice["objective"] == "f1":
        return _words_of_f1(choice, outcomes, unit, classes)
    cost, panels = (outcomes.set_index("agent")[key] for key in ("cost", "acquisition_cost"))
    paid = float(panels[choice["policy"]])
    rest = "errors" if choice["person"] is None else "errors and people"
    shown = Shown(choice, None, unit, classes, {})
    others = [f"today's practice costs {number(choice['practice'])}"]
    labels = {"always": "testing everyone", "never": "testing no one"}
    offered = {"always": supports.everyone(choice["support"])}
    others += [
        f"{label} {number(float(str(cost[other])))}{offered.get(other, '')}"
        for other, label in labels.items()
        if other in cost.index and other != choice["policy"]
    ]
    spent = (
        f"It costs {number(choice['cost'])} {unit} a case "
        f"(95 % interval {interval(choice['ci_low'], choice['ci_high'])}): panels {number(paid)}, "
        f"{rest} the rest; {', '.join(others)}."
    )
    return AnswerParts(
        _orders(choice),
        _errors(choice, classes),
        f"{spent} {_saving(choice, unit, classes)}",
        f"{_sure(choice, unit)}{_passed_over(choice, outcomes)}",
        _rests(choice, classes),
        [*_of_parts("changes", shown), *_prices(choice, unit, classes), *_hidden(choice)],
        _of_parts("last", shown),
    )


def _words_of_f1(
    choice: Mapping[str, Any], outcomes: pd.DataFrame, unit: str, classes: Sequence[str]
) -> AnswerParts:
    """The same where the score is F1 within a budget; costs of the choice are 1 − F1."""
    rows = outcomes.set_index("agent")
    panels, first = rows["acquisition_cost"], choice["within_budgets"][0]
    simple = {variant_of(name).agent: 1 - cost for name, cost in rows["cost"].items()}
    labels = {"never": "no panels {}", "constant": f"{classes[1]!r} for every case" + " {}"}
    others = [
        f"today's practice {1 - choice['practice']:.2f} for {number(float(panels[PRACTICE]))}",
        *(label.format(f"{simple[n]:.2f}") for n, label in labels.items() if n in simple),
    ]
    low, high, gain = (choice[name] for name in ("saving_low", "saving_high", "saving"))
    shown = "" if low > 0 else "; these rows do not show a gain"
    shown += "".join(_risen(choice, classes))
    shown = "; today's practice is better" if round(high, 2) < 0 else shown
    return AnswerParts(
        _orders(choice),
        _errors(choice, classes),
        f"Its F1 is {1 - choice['cost']:.2f} (95 % interval {1 - choice['ci_high']:.2f} to "
        f"{1 - choice['ci_low']:.2f}) for panels of {number(first['price'])} {unit} a case; "
        f"{', '.join(others)}. F1 against today's practice: {gain:+.2f} ({low:+.2f} to "
        f"{high:+.2f}, 95 %){shown}.",
        _sure(choice, ""),
        _rests(choice, classes),
        [*_further_budgets(choice, unit)],
        _of_parts("last", Shown(choice, None, "", classes, {})),
    )


def _further_budgets(choice: Mapping[str, Any], unit: str) -> Iterator[str]:
    """F1 reached at other budgets."""
    first, *others = choice["within_budgets"]
    shown = [
        f"{number(row['budget'])} {unit}: {1 - row['cost']:.2f} ({without_version(row['policy'])})"
        for row in sorted(others, key=lambda row: row["budget"])
        if row["budget"] != first["budget"]
    ]
    if shown:
        yield f"F1 within a budget of {joined(shown)}."


def _saving(choice: Mapping[str, Any], unit: str, classes: Sequence[str]) -> str:
    saving, low = choice["saving"], choice["saving_low"]
    risen = "".join(_risen(choice, classes))
    if low > 0:
        return (
            f"It saves {number(1000 * saving)} {unit} per 1,000 cases against today's practice, "
            f"at least {number(1000 * low)} with 95 % confidence{risen}."
        )
    if choice["saving_high"] < 0:
        return (
            f"Today's practice is cheaper by {number(-1000 * saving)} {unit} per 1,000 cases: keep "
            "to it."
        )
    difference = (
        f"it saves {number(1000 * saving)}" if saving >= 0 else f"it costs {number(-1000 * saving)}"
    )
    return (
        f"Against today's practice {difference} {unit}{'' if saving >= 0 else ' more'} per 1,000 "
        f"cases (saving {interval(1000 * low, 1000 * choice['saving_high'])}): these rows do not "
        f"show a saving{risen}."
    )


def _risen(choice: Mapping[str, Any], classes: Sequence[str]) -> Iterator[str]:
    """Errors that are estimated to be more frequent than in practice, each with its interval."""
    for key, label in error_words(classes, "false alarms").items():
        error = choice["errors"].get(key, {})
        now, before = (round(1000 * error.get(who, 0.0)) for who in ("policy", "practice"))
        if now > before:
            low, high = (round(1000 * error[end]) for end in ("rise_low", "rise_high"))
            yield f"; {label} rise from {before} to {now} per 1,000 (by {low} to {high})"


def _sure(choice: Mapping[str, Any], unit: str) -> str:
    """The state with its number, how many rows would settle it, and the candidates left out."""
    others = [name for name in choice["short_list"] if name != choice["policy"]]
    bound, value = choice["bound"], choice["worth_of_knowing"]
    of_f1, refuted = choice["objective"] == "f1", choice["graph"]["state"] == "refuted"
    sentence = how_sure(
        choice["state"],
        [without_version(name) for name in (choice["policy"], *others)],
        most=f"{bound:.2f} of F1"
        if of_f1
        else of_cost(bound, choice["cost"], unit, choice["margin"]),
        margin=choice["margin"],
        value_of_knowing=f"{value:.3f} of F1" if of_f1 else of_cost(value, 0.0, unit),
        cheaper="better" if of_f1 else "cheaper",
        others="that could be evaluated" if choice["left_out"] else "tried",
        refuted=refuted,
    )
    rows = choice["rows_for_margin"]
    if choice["state"] == "short_list" and rows is not None and not refuted:
        margin = percent(choice["margin"])
        cheaper = "better" if of_f1 else "cheaper"
        sentence += (
            f" About {number(rows)} such rows would show that none is {cheaper} by more than"
        )
        sentence += f" {margin}."
    if choice["repeated"] is not None and others:
        times = round(20 * choice["repeated"])
        sentence += f" In {times} of 20 samples of as many rows it would be named again."
    if choice["left_out"]:
        left_out = listed([*map(without_version, choice["left_out"])])
        sentence += f" Not evaluated, as too few records follow it: {left_out}."
    if choice["beyond"]:
        beyond = listed([*map(without_version, choice["beyond"])])
        sentence += f" Left out of this, as they miss more cases than most_missed allows: {beyond}."
    return sentence


def _rests(choice: Mapping[str, Any], classes: Sequence[str]) -> str:
    shown = Shown(choice, None, "", classes, {})
    graph, rows = choice["graph"], choice["rows"]
    read = (
        f"{rows:,} rows, each evaluated by policies that learned from others, which vote on new "
        f"cases; effective sample size {number(choice['effective_rows'])}: complete rows that "
        f"would be as informative.{_handed_out(choice)}{_fewest(choice)} "
        "Today's practice is the recorded panels, with predictions by the same models, not by "
        "people."
    )
    read = " ".join([read, *_of_parts("rests", shown)])
    if untested := graph["untested"]:
        read += f" Too few rows to test causes of the missingness of {listed(untested[:SHOWN])}."
    if graph["state"] == "untested":
        return read
    if graph["state"] == "known":
        return f"{read} The protocol states the probability of every record; no cause is assumed."
    if graph["state"] == "held":
        exceptions = [words for part in parts() if part.agrees and (words := part.agrees(shown))]
        start = f"Apart from {joined(exceptions)}, the" if exceptions else "The"
        return (
            f"{read} {start} records agree with the assumed causes of missing values (why a panel "
            "was not recorded), but cannot prove them."
        )
    added = "; ".join(f"{cause['panel']} on {cause['column']}" for cause in graph["added"][:SHOWN])
    if graph["state"] == "widened":
        before = graph["before"]
        return (
            f"{read} The records show further causes of missingness ({added}), which are taken "
            f"into account; without them: {without_version(before['policy'])}, "
            + (
                f"F1 {1 - before['cost']:.2f}."
                if choice["objective"] == "f1"
                else f"{number(before['cost'])}."
            )
        )
    refused = graph["refused"]
    panel, column = refused[0]["panel"], refused[0]["column"]
    remedy = (
        "which some rows lack: fill in the labels, or leave these rows out"
        if column == OF_LABEL
        else f"which makes a circle: make one panel of {panel} and that of {column}, drop the "
        f"opposite cause if `causes` states it, or record {panel} at random in further cases and "
        "judge these alone (`recorded`)"
    )
    shown = "; ".join(f"{cause['panel']} on {cause['column']}" for cause in refused[:SHOWN])
    return f"{read} The records contradict the assumed causes of missingness ({shown}), {remedy}."


def _of_parts(where: str, shown: Shown) -> list[str]:
    """Sentences that parts add somewhere."""
    each = [getattr(part, where) for part in parts()]
    return [sentence for words_of in each if words_of is not None for sentence in words_of(shown)]


def _fewest(choice: Mapping[str, Any]) -> str:
    """The fewest records that support a panel which the policy orders."""
    shares = {name: share["policy"] for name, share in choice["panels"].items()}
    return supports.fewest(choice["support"], (n for n in shares if shares[n] >= ORDERED))


def _handed_out(choice: Mapping[str, Any]) -> str:
    """Where the policies of the folds, of which each was evaluated, differ from their vote."""
    off = {n: s["policy"] - s["judged"] for n, s in choice["panels"].items()}
    apart = sorted((n for n in off if abs(off[n]) > APART), key=lambda n: -abs(off[n]))
    shown = [
        f"{schema_check.as_item(name)} in {percent(choice['panels'][name]['judged'])} of cases"
        for name in apart[:SHOWN]
    ]
    return f" On average the policies of the vote order {joined(shown)}." if shown else ""


def _errors(choice: Mapping[str, Any], classes: Sequence[str]) -> str:
    """Misses and false alarms per 1,000 cases, and today's; empty where there are none of these."""
    errors = [choice["errors"].get(key) for key in error_words(classes, "")]
    if None in errors or not errors:
        return ""
    (missed, missed_today), (alarms, alarms_today) = (
        [f"{1000 * error[who]:.0f}" for who in ("policy", "practice")] for error in errors
    )
    return (
        f"Of 1,000 cases it misses {missed} with {classes[1]!r} (today {missed_today}) and raises "
        f"{alarms} false alarms (today {alarms_today})."
    )


def _orders(choice: Mapping[str, Any]) -> str:
    """The policy, panels that it orders, for which share and at which risk, and those left out."""
    policy, today = (
        {schema_check.as_item(n): shares[key] for n, shares in choice["panels"].items()}
        for key in ("policy", "recorded")
    )
    risk = {
        schema_check.as_item(n): shares["risk"] if shares["policy"] < 1 - ORDERED else None
        for n, shares in choice["panels"].items()
    }
    ordered = sorted((n for n in policy if policy[n] >= ORDERED), key=lambda n: -policy[n])
    left_out = sorted(
        (n for n in policy if policy[n] < ORDERED and today[n] > CHANGED), key=lambda n: -today[n]
    )
    each = [
        f"{name} for {percent(policy[name])}{'' if k else ' of cases'}"
        f"{_at(risk[name], '' if k else ' risk')} ({'' if k else 'today '}{percent(today[name])})"
        for k, name in enumerate(ordered)
    ]
    since = "" if ordered else "today "
    spared = [
        f"{name} ({'' if k else since}{percent(today[name])})" for k, name in enumerate(left_out)
    ]
    orders = _first_of(each) if each else "no panel"
    start = f"Use {without_version(choice['policy'])}: order {orders}"
    return start + (f"; leave out {_first_of(spared)}." if spared else ".")


def _at(risk: Sequence[float] | None, word: str) -> str:
    """Predicted risks between which a panel is ordered."""
    if risk is None:
        return ""
    low, high = (f"{float(f'{100 * end:.2g}'):g}" for end in risk)
    return f" at {low} to {high} %{word}"


def _passed_over(choice: Mapping[str, Any], outcomes: pd.DataFrame) -> str:
    """Policies of a lower estimate that are not named, and why."""
    rows = outcomes.set_index("agent")["cost"].drop([PRACTICE, *choice["beyond"]])
    lower = rows[rows.map(number) != number(choice["cost"])]
    lower = lower[lower < choice["cost"]].sort_values()
    if choice["repeated"] is None or not len(lower):
        return ""
    shown = [f"{without_version(name)} ({number(cost)})" for name, cost in lower.items()]
    return (
        f" A lower estimate, but not clearly a lower one, has {_first_of(shown)}; "
        f"{without_version(choice['policy'])} comes first in the order of preference."
    )


def _first_of(each: Sequence[str]) -> str:
    """The first ones, with "and" before the last, and the number of further ones."""
    further = len(each) - SHOWN
    return joined([*each[:SHOWN], f"{further} more"] if further > 1 else each)


def error_words(classes: Sequence[str], alarms: str) -> dict[str, str]:
    """Words for the errors of two classes."""
    if len(classes) != 2:
        return {}
    no, yes = classes
    return {f"{no} for {yes}": f"missed {yes!r}", f"{yes} for {no}": alarms}


def in_words(prices: Sequence[str], classes: Sequence[str]) -> dict[str, str]:
    """Panels and errors as a sentence names them: errors of two classes by the label's values."""
    kinds = error_words(classes, "a false alarm")
    return {name: kinds.get(name, schema_check.as_item(name)) for name in prices}


def _prices(choice: Mapping[str, Any], unit: str, classes: Sequence[str]) -> Iterator[str]:
    """The unit costs whose change would soonest change the policy."""
    named = in_words(list(choice["prices"]), classes)
    ranges = {n: (low, high) for n, (low, high) in choice["prices"].items()}
    narrow = sorted(ranges, key=lambda n: _width(*ranges[n], choice["unit_costs"][n]))
    shown = [
        f"{named[n]} {_from_to(*ranges[n])} (now {number(choice['unit_costs'][n])})"
        for n in narrow[:SHOWN]
        if ranges[n][1] is not None or (ranges[n][0] or 0) > 0
    ]
    if shown:
        yield (
            f"The same policy is named for these costs, each changed alone ({unit}): "
            f"{'; '.join(shown)}."
        )


def _width(low: float | None, high: float | None, now: float) -> float:
    """By which factor a unit cost may change at least."""
    up = high / now if high is not None and now > 0 else float("inf")
    down = now / low if low else float("inf")
    return min(up, down)


def _from_to(low: float | None, high: float | None) -> str:
    if high is None:
        return f"from {number(low or 0)}"
    return f"{number(low)} to {number(high)}" if low else f"up to {number(high)}"


def _hidden(choice: Mapping[str, Any]) -> Iterator[str]:
    gamma = choice["tipping_gamma"]
    if gamma is None:
        return
    shift = (
        "Weak unrecorded causes of missingness"
        if gamma < WEAK
        else f"Unrecorded causes that multiply the odds of a missing value by {number(gamma)}"
    )
    yield (
        f"{shift} could make it as expensive as a policy that orders no panel with missing values."
    )


def curve(choice: Mapping[str, Any], outcomes: pd.DataFrame) -> pd.DataFrame:
    """Every policy, the cheapest first: panels, errors, cost with its interval."""
    notes = [
        NAMED
        if name == choice["policy"]
        else "as recorded"
        if name == PRACTICE
        else "may be the best"
        if maybe
        else ""
        for name, maybe in outcomes[["agent", "not_worse"]].itertuples(index=False)
    ]
    names = ["today's practice" if n == PRACTICE else without_version(n) for n in outcomes["agent"]]
    if choice["objective"] == "f1":
        return pd.DataFrame(
            {
                "policy": names,
                "panels": outcomes["acquisition_cost"].to_numpy(),
                "F1": 1 - outcomes["cost"].to_numpy(),
                "95 % from": 1 - outcomes["ci_high"].to_numpy(),
                "to": 1 - outcomes["ci_low"].to_numpy(),
                "": notes,
            }
        )
    return pd.DataFrame(
        {
            "policy": names,
            "panels": outcomes["acquisition_cost"].to_numpy(),
            "errors": outcomes["misclassification_cost"].to_numpy(),
            **({"person": outcomes["referral_cost"]} if "referral_cost" in outcomes else {}),
            "in all": outcomes["cost"].to_numpy(),
            "95 % from": outcomes["ci_low"].to_numpy(),
            "to": outcomes["ci_high"].to_numpy(),
            "": notes,
        }
    )


def without_version(name: object) -> str:
    """A name without underscores and without the number of its version."""
    return variant_of(name).agent.replace("_", " ")


def listed(names: Sequence[str]) -> str:
    """Names as they are written, with "and" before the last."""
    return joined([schema_check.as_item(name) for name in names])


def words_on_causes(gaps: Mapping[str, Any], file: str | None) -> str:
    """Assumptions on the causes of gaps.

    Args:
        gaps: of the table, as `prepare_data` counted them.
        file: name of the YAML of causes; None where they follow from the gaps.
    """
    rows, panels = gaps["rows"], gaps["panels"]
    if not panels:
        return f"{rows:,} rows without a gap: a policy's decisions are seen in every row."
    if file is not None:
        return f"Causes of gaps are those of {file}."
    worst = max(panels, key=lambda panel: panel["share"])
    columns = schema_check.listed(gaps["known"]) or "none"
    return (
        f"{rows:,} rows, gaps in {len(panels)} panels (most in {worst['name']}: "
        f"{worst['share']:.0%}); assumed is that they depend only on columns of panels that "
        f"all rows have ({columns}) and on which other panels are recorded; the "
        "answer reports where the records contradict that."
    )


def all_remarks(
    report: Mapping[str, Any], file: str | None, further: Sequence[str]
) -> tuple[str, ...]:
    """Assumptions and omissions, a sentence each.

    Args:
        report: of the table's catalogue.
        file: name of the YAML of causes, or None.
        further: sentences of the question.
    """
    return (words_on_causes(report["gaps"], file), *further)
