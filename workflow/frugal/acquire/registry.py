"""The kinds of agents, and from a block of config or a stored bundle to an acquisition policy.

Knows names and settings of agents and the layout of a table, and nothing of values, files or how
agents are trained.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Bool

from frugal.acquire.kinds import AgentKind, Stored
from frugal.acquire.policies.fixed import FixedPolicy
from frugal.acquire.policies.random import RandomPolicy
from frugal.acquire.policies.rule import RulePolicy, rule_policy
from frugal.core.episodes import Policy
from frugal.core.errors import ConfigError
from frugal.core.layout import Layout, read_header
from frugal.core.stored import StoredArrays
from frugal.core.table import Table


def _random(settings: Mapping[str, Any], layout: Layout, stored: Stored) -> RandomPolicy:
    del layout, stored
    value = settings["probability"]
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ConfigError(f"the probability of a random agent is {value!r}; it must be a number")
    return RandomPolicy(float(value))


def _fixed(settings: Mapping[str, Any], layout: Layout, stored: Stored) -> FixedPolicy:
    del stored
    return FixedPolicy(_chosen_panels(settings["panels"], [p.name for p in layout.actions]))


def _rule(settings: Mapping[str, Any], layout: Layout, stored: Stored) -> RulePolicy:
    del stored
    return rule_policy(settings["steps"], layout)


RANDOM = AgentKind(
    "random", _random, None, ("probability",), "each available panel with one probability"
)
FIXED = AgentKind("fixed", _fixed, None, ("panels",), "the same panels for everyone")
RULE = AgentKind(
    "rule", _rule, None, ("steps",), "one's own rule: panels in order, each under conditions"
)
_NAMES = (
    "random", "fixed", "rule", "python", "dqn", "sb3", "sm_ddpo", "cwcf", "greedy", "dadi",
)  # fmt: skip


class _Kinds(Mapping[str, AgentKind]):
    """Every kind by its name; a module is imported for the kind that is asked for.

    Torch takes seconds to import, and most kinds do without it when they only act.
    """

    def __getitem__(self, name: str) -> AgentKind:
        here = {"random": RANDOM, "fixed": FIXED, "rule": RULE}
        return here[name] if name in here else _imported(name)

    def __iter__(self) -> Iterator[str]:
        return iter(_NAMES)

    def __len__(self) -> int:
        return len(_NAMES)


def _imported(name: str) -> AgentKind:
    """A kind with a module of its own; the imports are written out, as code digests follow them."""
    match name:
        case "python":
            from frugal.acquire.policies.python import PYTHON as kind
        case "dqn":
            from frugal.acquire.policies.dqn import DQN as kind
        case "sb3":
            from frugal.acquire.policies.sb3 import SB3 as kind
        case "sm_ddpo":
            from frugal.acquire.policies.sm_ddpo import SM_DDPO as kind
        case "cwcf":
            from frugal.acquire.policies.cwcf import CWCF as kind
        case "greedy":
            from frugal.acquire.policies.greedy import GREEDY as kind
        case "dadi":
            from frugal.acquire.policies.dadi import DADI as kind
        case _:
            raise KeyError(name)
    return kind


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
    return kind_of(settings).build(settings, layout, stored), layout


def _listed(names: Any) -> str:
    return ", ".join(map(str, names)) or "none"


def _chosen_panels(panels: Any, actions: Sequence[str]) -> Bool[np.ndarray, " a"]:
    """True where a panel is among those that the setting names. (a,)"""
    if panels == "all":
        return np.ones(len(actions), dtype=bool)
    if panels == "none":
        return np.zeros(len(actions), dtype=bool)
    if isinstance(panels, str) or not isinstance(panels, Sequence):
        raise ConfigError(
            f"a fixed agent has the panels {panels!r}; allowed are all, none, or a list of names"
        )
    for name in panels:
        if name not in actions:
            raise ConfigError(
                f"a fixed agent names panel {name!r}; panels to acquire are {_listed(actions)}"
            )
    return np.array([name in panels for name in actions], dtype=bool)
