"""Evidence of an answer: a table, its records, and policies that were followed along them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float, Int

from frugal.answer.candidates import PRACTICE, ROUNDING, from_frame, versions_of
from frugal.answer.part import parts
from frugal.answer.recorded import known_law
from frugal.answer.requirements import variant_of
from frugal.answer.stored import StoredRecords
from frugal.config.parts import declared_parts
from frugal.core.episodes import REFERRED
from frugal.core.errors import ConfigError, argument
from frugal.core.regions import inside
from frugal.core.rows import Partitions, Rows, rows_of
from frugal.core.schema_check import listed
from frugal.core.streams import Streams
from frugal.core.table import Table
from frugal.data.tables import EVERY, StoredTable
from frugal.judge.choice import Candidates, Choice, choose, judged, over_divisions
from frugal.judge.prices import ExtraCosts, PriceBox
from frugal.judge.recorded_labels import recorded_labels
from frugal.judge.referral import referred
from frugal.judge.semi_offline import Labels, Paths, path_probability, terms
from frugal.learn.record_law import Added, Causes, RecordLaw, widened
from frugal.missing.graphs import MissingnessGraph


@dataclass(frozen=True, eq=False)
class Evidence:
    """A table with its records, the policies of all folds along them, and the law of their gaps.

    Attributes:
        table: every row, with its label where there is one.
        observed: panels that its record holds. (n, a)
        stored: the table as a stage made it.
        records: its masks, regions without support and clusters.
        graph: causes of gaps, as `draw_missingness` stored them.
        catalogue: of the table.
        divided: for each division into folds the fold of every row, and the path of every policy
            that learned on the other folds, as it decides every case.
        votes: path of each policy that is handed out.
        settings: of `judge_candidates`.
        streams: of every random draw.
    """

    table: Table
    observed: Bool[np.ndarray, "n a"]
    stored: StoredTable
    records: StoredRecords
    graph: Mapping[str, Any]
    catalogue: Mapping[str, Any]
    divided: list[tuple[Int[np.ndarray, " n"], dict[str, Paths]]]
    votes: Mapping[str, Paths]
    settings: Mapping[str, Any]
    streams: Streams

    @classmethod
    def of(
        cls,
        table: pd.DataFrame | Rows,
        catalogue: Mapping[str, Any],
        masks: pd.DataFrame | Rows,
        graph: Mapping[str, Any],
        paths: Partitions,
        joined: pd.DataFrame | Rows,
        settings: Mapping[str, Any],
        streams: Streams,
    ) -> "Evidence":
        """From the tables of the stages before."""
        stored = StoredTable(table, catalogue, unlabelled=True)
        records = StoredRecords(stored, catalogue, masks, graph)
        data, observed = records.at(records.table.positions(EVERY), records.seeds[0])
        return cls(
            data,
            observed,
            records.table,
            records,
            graph,
            catalogue,
            _divided(paths, data, observed),
            from_frame(rows_of(joined).read(), data),
            settings,
            streams.of_any_table(),
        )

    @property
    def errors(self) -> Float[np.ndarray, "k k"]:
        """Cost of a verdict (column) on a class (row)."""
        return self.table.misclassification_cost

    @cached_property
    def extra(self) -> ExtraCosts:
        """Costs beyond the prices of panels: set-ups, and prices by case."""
        return ExtraCosts.of(self.table)

    @cached_property
    def person(self) -> float | None:
        """Price of a case that policies hand to a person; None where they decide every case."""
        settings = self.settings["parts"]
        each = [
            part.person(settings[part.name])
            for part in parts()
            if part.person and part.name in settings
        ]
        return each[0] if each else None

    def ends(self, path: Paths) -> Paths:
        """A path that hands a case to a person where its decision is expected to cost as much."""
        return path if self.person is None else referred(path, self.errors, self.person)

    @cached_property
    def followed(self) -> list[dict[str, Paths]]:
        """Paths in each division, ended as the answer's policies end; see `ends`."""
        return [
            {
                name: path if variant_of(name).recorded_only else self.ends(path)
                for name, path in decided.items()
            }
            for _, decided in self.divided
        ]

    @cached_property
    def values(self) -> Float[np.ndarray, "n d"]:
        """Values that the records hold; NaN for others."""
        return np.where(self.table.columns_observed(self.observed), self.table.values, np.nan)

    @cached_property
    def varies(self) -> Bool[np.ndarray, " d"]:
        """Columns that every record holds, and that vary."""
        return np.ptp(self.values, axis=0) > 0

    @property
    def varying(self) -> Float[np.ndarray, "n v"]:
        """Their values."""
        return self.values[:, self.varies]

    @cached_property
    def cluster(self) -> Int[np.ndarray, " n"] | None:
        """Rows of one number count as one; None: each is independent."""
        return self.stored.clusters(EVERY)

    @cached_property
    def assumed(self) -> RecordLaw:
        """The law of the gaps under the causes of the graph."""
        data, regions, protocol = self.table, self.records.unsupported, self.settings["recorded"]
        record_law = RecordLaw(
            self.observed,
            self.values,
            data.label,
            self.stored.fold,
            causes_of(self.graph, data),
            data.provides,
            protocol=None if protocol is None else known_law(protocol, data, self.observed),
            unsupported=inside(regions, self.values, self.observed.shape[1]) if regions else None,
        )
        if data.labelled.all():
            return record_law
        columns = [data.columns[j] for j in np.flatnonzero(self.varies).tolist()]
        panels = [panel.name for panel in data.actions]
        return replace(
            record_law, labels=recorded_labels(record_law, self.varying, columns, panels)
        )

    @cached_property
    def _widened(self) -> tuple[RecordLaw, list[Added], list[Added]]:
        return widened(self.assumed)

    @property
    def law(self) -> RecordLaw:
        """The law of the gaps with the causes that the records add."""
        return self._widened[0]

    @property
    def added(self) -> list[Added]:
        """Causes that the records add to the graph."""
        return self._widened[1]

    @property
    def refused(self) -> list[Added]:
        """Causes that the records show and no law can take up."""
        return self._widened[2]

    def judge(self, record_law: RecordLaw, paths: Mapping[str, Paths]) -> Candidates:
        """Policies, and recorded practice, on every row under a law."""
        return judged(
            paths,
            record_law,
            self.varying,
            self.extra.flat(self.table.action_cost),
            self.errors,
            practice=PRACTICE,
            extra=self.extra,
            person=self.person,
            score=self.settings["objective"],
            cluster=self.cluster,
            exact=self.table.exact_errors,
        )

    def laws(self, record_law: RecordLaw) -> list[RecordLaw]:
        """A law, cross-fitted in the folds of each division."""
        further = (replace(record_law, fold=fold, _sets={}) for fold, _ in self.divided[1:])
        return [record_law, *further]

    def judge_all(self, record_law: RecordLaw, names: Sequence[str] | None = None) -> Candidates:
        """All candidates, or policies of these names, in the mean of the divisions into folds."""
        who = (*(self.able if names is None else names), PRACTICE)
        each = zip(self.laws(record_law), self.followed, strict=True)
        return over_divisions(
            [self.judge(division_law, {n: path[n] for n in who}) for division_law, path in each]
        )

    @property
    def budgets(self) -> list[float]:
        """For which the answer is given: those of F1; of costs one without an end."""
        return self.settings["budgets"] or [np.inf]

    @cached_property
    def spent(self) -> dict[str, float]:
        """Most that the panels of a candidate cost a case: of the judged ones, and of its vote."""
        names = list(self.settings["agents"])
        if not self.settings["budgets"]:
            return dict.fromkeys(names, 0.0)
        first = self.followed[0]
        versions = [variant.key for variant in versions_of(names, self.settings["budgets"])]
        return {
            name: max(
                float(self.shares(each[name].within(self.law)) @ self.table.action_cost)
                for each in (first, self.votes)
            )
            for name in versions
            if name in first
        }

    @cached_property
    def able(self) -> list[str]:
        """Candidates within the largest budget; of versions with the same acts the last."""
        if not self.settings["budgets"]:
            return list(self.spent)
        first, most = self.followed[0], max(self.budgets)
        affordable = [name for name in self.spent if _keeps(self.spent[name], most)]
        of_agents = {(variant_of(n).agent, *acts(first[n])): n for n in affordable}
        return [*of_agents.values()]

    def name(self, every: Candidates, budget: float, most: float = np.inf) -> Choice:
        """The policy that is named within a budget, with its interval and its rivals.

        Args:
            every: all candidates.
            budget: most that panels may cost a case.
            most: cost of the one that is named within a smaller budget.
        """
        tried = every.of([name for name in self.spent if _keeps(self.spent[name], budget)])
        return choose(
            tried.of(_best_versions(tried)),
            self.settings["margin"],
            self.streams.generator("quantiles"),
            self.price_box(every),
            limits=self._limits(every),
            tried=tried,
            most=most,
            refuted=bool(self.refused),
        )

    def price_box(self, candidates: Candidates) -> PriceBox | None:
        """Ranges of unit costs as the YAML states them; None where all are known."""
        unit, ranges = candidates.unit_costs, self.catalogue["report"].get("cost_ranges", {})
        names = (*self.table.unit_cost_names, *self.extra.names, REFERRED)[: len(unit)]
        box = PriceBox.of(unit, names, ranges)
        return box if box.uncertain.any() else None

    def _limits(self, every: Candidates) -> dict[str, tuple[Candidates, float]]:
        """Candidates in each group whose misses are bounded, and the bound.

        Raises:
            ConfigError: there is no such group.
        """
        group, names = self.stored.groups(EVERY), self.stored.group_names
        most = self.settings["most_missed"]
        if unknown := [name for name in most if name and name not in names]:
            raise ConfigError(
                f"{argument('most_missed')} names the group {unknown[0]!r}; "
                f"allowed are {listed(names) or 'none: sensitive=COLUMN makes groups'}"
            )
        return {
            name: (on_rows(every, group == names.index(name)) if name else every, share)
            for name, share in most.items()
        }

    def shares(self, paths: Paths) -> Float[np.ndarray, " a"]:
        """Share of cases in which a policy acquires each panel; its paths are within the law."""
        data, label = self.table, np.maximum(self.table.label, 0)  # panels alone are read
        labels = Labels(np.eye(len(data.classes))[label], label)
        chance = path_probability(paths, self.law)
        means = terms(paths, chance, labels, data.action_cost, self.errors, self.law.fold)
        return means.shares(len(data.actions))


@dataclass(frozen=True, eq=False)
class Judged:
    """An answer as it was judged, as its parts read it.

    Attributes:
        evidence: that it rests on.
        chosen: the named policy among all.
        within: the same for each budget.
        before: the answer without the causes that the records add; None where there are none.
    """

    evidence: Evidence
    chosen: Choice
    within: Mapping[float, Choice]
    before: Choice | None

    @cached_property
    def handed_out(self) -> Paths:
        """Path of the policy that is handed out, the vote of those that were judged."""
        return self.evidence.ends(self.evidence.votes[self.chosen.policy].within(self.evidence.law))

    def requested(self, part: str) -> Mapping[str, Any] | None:
        """Settings of a part; None where it was not requested."""
        if part not in declared_parts():
            raise KeyError(f"no part is named {part!r}")
        return self.evidence.settings["parts"].get(part)

    @property
    def paths(self) -> Mapping[str, Paths]:
        """Paths of the first division, as policies end; see `Evidence.followed`."""
        return self.evidence.followed[0]

    @property
    def deciding(self) -> Mapping[str, Paths]:
        """The same as policies decide every case."""
        return self.evidence.divided[0][1]


def _divided(
    paths: Partitions, data: Table, observed: np.ndarray
) -> list[tuple[np.ndarray, dict[str, Paths]]]:
    """Fold of each row in each division, and the paths of all policies there."""
    place = pd.Series(np.arange(len(data)), index=data.row_id)
    frames = [paths.open(k).read() for k in range(len(paths.folders))]
    names, divided = dict.fromkeys(n for frame in frames for n in frame["agent"].unique()), []
    for number in sorted(frames[0]["repeat"].unique().tolist()):
        each = [frame[frame["repeat"] == number] for frame in frames]
        fold = np.empty(len(data), dtype=np.int64)
        for k, part in enumerate(each):
            fold[place[part["row_id"].unique()].to_numpy()] = k
        complete = [_completed(part, names) for part in each]
        followed = from_frame(pd.concat(complete, ignore_index=True), data)
        followed[PRACTICE] = replace(followed[PRACTICE], acquired=observed)
        divided.append((fold, followed))
    return divided


def _completed(frame: pd.DataFrame, names: Iterable[str]) -> pd.DataFrame:
    """Paths in a fold, with those of policies that act as another one there, see `Variant`."""
    there = set(frame["agent"].unique())
    same = {
        name: [other for other in variant_of(name).acts_as if other in there]
        for name in names
        if name not in there
    }
    copies = [
        frame[frame["agent"] == others[0]].assign(agent=name)
        for name, others in same.items()
        if others
    ]
    return pd.concat([frame, *copies]) if copies else frame


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


def on_rows(candidates: Candidates, inside: np.ndarray) -> Candidates:
    """The same, judged on some of the rows."""
    outcomes = {name: outcome.of(inside) for name, outcome in candidates.outcomes.items()}
    return replace(candidates, outcomes=outcomes)


def _keeps(price: float, budget: float) -> bool:
    """Whether a price is within a budget."""
    return price <= budget * (1 + ROUNDING)


def acts(paths: Paths) -> tuple[bytes, bytes]:
    """The same for policies that do the same in every row."""
    return paths.order.tobytes(), paths.verdict.tobytes()


def _best_versions(tried: Candidates) -> list[str]:
    """Of each candidate the version of the best score, the last one of equals."""

    def score(name: str) -> float:
        return tried.cost(name) if name in tried.outcomes else np.inf

    worst_first: Iterable[str] = sorted((*tried.names, *tried.left_out), key=score, reverse=True)
    return [*{variant_of(name).agent: name for name in worst_first}.values()]
