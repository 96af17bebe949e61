"""Net benefit of every policy by threshold, panels paid for: decision curves."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd

from frugal.answer.candidates import PRACTICE
from frugal.answer.evidence import Judged
from frugal.answer.part import Part, Shown
from frugal.judge.net_benefit import (
    ALL,
    NET_BENEFIT,
    THRESHOLDS,
    decision_curves,
    implied_threshold,
)
from frugal.judge.verdicts import percent


@lru_cache(maxsize=1)  # its content and its table
def curves(judged: Judged) -> pd.DataFrame:
    """Decision curves of the candidates and of practice; empty where there are not two classes."""
    evidence, candidates = judged.evidence, judged.chosen.candidates
    data, errors, record_law = evidence.table, evidence.errors, evidence.law
    followed = judged.deciding
    two = len(errors) == 2 and data.numeric is None
    if not two or errors[1, 0] <= errors[1, 1] or candidates.score == "f1":
        return pd.DataFrame(columns=list(NET_BENEFIT))
    names = [*candidates.names, PRACTICE]
    paths = {n: followed[n] if n == PRACTICE else followed[n].within(record_law) for n in names}
    implied = implied_threshold(errors)
    extra = evidence.extra
    return decision_curves(
        paths,
        record_law,
        extra.flat(data.action_cost),
        errors,
        extra=extra,
        cluster=candidates.cluster,
        thresholds=sorted({*THRESHOLDS, *((implied,) if 0 < implied < 1 else ())}),
    )


def _at_implied(judged: Judged) -> dict[str, Any] | None:
    """Net benefit at the threshold of the costs of errors, and where the policy's is the highest.

    None where there is no curve.
    """
    frame_of, policy, errors = curves(judged), judged.chosen.policy, judged.evidence.errors
    if not len(frame_of):
        return None
    value, low, high = (
        frame_of.pivot(index="threshold", columns="agent", values=name)
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


def _sentence(net_benefit: Mapping[str, Any]) -> str:
    """Net benefit at the threshold that the costs of errors imply.

    Args:
        net_benefit: `net_benefit` of the choice.
    """
    where = net_benefit["highest_at"]
    among = (
        f" No candidate has a higher one from {percent(min(where))} to {percent(max(where))}."
        if len(where) > 1
        else ""
    )
    return (
        f"At the threshold that the costs of errors imply ({percent(net_benefit['threshold'])}): "
        f"{1000 * net_benefit['net_benefit']:.0f} true positives per 1,000 cases "
        f"({1000 * net_benefit['ci_low']:.0f} to {1000 * net_benefit['ci_high']:.0f}), panels paid "
        f"for; today's practice {1000 * net_benefit['practice']:.0f}, positive for all "
        f"{1000 * net_benefit['all']:.0f}.{among}"
    )


def _picture(shown: Shown) -> tuple[str, Any, str] | None:
    from frugal.answer.pictures import net_benefit_figure

    at = shown.choice["net_benefit"]
    if at is None or shown.frame is None:
        return None
    drawn = net_benefit_figure(shown.frame, shown.choice["policy"], at["threshold"])
    return "Net benefit by threshold, panels paid for, with 95 % interval", drawn, _sentence(at)


NET_BENEFIT_PART = Part(
    name="net_benefit", place=30, content=_at_implied, frame=curves, picture=_picture
)
