"""The laws that need no fit: the policy's own, and that of masks that the project drew itself.

Set and sequence probabilities of the records, and the true AFA propensity [afape, sec. A.9];
they judge fitted nuisances. Must not know estimators.
"""

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np

from frugal.acquire.rollouts import acquisition_order
from frugal.acquire.set_probability import (
    rows_in_parts,
    terminal_sequence_probability,
    terminal_set_probability,
    true_afa_propensity,
    wide_propensity_and_chance,
)
from frugal.core.episodes import Episodes, Policy
from frugal.core.table import Table
from frugal.core.world import World
from frugal.missing.chain import IndicatorChain, chain_of
from frugal.missing.graphs import MissingnessGraph, topological_order
from frugal.missing.law import MOST_SUMMED, missable_patterns, pattern_probability


class TrueLaws:
    """True laws of a policy and of the masks on some rows.

    Args:
        policy: the one that is judged.
        table: whole, since standardised laws of masks are scaled on all of it.
        rows: positions in it of the rows in question. (n,)
        graph: law of the masks with its `source`, as `draw_missingness` stored it.
        s: True for the panels of the set s. (a,)
    """

    def __init__(
        self,
        *,
        policy: Policy,
        table: Table,
        rows: np.ndarray,
        graph: Mapping[str, Any],
        s: np.ndarray,
    ) -> None:
        self._policy, self._s = policy, s
        self._table, self._rows = table, rows
        self._world = World.of_table(table).take(rows)
        self._graph = MissingnessGraph.from_dict(graph)
        self._law_known = graph["source"] == "induced"
        ordered = topological_order(self._graph)
        names = [panel.name for panel in table.actions]
        always = [name for name in names if name not in ordered]
        self._order = np.array([names.index(name) for name in [*always, *ordered]], dtype=np.int64)

    def afa_propensity(self, acquired: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """True p(R=1 | X, R̂, R_s=1); NaN where the law of the masks is unknown. (n,)

        Args:
            acquired: R̂ of the blocked episodes. (n, a)
            rng: source of the patterns that are drawn where they are too many to be listed.
        """
        result = np.full(len(acquired), np.nan)
        if not self._law_known:
            return result
        if len(self._graph.indicators) > MOST_SUMMED:
            rows = np.arange(len(acquired))
            return wide_propensity_and_chance(
                self._policy,
                self._world,
                target=acquired,
                missingness=self._chain,
                rows=rows,
                s=self._s,
                rng=rng,
            )[0]
        patterns = missable_patterns(self._graph, self._table)
        patterns = patterns[patterns[:, self._s].all(axis=1)]
        for part in rows_in_parts(acquired, len(patterns)):
            probability = pattern_probability(
                self._graph, self._table, patterns, rows=self._rows[part]
            )
            result[part] = true_afa_propensity(
                self._policy,
                self._world.take(part),
                target=acquired[part],
                patterns=patterns,
                pattern_probability=probability,
                s=self._s,
            )
        return result

    @cached_property
    def _chain(self) -> IndicatorChain:
        """The law of the masks, for single events."""
        return chain_of(self._graph, self._table, self._rows)

    def set_probability(self, observed: np.ndarray, at: np.ndarray) -> np.ndarray:
        """Probability that the policy ends with the recorded set. (m,)

        Args:
            observed: the recorded panels of some rows. (m, a)
            at: which of the rows these are, as truth values. (n,)
        """
        return terminal_set_probability(self._policy, self._world.take(at), target=observed)

    def sequence_probability(self, observed: np.ndarray, at: np.ndarray) -> np.ndarray:
        """Probability that it ends with the recorded set in the records' order. (m,)

        Args:
            observed: the recorded panels of some rows. (m, a)
            at: which of the rows these are, as truth values. (n,)

        ASSUME: records list the panels in the topological order of the graph (always recorded
        panels first), since data sets with masks alone do not determine the order.
        """
        return terminal_sequence_probability(
            self._policy, self._world.take(at), order=self._record_order(observed)
        )

    def in_record_order(self, episodes: Episodes) -> np.ndarray:
        """1 for each episode that took its panels in the order of the records, else 0. (n,)"""
        order = acquisition_order(episodes)[0]
        listed = self._record_order(episodes.acquired[0])
        return (order == listed).all(axis=1).astype(np.float64)

    def _record_order(self, acquired: np.ndarray) -> np.ndarray:
        """The panels of each set in the order in which records list them, then −1. (n, a)"""
        ranked = acquired[:, self._order]
        slot = np.argsort(~ranked, axis=1, kind="stable")
        return np.where(np.take_along_axis(ranked, slot, axis=1), self._order[slot], -1)
