"""Candidates of an answer: learned on some rows, followed along the records of others.

All candidates of a fold share the models of their sets of panels. Knows tables and policies; no
files and no estimator.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Bool, Int

from frugal.acquire.kinds import Ground, build_policy, kind_of
from frugal.acquire.policies.cascade import CascadePolicies, ClassPath
from frugal.acquire.rollouts import roll_out, states_of, visited_sets
from frugal.answer.requirements import PRACTICE as PRACTICE
from frugal.answer.requirements import Variant
from frugal.core.episodes import Policy
from frugal.core.errors import ConfigError, DataError, extras_named
from frugal.core.layout import Bundle, Layout
from frugal.core.regions import Hole
from frugal.core.stored import StoredArrays, under
from frugal.core.streams import Streams
from frugal.core.table import Table
from frugal.core.world import World
from frugal.data.splits import assign_clusters, assign_parts, part_sizes, with_copies
from frugal.judge.semi_offline import Paths
from frugal.learn.tree_scoring import predict_proba
from frugal.learn.trees import TreeEnsemble

SETS = (CascadePolicies, ClassPath)  # policies of sets of panels, whose models agents share
STOP, GOES_ON = -1, -1  # in place of a panel; of a verdict
ROUNDING = 1e-9  # of a price against a budget
SHARES = (0.6, 0.8, 1.0)  # of a budget, that versions are learned for
MOST_REPEATS, ROWS_IN_ALL = 3, 1_500  # divisions into folds: few rows are divided more often


def learn(
    ground: Ground, agents: Mapping[str, Mapping[str, Any]], progress: Callable[..., Any]
) -> Iterator[tuple[Variant, Policy, Mapping[str, np.ndarray] | None]]:
    """Each candidate as a policy, and its model as arrays; None for one that does not learn.

    Within budgets there are versions of each: one for each of `levels`, the best of those whose
    price out of fold keeps to it; or the cheapest, where none does.

    Raises:
        ConfigError: a kind without a verdict of its own is requested within budgets.
    """
    layout = Layout.of(ground.table)
    for name in progress(list(agents), desc="candidates"):
        kind = kind_of(agents[name])
        if kind.fit is None:
            if not ground.budgets:
                yield Variant(name), build_policy(agents[name], table=ground.table), None
            continue
        with extras_named(f"agent {name!r} of kind {kind.name!r}"):
            learned = kind.fit(ground, agents[name])
        policy = kind.build(agents[name], layout, learned.arrays)
        if not ground.budgets:
            yield Variant(name), policy, learned.arrays
            continue
        if not isinstance(policy, CascadePolicies):
            raise ConfigError(
                f"policy {name!r} of kind {kind.name!r} does not learn within budgets"
            )
        price = learned.curve["acquisition_cost"].to_numpy()
        for number, budget in enumerate(ground.budgets):
            fitting = int((price <= budget * (1 + ROUNDING)).sum())
            member = policy.member(max(fitting - 1, 0))
            yield Variant(name, number), member, member.to_arrays()


def learned_without(
    ground: Ground, settings: Mapping[str, Any], policy: Policy
) -> Iterator[tuple[tuple[int, ...], Policy]]:
    """A policy of sets learned again without each panel that it orders, and without pairs.

    Of a pair it orders one, and orders the other where that one is withheld. Without any other
    panel or pair it is the policy that is there already. Models of sets are shared, so only further
    sets are fitted. A policy of another kind is not learned again, nor is that of all panels for
    everyone, which would need a model for each pair.
    """
    fit, build, layout = kind_of(settings).fit, kind_of(settings).build, Layout.of(ground.table)
    if fit is None or settings.get("panels") == "all":
        return

    def again(*panels: int) -> Policy:
        return build(settings, layout, fit(ground.without(frozenset(panels)), settings).arrays)

    alone = {j: again(j) for j in _ordered(policy)}
    pairs = {(min(j, k), max(j, k)) for j, other in alone.items() for k in _ordered(other)}
    yield from (((j,), other) for j, other in alone.items())
    yield from ((pair, again(*pair)) for pair in sorted(pairs))


def _ordered(policy: Policy) -> list[int]:
    """Panels of the sets that a case may come to; none of a policy of another kind."""
    if not isinstance(policy, SETS):
        return []
    return np.flatnonzero(policy.reached.any(axis=0)).tolist()


def levels(budgets: Sequence[float]) -> tuple[float, ...]:
    """Budgets that versions are learned for: incomplete records show less than is paid later."""
    return tuple(sorted({share * budget for budget in budgets for share in SHARES}))


def versions_of(agents: Iterable[str], budgets: Sequence[float]) -> list[Variant]:
    """All candidates, each version within budgets one of them."""
    numbers = range(len(levels(budgets))) if budgets else (None,)
    return [Variant(name, number) for name in agents for number in numbers]


def divisions(
    table: Table,
    fold: Int[np.ndarray, " n"],
    cluster: Int[np.ndarray, " n"] | None,
    repeats: int | None,
    streams: Streams,
) -> list[Int[np.ndarray, " n"]]:
    """Fold of each row, as the table has it and drawn anew, decided by the content of the rows.

    A policy and its estimate depend on the division; the mean over several depends less on it. A
    division in which a fold lacks a class, as rows of a cluster stay together, is left out.

    Args:
        table: all rows.
        fold: of each. (n,)
        cluster: rows of one number stay together; None: copies do. (n,)
        repeats: how many; None: by the number of rows.
        streams: the same for every fold.
    """
    k, n, order = len(np.unique(fold)), len(table), table.content_order
    if repeats is None:
        repeats = max(1, min(MOST_REPEATS, ROWS_IN_ALL // n))
    if cluster is None and repeats > 1:
        cluster = with_copies(pd.DataFrame(table.values).assign(label=table.label), k)
    sizes, label = part_sizes(n, {str(number): 1 / k for number in range(k)}), table.label[order]

    def kinds(fold: np.ndarray) -> int:
        return len(np.unique(np.stack([fold, table.label]), axis=1).T)

    folds = [fold]
    for number in range(1, repeats):
        rng, drawn = streams.generator("folds", number), np.empty(n, dtype=np.int64)
        drawn[order] = (
            assign_parts(label, sizes, rng)
            if cluster is None
            else assign_clusters(label, pd.factorize(cluster[order])[0], sizes, rng)
        ).astype(np.int64)
        if kinds(drawn) == kinds(fold):
            folds.append(drawn)
    return folds


def of_division(streams: Streams, number: int) -> Streams:
    """Random generators of a further division into folds; of the first its own."""
    return replace(streams, stage=f"{streams.stage}~{number}") if number else streams


def follow(
    policy: Policy,
    table: Table,
    recorded: Bool[np.ndarray, "n a"],
    uniforms: np.ndarray,
    classifier: TreeEnsemble | None,
    available: Bool[np.ndarray, "n a"] | None = None,
    *,
    unsupported: tuple[Hole, ...] = (),
) -> Paths:
    """A policy along records, each until it requests a panel that is not recorded.

    Args:
        policy: a single one.
        table: the rows.
        recorded: panels that their records hold. (n, a)
        uniforms: that decide steps of policies that draw. (n, a + 1)
        classifier: decides where the policy only stops; None for one that predicts.
        available: panels that the policy may request; None: all. (n, a)
        unsupported: regions in which a panel is not offered.
    """
    world = World.of_table(table, available=available, unsupported=unsupported)
    n, a = recorded.shape
    episodes = roll_out(policy, world, uniforms=uniforms, beliefs=True, recorded=recorded)
    order = np.full((n, a), STOP, dtype=np.int64)
    requests = episodes.action < a
    order[episodes.row[requests], episodes.step[requests]] = episodes.action[requests]
    n_acquired = episodes.acquired[0].sum(axis=1)
    probability = np.full((n, a + 1, world.classes), np.nan)
    if episodes.verdict is None or episodes.belief is None:
        assert classifier is not None, "bug: the policy has no verdict, and there is no classifier"
        visible = world.visible(episodes.row, visited_sets(episodes))
        probability[episodes.row, episodes.step] = predict_proba(
            classifier, visible, np.isfinite(visible)
        )
        verdict = (probability[np.arange(n), n_acquired] @ table.misclassification_cost).argmin(
            axis=1
        )
    else:
        probability[episodes.row, episodes.step] = episodes.belief
        verdict = episodes.verdict[0].argmax(axis=1)
    complete = (order >= 0).sum(axis=1) == n_acquired
    return Paths(order, n_acquired, complete, episodes.acquired[0], probability, verdict)


def audited(
    policy: Policy,
    table: Table,
    recorded: Bool[np.ndarray, "n a"],
    uniforms: np.ndarray,
    classifier: TreeEnsemble,
    followed: Paths,
    *,
    unsupported: tuple[Hole, ...] = (),
) -> Iterator[tuple[str, Paths]]:
    """Input of the habit audit from a policy: name of a panel → the policy without that panel.

    Last, under an empty name, the policy on recorded panels: a request that a record does not
    answer fails, and the policy goes on without this panel.

    Args:
        policy: a single one.
        table: the rows.
        recorded: panels that their records hold. (n, a)
        uniforms: that decide steps of policies that draw. (n, a + 1)
        classifier: decides where the policy only stops.
        followed: the same policy with every panel, see `follow`.
        unsupported: regions in which a panel is not offered.
    """
    every, follow_within = np.ones_like(recorded), partial(follow, unsupported=unsupported)
    for j, panel in enumerate(table.actions):
        others = every & (np.arange(len(table.actions)) != j)
        needs = (followed.order == j).any()
        without = (policy, table, recorded, uniforms, classifier, others)
        yield panel.name, follow_within(*without) if needs else followed
    yield "", _where_requests_fail(follow_within, policy, table, recorded, uniforms, classifier)


def _where_requests_fail(
    follow_within: Callable[..., Paths],
    policy: Policy,
    table: Table,
    recorded: Bool[np.ndarray, "n a"],
    uniforms: np.ndarray,
    classifier: TreeEnsemble,
) -> Paths:
    """Panels requested if the policy goes on after a failure; `acquired` are those answered."""
    n, a = recorded.shape
    order, acquired, verdict = np.full((n, a), STOP), np.zeros((n, a), dtype=bool), np.zeros(n, int)
    available, rows = np.ones((n, a), dtype=bool), np.arange(n)
    while len(rows):
        part, present, drawn = table.take(rows), recorded[rows], uniforms[rows]
        ended = follow_within(policy, part, present, drawn, classifier, available[rows])
        ends, failing = rows[ended.complete], ~ended.complete
        order[ends], acquired[ends] = ended.order[ended.complete], ended.acquired[ended.complete]
        verdict[ends] = ended.verdict[ended.complete]
        lacks = ended.order[failing, ended.held[failing]]
        rows = rows[failing]
        available[rows, lacks] = False
    row, panel = np.nonzero(~available)
    held = acquired.sum(axis=1)
    order[row, held[row] + (~available).cumsum(axis=1)[row, panel] - 1] = panel
    belief = np.full((n, a + 1, len(table.classes)), np.nan)
    held += (~available).sum(axis=1)
    return Paths(order, held, np.ones(n, dtype=bool), acquired, belief, verdict)


def archive(policies: Mapping[str, Bundle], **header: Any) -> Bundle:
    """Policies in one file, and further keys of its header."""
    headers = {name: policy.header for name, policy in policies.items()}
    arrays = {
        f"{name}/{key}": array
        for name, policy in policies.items()
        for key, array in policy.arrays.items()
    }
    return Bundle({"policies": headers, **header}, arrays)


def one_of(policies: StoredArrays, name: str) -> StoredArrays | None:
    """One policy of an `archive`, as if it lay in a file of its own; None for one without arrays.

    Raises:
        DataError: the file is no archive of policies.
    """
    header = policies.header or {}
    if "policies" not in header:
        raise DataError(f"{policies.source} holds no policies of `learn_candidates`")
    if name not in header["policies"]:
        return None
    return StoredArrays(under(policies, f"{name}/"), policies.source, header["policies"][name])


def as_practised(
    policy: Policy, table: Table, recorded: Bool[np.ndarray, "n a"], classifier: TreeEnsemble
) -> Paths:
    """Panels acquired in the records, with the verdicts of a policy's models at these sets.

    The classifier decides where the policy only stops.
    """
    world = World.of_table(table)
    n, a = recorded.shape
    state = states_of(policy, world, row=np.arange(n), acquired=recorded)
    probability = np.full((n, a + 1, world.classes), np.nan)
    if state.verdict is None:
        visible = world.visible(np.arange(n), recorded)
        probability[:, 0] = predict_proba(classifier, visible, np.isfinite(visible))
        verdict = (probability[:, 0] @ table.misclassification_cost).argmin(axis=1)
    else:
        verdict = state.verdict.argmax(axis=1)
        if state.probability is not None:
            probability[:, 0] = state.probability
    return Paths(
        np.full((n, a), STOP),
        np.zeros(n, dtype=np.int64),
        np.ones(n, dtype=bool),
        recorded,
        probability,
        verdict,
    )


def to_frame(paths: Paths, name: str, table: Table) -> pd.DataFrame:
    """A row for each state of each record: the predicted probabilities and the requested panel."""
    a = paths.order.shape[1]
    row, step = np.nonzero(np.arange(a + 1) <= paths.held[:, None])
    requested = np.pad(paths.order, ((0, 0), (0, 1)), constant_values=STOP)[row, step]
    panels = np.array([*(panel.name for panel in table.actions), ""], dtype=object)
    ends = (step == paths.held[row]) & paths.complete[row]
    return pd.DataFrame(
        {
            "agent": name,
            "row_id": table.row_id[row],
            "step": step,
            "panel": panels[requested],
            "recorded": ends | paths.acquired[row, requested],
            "verdict": np.where(ends, paths.verdict[row], GOES_ON),
        }
        | {f"belief:{c}": paths.belief[row, step, k] for k, c in enumerate(table.classes)}
    )


def from_frame(frame: pd.DataFrame, table: Table) -> dict[str, Paths]:
    """The inverse of `to_frame`, of several policies; rows in the order of the table.

    Raises:
        DataError: a policy has not acted on every row.
    """
    panels = {panel.name: j for j, panel in enumerate(table.actions)} | {"": STOP}
    n, a = len(table), len(table.actions)
    place = pd.Series(np.arange(n), index=table.row_id)
    paths_by_policy = {}
    for name, part in frame.groupby("agent", sort=False):
        row = place.reindex(part["row_id"]).to_numpy()
        if np.isnan(row).any() or len(np.unique(row)) != n:
            raise DataError(f"policy {name!r} has not acted on every row of the table")
        row, step = row.astype(np.int64), part["step"].to_numpy()
        requested = part["panel"].map(panels).to_numpy()
        order = np.full((n, a + 1), STOP, dtype=np.int64)
        order[row, step] = requested
        n_acquired = np.zeros(n, dtype=np.int64)
        np.maximum.at(n_acquired, row, step)
        probability = np.full((n, a + 1, len(table.classes)), np.nan)
        probability[row, step] = part[[f"belief:{c}" for c in table.classes]].to_numpy()
        ends = requested == STOP
        complete, verdict = np.zeros(n, dtype=bool), np.zeros(n, dtype=np.int64)
        complete[row[ends]] = True
        verdict[row[ends]] = part["verdict"].to_numpy()[ends]
        acquired = np.zeros((n, a), dtype=bool)
        bought = part["recorded"].to_numpy() & ~ends
        acquired[row[bought], requested[bought]] = True
        paths_by_policy[str(name)] = Paths(
            order[:, :a], n_acquired, complete, acquired, probability, verdict
        )
    return paths_by_policy
