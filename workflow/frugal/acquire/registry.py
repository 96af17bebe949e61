"""The kinds of agents, and from a block of config or a stored bundle to an acquisition policy.

Knows names and settings of agents and the layout of a table, and nothing of values, files or how
agents are trained.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float

from frugal.acquire.kinds import AgentKind, Ground, Stored
from frugal.config.declared import declared_kinds
from frugal.core.declarations import load_one
from frugal.core.episodes import Episodes, Policy
from frugal.core.errors import ConfigError
from frugal.core.layout import Bundle, Layout, bundle_header, read_header
from frugal.core.stored import StoredArrays
from frugal.core.table import Table
from frugal.core.world import World
from frugal.learn.tree_scoring import predict_proba
from frugal.learn.trees import TreeEnsemble

CLASSIFIER = "asked_classifier."  # prefix, in the file of a policy that only stops


class _Kinds(Mapping[str, AgentKind]):
    """Every kind by its name; a module is imported for the kind that is asked for.

    Torch takes seconds to import, and most kinds do without it when they only act.
    """

    def __getitem__(self, name: str) -> AgentKind:
        return load_one("frugal.acquire.policies", "AgentKind", name)

    def __iter__(self) -> Iterator[str]:
        return iter(declared_kinds())

    def __len__(self) -> int:
        return len(declared_kinds())


KINDS: Mapping[str, AgentKind] = _Kinds()


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


def build_policy(settings: Mapping[str, Any], *, table: Table, stored: Stored = None) -> Policy:
    """Agent described by `{kind: random, probability: 0.1}` or `{kind: fixed, panels: all}`.

    Args:
        settings: `kind` and what this kind needs.
        table: on which it acts; its values are not read.
        stored: what training left of an agent that learns; None for the others.

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
    episodes: Episodes, world: World, classifier: TreeEnsemble
) -> Float[np.ndarray, "K n k"]:
    """Class probabilities at the end of each episode, the classifier's where a policy has none."""
    if episodes.verdict is not None:
        return episodes.verdict
    members, n, _ = episodes.acquired.shape
    at = np.tile(np.arange(n), members)
    seen = world.visible(at, episodes.acquired.reshape(members * n, -1))
    return predict_proba(classifier, seen, np.isfinite(seen)).reshape(members, n, -1)


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
    arrays = {name: array for name, array in stored.items() if not name.startswith(CLASSIFIER)}
    policy = StoredArrays(arrays, stored.source, stored.header)
    return kind_of(settings).build(settings, layout, policy), layout


def _listed(names: Any) -> str:
    return ", ".join(map(str, names)) or "none"
