"""`python -m frugal advise BUNDLE cases.csv`: the next panel for each new case, and why.

Needs the bundle's folder and the cases (CSV, Excel or Parquet), nothing else: no config, no
results. Knows no study.
"""

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from frugal.acquire.advice import (
    STOP,
    CaseAdvice,
    advice_frame,
    advise_next,
    advise_path,
    case_uniforms,
    cases_of,
    decision_threshold,
    prices_of,
    with_referral,
)
from frugal.acquire.bundles import CaseBundle, policy_folder, read_bundle
from frugal.core.arguments import amount, command_parser, file_path, whole_number
from frugal.core.episodes import REFERRED
from frugal.core.errors import DataError, say
from frugal.core.schema_check import did_you_mean, listed
from frugal.core.stored import OrNull, require_document
from frugal.core.studies import Adviser, adviser_of, loaded_from_studies
from frugal.data.cases import Cases
from frugal.data.monitoring import FALSE_ALARMS, first_shift, looks
from frugal.results.files import csv_bytes, read_payload, require_sealed
from frugal.results.manifests import write_apart

MOST_SHOWN = 40  # cases on a terminal
_PATTERN = {"missing": OrNull([str]), "threshold": float}
_REFERRAL = {"price": float, "patterns": OrNull([_PATTERN])}
_HEAD = ("predicted probability", "if nothing more is acquired")
_OF_TABLES = ("id", "simulate", "without", "monitor", "refer", "function", "rollout")


def advise_command(words: list[str]) -> int:
    """Print the next panels; returns the exit status.

    Raises:
        DataError: the folder holds no bundle, or the file is none of its cases.
    """
    parser = command_parser("advise", __doc__)
    parser.add_argument(
        "bundle", type=Path, metavar="BUNDLE", help="folder of a policy, or an answer"
    )
    parser.add_argument("cases", type=Path, metavar="cases.csv", help="empty: not acquired yet")
    parser.add_argument("--out", type=file_path, metavar="FILE.csv", help="all numbers, as a CSV")
    parser.add_argument("--id", metavar="COLUMN", help="names the cases; carried along")
    parser.add_argument(
        "--simulate",
        action="store_true",
        help="the whole path from the start, where the file has the values",
    )
    parser.add_argument(
        "--without", metavar="PANEL", action="append", default=[], help="cannot be acquired now"
    )
    parser.add_argument(
        "--refer",
        metavar="PRICE|answer.json",
        help="of handing a case to a person; answer.json: with its thresholds",
    )
    parser.add_argument(
        "--monitor",
        action="store_true",
        help="whether the cases, in order of arrival, are distributed as the records",
    )
    parser.add_argument(
        "--function", type=Path, metavar="FILE.py", help="of an agent of kind python"
    )
    parser.add_argument(
        "--rollout",
        type=whole_number(0),
        metavar="SEED",
        help="draw as the roll-out of this seed did; the cases are the table's rows, in order",
    )
    kinds: list[Adviser] = loaded_from_studies("advice", "Adviser")
    further = {option: how for kind in kinds for option, how in kind.options.items()}
    for option, how in further.items():
        parser.add_argument(f"--{option}", **how)
    args = parser.parse_args(words)
    args.bundle = policy_folder(args.bundle)
    read = [args.cases, args.function, args.refer and Path(args.refer)]
    read += [file for name in further if isinstance(file := getattr(args, name), Path)]
    read += [*args.bundle.glob("*.json"), *args.bundle.glob("*.safetensors")]
    if args.out is not None and args.out.resolve() in [path.resolve() for path in read if path]:
        raise DataError(f"--out {args.out} is a file that is read; name another")
    if kind := adviser_of(args.bundle):
        others = [name for name in (*_OF_TABLES, *further) if name not in kind.options]
        _refuse_options(args, others, kind.name)
        return kind.advise(args)
    _refuse_options(args, list(further), "tables")
    bundle = read_bundle(args.bundle, function=args.function)
    cases = cases_of(bundle, args.cases, id_column=args.id, complete=args.simulate)
    how = {"simulate": args.simulate, "rollout": args.rollout, "refer": args.refer}
    advice = advise(bundle, cases, args.without, **how)
    if args.out is not None:
        write_apart(args.out, csv_bytes(advice_frame(bundle, cases, advice)))
    lines_of = path_lines if args.simulate else next_lines
    shown = [*lines_of(bundle, cases, advice), *last_lines(cases, args.out)]
    say(*shown, *([monitor_line(bundle.cases, cases)] if args.monitor else []))
    return 0


def _refuse_options(args: argparse.Namespace, names: Sequence[str], of: str) -> None:
    """Refuse options of other policies."""
    for name in names:
        if getattr(args, name) not in (None, False, []):
            raise DataError(f"--{name} does not apply to a policy of {of}")


def advise(
    bundle: CaseBundle,
    cases: Cases,
    without: Sequence[str],
    *,
    simulate: bool,
    rollout: int | None,
    refer: float | str | Path | None = None,
) -> CaseAdvice:
    """The next decision for each case, or all of them; by `refer` some go to a person.

    Raises:
        DataError: `without` names no panel, or `refer` is neither.
    """
    names = [panel.name for panel in bundle.layout.actions]
    for name in without:
        if name not in names:
            raise DataError(
                f"--without {name!r} is no panel with a price; these are {listed(names)}"
                f"{did_you_mean(name, names)}"
            )
    can = np.array([name not in without for name in names], dtype=bool)
    uniforms = case_uniforms(bundle, cases.ids, rollout)
    if simulate:
        available = cases.acquired & can
        advice = advise_path(bundle, cases, available=available, uniforms=uniforms)
    else:
        available = cases.acquired | can
        advice = advise_next(bundle, cases, available=available, uniforms=uniforms)
    if refer is None:
        return advice
    policy = bundle.streams.wildcards.get("agent")
    limits = referral_thresholds(refer, names, available, policy)
    return with_referral(bundle, advice, limits[advice.row])


def referral_thresholds(
    refer: float | str | Path,
    panels: Sequence[str],
    available: Bool[np.ndarray, "n a"],
    policy: object = None,
) -> Float[np.ndarray, " n"]:
    """Expected cost of a decision from which on each case is referred. (n,)

    Of an answer with thresholds by pattern, that of the panels that a case cannot have, or of the
    rarer patterns; 0 where there is neither.

    Raises:
        DataError: it is no price, and no answer of `decide` with `refer` that names the policy.
    """
    if (price := amount(str(refer))) is not None:
        return np.full(len(available), price)
    path = Path(str(refer))
    content = read_payload(path) if path.suffix == ".json" and path.is_file() else None
    content = content if isinstance(content, dict) else {}
    referral = content.get("referral")
    if not isinstance(referral, dict) or not _REFERRAL.keys() <= referral.keys():
        raise DataError(
            f"--refer is {str(refer)!r}; allowed are a price from 0 on, or the answer.json of a "
            "decide with refer"
        )
    patterns = referral["patterns"]
    if isinstance(patterns, list):  # their other keys are for readers
        patterns = [_of_pattern(entry) for entry in patterns]
    read = {"price": referral["price"], "patterns": patterns}
    require_document(read, _REFERRAL, f"referral of {path}")
    require_sealed(path, content, "make it again by decide with refer, or give a price")
    if referral["patterns"] is None:
        return np.full(len(available), float(referral["price"]))
    if policy is not None and content.get("policy", policy) != policy:
        raise DataError(
            f"--refer {path} has thresholds of {content['policy']!r}, and the policy is "
            f"{policy!r}; allowed are a price, or the policy that the answer names"
        )
    limits = {
        None if entry["missing"] is None else frozenset(entry["missing"]): entry["threshold"]
        for entry in referral["patterns"]
    }
    names, rarer = np.array(panels, dtype=object), limits.get(None, 0.0)
    return np.array([float(limits.get(frozenset(names[~row]), rarer)) for row in available])


def _of_pattern(entry: Any) -> Any:
    if not isinstance(entry, Mapping):
        return entry
    return {key: cell for key, cell in entry.items() if key in _PATTERN}


def next_lines(bundle: CaseBundle, cases: Cases, advice: CaseAdvice) -> list[str]:
    """A table of one decision for each case."""
    choices = [*(panel.name for panel in bundle.layout.actions), STOP]
    of_case, shared = prices_of(bundle, cases)[advice.row], bundle.layout.shared_costs
    prices = shared.step_price(advice.acquired, advice.action, of_case)
    shown = slice(0, MOST_SHOWN)
    rows = [
        [
            cases.ids[row],
            choices[j],
            "" if choices[j] == STOP else f"{price:.4g}",
            *prediction,
            why,
            cases.outside[row],
        ]
        for row, j, price, prediction, why in zip(
            advice.row[shown],
            advice.action[shown],
            prices[shown],
            _predictions(bundle, advice),
            advice.why,
            strict=False,
        )
    ]
    unit = bundle.cost_unit
    head = [cases.id_name, "next", f"price ({unit})", *_HEAD, "why", "outside"]
    return _table(head, rows)


def path_lines(bundle: CaseBundle, cases: Cases, advice: CaseAdvice) -> list[str]:
    """A table of the whole path of each case: panels, their cost, and the final belief."""
    panels = np.array([panel.name for panel in bundle.layout.actions], dtype=object)
    last = np.flatnonzero(advice.action == len(panels))[:MOST_SHOWN]
    of_case = prices_of(bundle, cases)[advice.row[last]]
    cost = bundle.layout.shared_costs.price(advice.acquired[last], of_case)
    begins = np.append(-1, last[:-1]) + 1
    predictions = _predictions(bundle, advice)
    rows = []
    for first, end, paid in zip(begins, last, cost, strict=True):
        path = " → ".join(panels[advice.action[first:end]]) or "nothing"
        row = advice.row[end]
        rows.append([cases.ids[row], path, f"{paid:.4g}", *predictions[end], cases.outside[row]])
    head = [cases.id_name, "path", f"cost ({bundle.cost_unit})", *_HEAD, "outside"]
    return _table(head, rows)


def last_lines(cases: Cases, out: Path | None) -> list[str]:
    """Notes on cases that the table leaves out, and on how many have values that are flagged."""
    n, flagged = len(cases.ids), sum(bool(flags) for flags in cases.outside)
    lines = []
    if n > MOST_SHOWN:
        rest = "" if out is not None else "; --out FILE.csv writes all"
        lines.append(f"These are the first {MOST_SHOWN} of {n:,} cases{rest}.")
    if flagged:
        lines.append(
            f"{flagged:,} of {n:,} cases have values that training did not see, or that are "
            "incomplete: see the last column. Advice for them is a guess."
        )
    return lines


def monitor_line(document: Mapping[str, Any], cases: Cases) -> str:
    """Whether the cases are distributed as the records in the columns known at the start."""
    shift = first_shift(document, cases.values)
    level = f"in at most {FALSE_ALARMS:.0%} of streams by chance"
    if shift is None:
        looked = looks(len(cases.ids))[-1]
        return (
            f"The first {looked:,} cases do not differ from the records (an alarm {level}); the "
            f"next look is at {2 * looked:,}."
        )
    part = "latest half of the first" if shift.latest else "first"
    return (
        f"The {part} {shift.cases:,} cases differ from the records in {shift.column}: {shift.bin} "
        f"in {shift.share:.0%} of them, {shift.recorded:.0%} of the records (p = "
        f"{shift.p_value:.2g}; an alarm {level}). The answer may not hold for them; judge it anew "
        "with their records, or by transport."
    )


def _predictions(bundle: CaseBundle, advice: CaseAdvice) -> list[tuple[str, str]]:
    """Probability of the second of two classes, or of the likeliest; and how the case is treated.

    With two classes, the second is predicted from a threshold on, where there is one.
    """
    names, threshold = bundle.layout.classes, decision_threshold(bundle, advice.states)
    shown = np.ones_like(advice.label) if len(names) == 2 else advice.probability.argmax(axis=1)
    chance = advice.probability[np.arange(len(shown)), shown]
    side = ["", ""]
    if threshold is not None:
        side = [f" (below {100 * threshold:.3g} %)", f" (from {100 * threshold:.3g} % on)"]
    return [
        (
            f"{names[j]} {100 * p:.3g} %",
            f"as {names[k]}{side[min(k, 1)]}" if k < len(names) else f"by {REFERRED}",
        )
        for j, p, k in zip(shown, chance, advice.label, strict=True)
    ]


def _table(head: list[str], rows: list[list[str]]) -> list[str]:
    """Lines of aligned columns; the last column is left out where it is empty."""
    if not any(row[-1] for row in rows):
        head, rows = head[:-1], [row[:-1] for row in rows]
    width = [max(len(line[j]) for line in [head, *rows]) for j in range(len(head))]
    return [
        "  ".join(cell.ljust(w) for cell, w in zip(line, width, strict=True)).rstrip()
        for line in [head, *rows]
    ]
