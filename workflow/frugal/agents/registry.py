"""From a block of config to an agent that needs no training.

It knows the names and settings of these agents and nothing of data, files or models; the study's
trained agents are made by their own modules.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Bool

from frugal.agents.fixed import FixedPolicy
from frugal.agents.random import RandomPolicy
from frugal.contracts import ConfigError, Policy

SETTINGS = {"fixed": ("panels",), "random": ("probability",)}


def build_policy(settings: Mapping[str, Any], *, actions: Sequence[str]) -> Policy:
    """Agent described by `{kind: random, probability: 0.1}` or `{kind: fixed, panels: all}`.

    Args:
        settings: `kind` and the setting that this kind needs; `panels` is `all`, `none` or a list
            of names.
        actions: name of each panel that can be acquired, in order.

    Returns:
        The policy.

    Raises:
        ConfigError: unknown kind, missing or unknown setting, unknown panel, no probability.
    """
    kind = settings.get("kind")
    if kind not in SETTINGS:
        raise ConfigError(f"an agent is of kind {kind!r}; allowed are {_listed(SETTINGS)}")
    allowed = ("kind", *SETTINGS[kind])
    if set(settings) != set(allowed):
        raise ConfigError(
            f"an agent of kind {kind!r} has the settings {_listed(settings)}; "
            f"it takes exactly {_listed(allowed)}"
        )
    if kind == "random":
        return RandomPolicy(_number(settings["probability"]))
    return FixedPolicy(_chosen_panels(settings["panels"], actions))


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
