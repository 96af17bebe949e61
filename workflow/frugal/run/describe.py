"""`python -m frugal describe POLICY`: a trained policy's decisions, in a few lines.

A cascade is its own sentences. A lattice is a short tree fitted to its own decisions, a network or
any other agent one fitted to its first orders: both need units to decide on, `--data FOLDER`.
Knows no study.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from frugal.acquire.bundles import FILES, read_bundle
from frugal.acquire.kinds import KINDS, load_policy
from frugal.acquire.policies.cascade import CascadePolicies, ClassPath
from frugal.acquire.rollouts import roll_out, visited_sets
from frugal.acquire.siblings import Siblings
from frugal.core.arguments import command_parser, whole_number
from frugal.core.episodes import Episodes, Policy
from frugal.core.errors import DataError, say
from frugal.core.layout import Layout
from frugal.core.region_words import not_offered
from frugal.core.regions import Hole
from frugal.core.stored import StoredArrays
from frugal.core.studies import adviser_of
from frugal.core.world import World
from frugal.data.tables import available_panels, table_from_frames
from frugal.learn.short_trees import FeatureWords, fit_short_tree
from frugal.results.files import read_payload

MOST_UNITS = 3000  # evenly spaced over the table
SHOWN_FIRST = 3  # panels that a line on a member names
YES_NO = (0.0, 1.0)


@dataclass(frozen=True, eq=False)
class Watched:
    """Decisions of a policy's members for some units.

    Attributes:
        policy: K members.
        world: n units.
        layout: names of columns and panels.
        episodes: finished, with beliefs.
    """

    policy: Policy
    world: World
    layout: Layout
    episodes: Episodes

    @classmethod
    def of(cls, policy: Policy, layout: Layout, world: World) -> "Watched":
        """All members on all units; where they draw, the draws are the same on every call."""
        uniforms = np.random.default_rng(0).random((len(world), world.panels + 1))
        return cls(policy, world, layout, roll_out(policy, world, uniforms=uniforms, beliefs=True))

    @property
    def choices(self) -> list[str]:
        """Possible decisions, in words."""
        return [*(panel.name for panel in self.layout.actions), "nothing"]

    def first(self, k: int) -> np.ndarray:
        """First decision of a member for each unit. (n,)"""
        return self.episodes.action[(self.episodes.member == k) & (self.episodes.step == 0)]

    def in_short(self, k: int) -> str:
        """One line on a member."""
        counts = np.bincount(self.first(k), minlength=self.world.panels + 1)
        order = [int(j) for j in np.argsort(-counts, kind="stable") if counts[j]]
        firsts = [f"{self.choices[j]} ({_percent(counts[j] / counts.sum())})" for j in order]
        more = ", …" if len(firsts) > SHOWN_FIRST else ""
        panels = self.episodes.acquired[k].sum(axis=1).mean()
        cost = self.episodes.cost[k].mean()
        return (
            f"{panels:.1f} panels a unit, at {cost:.4g}; first {', '.join(firsts[:SHOWN_FIRST])}"
            + more
        )

    def first_orders(self, k: int) -> list[str]:
        """First orders of a member, and the units that get them."""
        free = np.flatnonzero(self.world.free_columns)
        columns = [_column(self.layout, int(j), self.world.values[:, j]) for j in free]
        tree = fit_short_tree(self.world.values[:, free], self.first(k), columns, self.choices)
        last = (
            f"For {_percent(tree.right)} of the {len(self.world):,} units this is the first "
            "order; shares are of units."
        )
        return ["It orders first:", *tree.lines, last]

    def decisions(self, k: int) -> list[str]:
        """All decisions of a member, by values, panels and belief at each."""
        mine = self.episodes.member == k
        acquired, row = visited_sets(self.episodes)[mine], self.episodes.row[mine]
        visible, probability = self.world.visible(row, acquired), self.episodes.belief
        columns = [
            _column(self.layout, j, self.world.values[:, j])
            for j in range(len(self.layout.columns))
        ]
        columns += [
            FeatureWords(f"{p.name} bought", f"{p.name} not bought") for p in self.layout.actions
        ]
        features = [visible, acquired.astype(np.float64)]
        if probability is not None:
            features.append(probability[mine][:, 1:])
            columns += [
                FeatureWords(f"risk of {name!r}", scale=100.0, unit=" %")
                for name in self.layout.classes[1:]
            ]
        tree = fit_short_tree(
            np.concatenate(features, axis=1), self.episodes.action[mine], columns, self.choices
        )
        last = (
            f"These lines name {_percent(tree.right)} of its {len(row):,} decisions on "
            f"{len(self.world):,} units; shares are of decisions."
        )
        return ["It orders next:", *tree.lines, last]


def describe_command(words: list[str]) -> int:
    """Print a trained policy's decisions; returns the exit status.

    Raises:
        DataError: the file holds no trained policy, it has no such member, or its units are needed
            and not given.
    """
    parser = command_parser("describe", __doc__)
    parser.add_argument(
        "policy", type=Path, metavar="POLICY", help="a bundle's folder, or policies.safetensors"
    )
    parser.add_argument("--member", type=whole_number(0), help="of a front; without it, all")
    parser.add_argument(
        "--data", type=Path, metavar="FOLDER", help="with table.parquet and catalogue.json"
    )
    args = parser.parse_args(words)
    say(*described(args.policy, args.member, args.data))
    return 0


def described(path: Path, member: int | None, folder: Path | None) -> list[str]:
    """The lines of `describe`."""
    if adviser := adviser_of(path):
        raise DataError(
            f"{path} holds a policy of {adviser.name}; `python -m frugal advise` prints its next "
            "steps"
        )
    unsupported: tuple[Hole, ...] = ()
    if (path / FILES["policy"]).is_file():  # the bundle of one member
        bundle = read_bundle(path)
        member, unsupported = bundle.member if member is None else member, bundle.unsupported
        path = path / FILES["policy"]
    policy, layout, kind = _policy(path)
    panels = [panel.name for panel in layout.actions]
    closed = [not_offered(hole, panels, layout.columns, layout.onehot) for hole in unsupported]
    world = None if folder is None else _units(folder, layout, path, unsupported)
    count = policy.members
    if member is not None and member >= count:
        raise DataError(f"{path} has {count} members; there is no {member}, they count from 0")
    if member is None and count == 1:
        member = 0
    if isinstance(policy, Siblings) and all(
        hasattr(sibling, "sentences") for sibling in policy.each
    ):
        each = [sibling.sentences(panels)[0] for sibling in policy.each]  # pyright: ignore[reportAttributeAccessIssue]
        return [f"{len(each)} policies that learned on other rows vote:", *each, *closed]
    if isinstance(policy, CascadePolicies | ClassPath):
        sentences = policy.sentences(panels)
        return _front(kind, sentences) if member is None else [sentences[member], *closed]
    if world is None:
        raise DataError(
            f"{path} holds an agent of kind {kind!r}, which is described by its orders for units; "
            "give the folder of their table, as --data results/data/dataset=NAME"
        )
    watched = Watched.of(policy, layout, world)
    if member is None:
        return _front(kind, [watched.in_short(k) for k in range(count)])
    if policy.traits.in_steps:
        return [*watched.decisions(member), *closed]
    return [*watched.first_orders(member), *closed]


def _front(kind: str, sentences: Sequence[str]) -> list[str]:
    """A line for each member."""
    head = f"{len(sentences)} policies of kind {kind!r}; --member K shows one of them:"
    return [head, *(f"{k}: {words}" for k, words in enumerate(sentences))]


def _policy(path: Path) -> tuple[Policy, Layout, str]:
    """A trained policy, its header, and its kind."""
    stored = read_payload(path)
    if not isinstance(stored, StoredArrays):
        raise DataError(f"{path} is no trained policy; that is a file policies.safetensors")
    kind = (stored.header or {}).get("kind")
    if isinstance(kind, str) and kind in KINDS and KINDS[kind].fit is None:
        raise DataError(f"{path} is of kind {kind!r}, which is not trained; its settings define it")
    policy, layout = load_policy(stored)
    return policy, layout, str(kind)


def _units(folder: Path, layout: Layout, path: Path, unsupported: tuple[Hole, ...]) -> World:
    """Some units of a table that the policy was made for, with the panels that they can have."""
    frame = read_payload(folder / "table.parquet")
    table, _ = table_from_frames(frame, read_payload(folder / "catalogue.json"))
    layout.require_same(table, f"the policy {path}")
    rows = np.unique(np.linspace(0, len(table) - 1, MOST_UNITS).astype(np.int64))
    world = World.of_table(
        table,
        available=available_panels(table),
        terminals=len(table.classes),
        unsupported=unsupported,
    )
    return world.take(rows)


def _column(layout: Layout, index: int, values: np.ndarray) -> FeatureWords:
    """Words for a column of a table; a level of a category is so or not."""
    name, observed = layout.columns[index], values[~np.isnan(values)]
    if any(index in group for group in layout.onehot) and np.isin(observed, YES_NO).all():
        before, _, level = name.partition("=")
        return FeatureWords(f"{before} is {level}", f"{before} is not {level}")
    return FeatureWords(name)


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"
