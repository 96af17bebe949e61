"""Declarations of kinds of agents, and from a block of config or a stored bundle to a policy.

Kinds are found in the folder `acquire.policies`. Knows no files, no study and no kind by name.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float, Int

from frugal.acquire.encoders import CallableEncoder, TabulatedEncoder, ValuesEncoder, fits, tabulate
from frugal.acquire.siblings import each_of
from frugal.config.declared import block_of, declared_kinds, learns, needs_two_classes
from frugal.core.context import without_bar
from frugal.core.declarations import load_one
from frugal.core.episodes import Episodes, Policy
from frugal.core.errors import ConfigError, DataError
from frugal.core.layout import Bundle, Layout, bundle_header, read_header, rows_digest
from frugal.core.scaling import Scaling, fit_scaling
from frugal.core.stored import StoredArrays
from frugal.core.streams import Streams
from frugal.core.table import Table
from frugal.core.world import StateEncoder, World
from frugal.learn.tree_scoring import MAX_ACTIONS_TABULATED, predict_proba
from frugal.learn.trees import TreeEnsemble

UNTUNED = 0.5  # threshold at which beliefs stay as they are
TABLE_GIB = 0.25  # larger tables of observations are not built; the numbers are the same
Saved = Mapping[str, np.ndarray] | Path | pd.DataFrame | None
CLASSIFIER = "asked_classifier."  # prefix, in the file of a policy that only stops


@dataclass(frozen=True, eq=False)
class Ground:
    """Training data of an agent: rows, their records, and the cost of errors.

    Attributes:
        table: the rows.
        recorded: panels that the records hold; nothing else may be acquired. (n, a)
        group: of the protected attribute, 0 or 1; None where the data set has none. (n,)
        classifier: predicts the class where the agent only stops.
        streams: sources of all draws.
        progress: shows how far a long training is.
        objective: cost, or f1 or am within budgets; read by kinds that learn within budgets.
        budgets: most that a case may cost on average, ascending; none for a cost.
        withheld: panels that a policy may not order, see `without`.
        fitted: trees that agents learn by and share, see `TreeRows`.
    """

    table: Table
    recorded: Bool[np.ndarray, "n a"]
    group: Int[np.ndarray, " n"] | None
    classifier: TreeEnsemble
    streams: Streams
    progress: Callable[..., Any] = without_bar
    objective: Literal["cost", "f1", "am"] = "cost"
    budgets: tuple[float, ...] = ()
    withheld: frozenset[int] = frozenset()
    fitted: dict[Any, Any] = field(default_factory=dict)

    def without(self, panels: frozenset[int]) -> "Ground":
        """The same, where some panels are not offered; trees of sets of the others stay."""
        return replace(self, withheld=panels)

    @property
    def shared(self) -> dict[str, Any]:
        """Arguments that the rows of agents that learn trees of sets share."""
        return {"withheld": self.withheld, "fitted": self.fitted}

    @property
    def unit(self) -> float:
        """The most expensive error, by which costs are divided so that values are about 1."""
        return float(self.table.misclassification_cost.max())

    def world(self, *, terminals: int) -> World:
        """The records as a world: blocked."""
        return World.of_table(
            self.table, name="blocked", available=self.recorded, terminals=terminals
        )

    @cached_property
    def values(self) -> Float[np.ndarray, "n d"]:
        """Values as the records hold them; NaN where a panel is not recorded. (n, d)"""
        revealed = self.table.columns_observed(self.recorded)
        return np.where(revealed, self.table.values, np.nan)

    @cached_property
    def scaling(self) -> Scaling:
        """Of the values that the records hold; a column that they never hold stays as it is."""
        return fit_scaling(self.values, unknown=True)

    @property
    def digest(self) -> str:
        """SHA-256 of rows, values, labels and recorded panels."""
        return rows_digest(self.table, self.values, self.recorded)

    def require_two_classes(self, kind: str) -> None:
        """Refuse a label with other than two classes.

        Raises:
            DataError: it has.
        """
        if len(self.table.classes) != 2:
            raise DataError(
                f"an agent of kind {kind!r} {needs_two_classes()}; the table has "
                f"{len(self.table.classes)}: {', '.join(self.table.classes)}"
            )

    def observed(self, encoder: ValuesEncoder | CallableEncoder) -> Any:
        """The encoder's table of all sets where it is small, else the encoder itself."""
        n, a = self.recorded.shape
        if a <= MAX_ACTIONS_TABULATED and fits(n, a, encoder.width, TABLE_GIB):
            return tabulate(encoder, n, a, max_gib=TABLE_GIB)
        return encoder


def trained(stored: Saved, kind: str) -> Mapping[str, np.ndarray]:
    """A stored agent.

    Raises:
        ConfigError: there is nothing.
    """
    if not isinstance(stored, Mapping):
        raise ConfigError(f"an agent of kind {kind!r} acts by the results of `train_agent`")
    return stored


@dataclass(frozen=True, eq=False)
class Learned:
    """Output of training.

    Attributes:
        arrays: everything that the policy is except its settings.
        curve: how training went, one row per look.
    """

    arrays: Mapping[str, np.ndarray]
    curve: pd.DataFrame

    @classmethod
    def of_rules(
        cls,
        arrays: Mapping[str, np.ndarray],
        transitions: int,
        score: Sequence[float] | np.ndarray,
        price: Sequence[float] | np.ndarray,
    ) -> "Learned":
        """Rules that were chosen together, each with its score, out of fold, and mean price."""
        rows = {"mean_return": score, "acquisition_cost": price}
        return cls(arrays, pd.DataFrame({"transitions": [transitions] * len(score), **rows}))


@dataclass(frozen=True, eq=False)
class AgentKind:
    """One kind of acquisition agent, declared in a file of `acquire.policies` that bears its name.

    Attributes:
        name: `kind` in a config.
        build: (settings, layout, stored agent) → policy.
        fit: learns on records; None for kinds that need no training.
        settings: key → the name of a type of `config.blocks` or `config.learners`, `bool`, `str`,
            or a tuple of words; its meaning; its default where it has one.
        doc: a line for the pages.
        front: (rows, objective, settings, budgets) → the best policy within each budget, learnt at
            once; None for kinds that have no front in `diagnosis`.
        file: True where the policy is a file of one's own, named by the setting `file`.
        shares: names of blocks of `config.learners` whose settings it has too.
        runs_code: True where that file is a program.
        rows_only: True where the policy knows rows of its table and no values, so it has no
            answer to a new case.
        two_classes: True where the label must have two classes.
        acts_on_beliefs: True where `front` takes beliefs by a further argument `network`.
        names: setting → the part of a data set that it names: `panels`, the `dataset`, `steps` of a
            rule.
        graph: (`onnx_graph.State`, policy, member) → `GraphOutputs`, the decisions as formulas;
            None for kinds that other systems cannot run.
        several: (`TrainingData`, name, settings by name) → `PolicySet`, a way to choose panels in
            `diagnosis.selection`; None for kinds that are none.
        several_settings: of `several`, as `settings`.
        looks: method of `diagnosis` → place in tables and figures, label, colour by its word in
            `draw.style`, marker of matplotlib, and perhaps True for a hollow one.
    """

    name: str
    build: Callable[[Mapping[str, Any], Layout, Saved], Policy]
    fit: Callable[[Ground, Mapping[str, Any]], Learned] | None
    settings: Mapping[str, Any]
    doc: str
    front: Callable[..., Learned] | None = None
    file: bool = False
    shares: tuple[str, ...] = ()
    runs_code: bool = False
    rows_only: bool = False
    two_classes: bool = False
    acts_on_beliefs: bool = False
    names: Mapping[str, Literal["panels", "dataset", "steps"]] = field(default_factory=dict)
    graph: Callable[[Any, Any, int], Any] | None = None
    several: Callable[..., "PolicySet"] | None = None
    several_settings: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    looks: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)

    @property
    def needs(self) -> tuple[str, ...]:
        """Names of the settings that must be there, and no others."""
        return tuple(key for key in block_of(self.name).model_fields if key != "kind")


class _AgentKinds(Mapping[str, AgentKind]):
    """Every kind by its name; a module is imported for the kind that is requested.

    Torch takes seconds to import, and most kinds do without it when they only act.
    """

    def __getitem__(self, name: str) -> AgentKind:
        return load_one("frugal.acquire.policies", "AgentKind", name)

    def __iter__(self) -> Iterator[str]:
        return iter(declared_kinds())

    def __len__(self) -> int:
        return len(declared_kinds())


KINDS: Mapping[str, AgentKind] = _AgentKinds()


def kind_of(settings: Mapping[str, Any]) -> AgentKind:
    """The kind that a block of config names, its settings being there and no others.

    Raises:
        ConfigError: unknown kind, or a missing or unknown setting.
    """
    name = settings.get("kind")
    if not isinstance(name, str) or name not in KINDS:
        raise ConfigError(f"an agent is of kind {name!r}; allowed are {_listed(KINDS)}")
    kind = KINDS[name]
    allowed = ("kind", *kind.needs)
    if set(settings) != set(allowed):
        raise ConfigError(
            f"an agent of kind {name!r} has the settings {_listed(settings)}; "
            f"it takes exactly {_listed(allowed)}"
        )
    return kind


def build_policy(settings: Mapping[str, Any], *, table: Table, stored: Saved = None) -> Policy:
    """Agent described by `{kind: random, probability: 0.1}` or `{kind: fixed, panels: all}`.

    Args:
        settings: `kind` and the settings of this kind.
        table: on which it acts; its values are not read.
        stored: output of training of an agent that learns; None for the others.

    Returns:
        The policy.

    Raises:
        ConfigError: unknown kind, missing or unknown setting, unknown panel, column or level, no
            probability; or a trained agent without its arrays.
        DataError: the arrays are no such agent, or one of another table.
    """
    kind = kind_of(settings)
    layout = Layout.of(table)
    if kind.fit is not None and isinstance(stored, StoredArrays):
        made_for = read_header(stored.header)
        made_for.require_same(table, f"the stored policy {stored.source}")
        return each_of(stored, partial(kind.build, settings, layout))
    return kind.build(settings, layout, stored)


def train_bundle(settings: Mapping[str, Any], ground: Ground) -> tuple[Bundle, pd.DataFrame | None]:
    """A trained agent as its file holds it, and how training went; of one that does not, nothing.

    Raises:
        ConfigError: unknown kind, or a missing or unknown setting.
        DataError: the rows are none that this kind can learn from.
    """
    kind, arrays, curve = kind_of(settings), {}, None
    if kind.fit is not None:
        learned = kind.fit(ground, settings)
        arrays, curve = learned.arrays, learned.curve
    header = bundle_header(kind.name, settings, Layout.of(ground.table), ground.digest)
    return Bundle(header, arrays), curve


def end_shares(
    episodes: Episodes, world: World, classifier: TreeEnsemble | None
) -> Float[np.ndarray, "K n k"]:
    """Class probabilities at the end of each episode, the classifier's where a policy has none."""
    if episodes.verdict is not None:
        return episodes.verdict
    assert classifier is not None, "bug: the policy has no verdict, and there is no classifier"
    members, n, _ = episodes.acquired.shape
    at = np.tile(np.arange(n), members)
    visible = world.visible(at, episodes.acquired.reshape(members * n, -1))
    return predict_proba(classifier, visible, np.isfinite(visible)).reshape(members, n, -1)


def load_policy(stored: StoredArrays) -> tuple[Policy, Layout]:
    """A stored bundle as a policy, with nothing else at hand, and the layout it was made for.

    Raises:
        DataError: the file has no header, or is no such agent.
        ConfigError: its settings are not those of its kind.
    """
    layout = read_header(stored.header)
    assert stored.header is not None, "bug: a header was read"
    settings = stored.header["settings"]
    if settings.get("kind") != stored.header["kind"]:
        raise ConfigError(
            f"the stored policy {stored.source} is of kind {stored.header['kind']!r} and has the "
            f"settings of {settings.get('kind')!r}"
        )
    kind = kind_of(settings)
    if not learns(kind.name):  # its settings are all of it; a front has lists of them
        where = f"settings of the stored policy {stored.source}"
        block_of(kind.name).read(dict(settings), where=where)
    arrays = {name: array for name, array in stored.items() if not name.startswith(CLASSIFIER)}
    policy = StoredArrays(arrays, stored.source, stored.header)
    return each_of(policy, partial(kind.build, settings, layout)), layout


def _listed(names: Any) -> str:
    return ", ".join(map(str, names)) or "none"


@dataclass(frozen=True, eq=False)
class TrainingData:
    """Inputs of several policies of a kind at once, to be compared with learned fronts.

    Attributes:
        table: all rows.
        rows: part → its rows.
        world: of the table, panel costs divided by their mean.
        imputer: that completed the states, an `Imputer`.
        states: part → completed rows of its units.
        classifier: of completed rows, a `StateClassifier`.
        use: panels from the most to the least ordered by a front. (a,)
        streams: sources of all draws.
    """

    table: Table
    rows: Mapping[str, Int[np.ndarray, " n"]]
    world: World
    imputer: Any
    states: Mapping[str, TabulatedEncoder | CallableEncoder]
    classifier: Any
    use: Int[np.ndarray, " a"]
    streams: Streams

    def uniforms(self, name: str, part: str) -> Float[np.ndarray, "n A"]:
        """Uniform numbers of one way on one part. (n, a + 1)"""
        shape = (len(self.rows[part]), self.world.panels + 1)
        return self.streams.generator(name, part).random(shape)


@dataclass(frozen=True, eq=False)
class PolicySet:
    """K policies of one kind.

    Attributes:
        settings: λ, ρ and words of each.
        policies: with thresholds of the probability of illness, which are tuned afterwards.
        readings: part → inputs for its units.
    """

    settings: Sequence[tuple[float, float, str]]
    policies: Any
    readings: Mapping[str, StateEncoder]
