"""From a block of config, and what training left of an agent, to an acquisition policy.

It knows the names and settings of agents and the names of panels and columns, and nothing of
values, files or how agents are trained.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Bool

from frugal.agents.fixed import FixedPolicy
from frugal.agents.q_policy import QPolicy
from frugal.agents.random import RandomPolicy
from frugal.agents.rule import rule_policy
from frugal.contracts import ConfigError, Policy, Table

SETTINGS = {"fixed": ("panels",), "random": ("probability",), "rule": ("steps",)}
TRAINED = ("dqn",)


def build_policy(
    settings: Mapping[str, Any],
    *,
    table: Table,
    stored: Mapping[str, np.ndarray] | None = None,
) -> Policy:
    """Agent described by `{kind: random, probability: 0.1}` or `{kind: fixed, panels: all}`.

    `{kind: rule, steps: […]}` is one's own policy, see `rule.rule_policy`. A trained agent,
    `{kind: dqn, …}`, is rebuilt from its arrays; its settings are for training.

    Args:
        settings: `kind` and the setting that this kind needs; `panels` is `all`, `none` or a list
            of names.
        table: whose panels and columns the settings name; its values are not read.
        stored: arrays of a trained agent, None for the others.

    Returns:
        The policy.

    Raises:
        ConfigError: unknown kind, missing or unknown setting, unknown panel, column or level, no
            probability; or a trained agent without its arrays.
        DataError: the arrays are no trained agent, or one of another table.
    """
    kind = settings.get("kind")
    if kind in TRAINED:
        if stored is None:
            raise ConfigError(
                f"an agent of kind {kind!r} acts by what `train_agent` made; "
                "its policy.safetensors is not among the inputs"
            )
        return QPolicy.from_arrays(stored).require_table(table)
    if kind not in SETTINGS:
        raise ConfigError(
            f"an agent is of kind {kind!r}; allowed are {_listed([*SETTINGS, *TRAINED])}"
        )
    allowed = ("kind", *SETTINGS[kind])
    if set(settings) != set(allowed):
        raise ConfigError(
            f"an agent of kind {kind!r} has the settings {_listed(settings)}; "
            f"it takes exactly {_listed(allowed)}"
        )
    if kind == "random":
        return RandomPolicy(_number(settings["probability"]))
    if kind == "rule":
        return rule_policy(settings["steps"], table)
    return FixedPolicy(_chosen_panels(settings["panels"], [p.name for p in table.actions]))


def _listed(names: Any) -> str:
    return ", ".join(map(str, names)) or "none"


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ConfigError(f"the probability of a random agent is {value!r}; it must be a number")
    return float(value)


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
