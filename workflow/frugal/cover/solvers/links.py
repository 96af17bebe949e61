"""Catalogues as the compiled searches read them: sparse links, rules as links, costs in steps.

Knows no unit and no search.
"""

from dataclasses import dataclass
from math import gcd

import numpy as np
from jaxtyping import Bool, Int

Links = tuple[np.ndarray, ...]  # place of each row's first entry, and one array or two of entries


@dataclass(frozen=True, eq=False)
class ActionLinks:
    """Actions of a catalogue in ascending cost. Shapes: a actions, d features.

    Attributes:
        cost: in steps. (a,)
        step: what a step is, in millionths of the catalogue's unit: the costs' common divisor.
        links: of each action its features and gains.
        providers: of each feature its actions.
        rules: of each action those that it requires, those that require it, those that it excludes.
    """

    cost: Int[np.ndarray, " a"]
    step: int
    links: Links
    providers: Links
    rules: tuple[Links, Links, Links]


def rows_as_links(member: Bool[np.ndarray, "r c"]) -> Links:
    """Place of the first entry of each row, and the columns of all entries. (r + 1,), (m,)"""
    first = np.concatenate([[0], np.cumsum(member.sum(axis=1))]).astype(np.int64)
    return first, np.nonzero(member)[1].astype(np.int64)


def action_links(
    cost: Int[np.ndarray, " a"],
    gain: Int[np.ndarray, "a d"],
    requires: Bool[np.ndarray, "a a"] | None = None,
    excludes: Bool[np.ndarray, "a a"] | None = None,
) -> ActionLinks:
    """The catalogue of actions that ascend in cost; costs are whole numbers from 0.

    Args:
        cost: ascending. (a,)
        gain: what each action adds, from 0. (a, d)
        requires: row i: all that action i requires, with what these require. None for no rule.
        excludes: pairs that may not be taken together. None for no rule.
    """
    step = max(gcd(*(int(c) for c in cost)), 1) if len(cost) else 1
    first, feature = rows_as_links(gain > 0)
    none = (np.zeros(len(cost) + 1, dtype=np.int64), np.zeros(0, dtype=np.int64))
    return ActionLinks(
        cost=cost // step,
        step=step,
        links=(first, feature, gain[gain > 0].astype(np.int64)),
        providers=rows_as_links(gain.T > 0),
        rules=(
            none if requires is None else rows_as_links(requires),
            none if requires is None else rows_as_links(requires.T),
            none if excludes is None else rows_as_links(excludes | excludes.T),
        ),
    )
