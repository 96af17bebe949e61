"""Policies that acquire the same panels for everyone: the kind `fixed`, and fixed classifiers.

They must not know feature values, costs or labels. "All" is the agent for which AFAIS and IPW
coincide [afape, sec. 3.4.2]. Classifiers that each see one set of panels are the baselines of full
observation and of fixed panels [diagnosis, table 2].
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from frugal.acquire.kinds import AgentKind, PolicySet, Saved, TrainingData
from frugal.acquire.onnx_graph import GraphOutputs, State
from frugal.acquire.reading import SingleWithoutVerdict, panel_or_stop
from frugal.core.episodes import Belief, Law, Panels, Traits, Values
from frugal.core.errors import ConfigError
from frugal.core.layout import Layout


@dataclass(frozen=True, eq=False)
class FixedPolicy(SingleWithoutVerdict):
    """Acquires its panels in index order, leaving out those that are not available, then stops.

    Attributes:
        panels: True where a panel is acquired. (a,)
    """

    panels: Bool[np.ndarray, " a"]

    @property
    def traits(self) -> Traits:
        """See `Traits`."""
        return Traits(reads_values=False, consistent=True)

    def action_probabilities(self, values: Values, acquired: Panels, available: Panels) -> Law:
        """1 for the first panel that is wanted and left, else for "stop". (1, m, a + 1)"""
        next_panels = np.pad(
            self.panels & available & ~acquired, ((0, 0), (0, 0), (0, 1)), constant_values=True
        )
        result = np.zeros(next_panels.shape)
        np.put_along_axis(result, next_panels.argmax(axis=2)[..., None], 1.0, axis=2)
        return result


def build(settings: Mapping[str, Any], layout: Layout, stored: Saved) -> FixedPolicy:
    """The panels of the settings.

    Raises:
        ConfigError: one of them is none to acquire.
    """
    return FixedPolicy(_chosen_panels(settings["panels"], [p.name for p in layout.actions]))


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
                f"a fixed agent names panel {name!r}; panels to acquire are "
                f"{', '.join(actions) or 'none'}"
            )
    return np.array([name in panels for name in actions], dtype=bool)


def _graph(state: State, policy: Any, member: int) -> GraphOutputs:
    """A fixed set of panels, in their order."""
    next_panels = (state.open & policy.panels[None]).of_kind("d")
    return GraphOutputs(state.panel_or_stop(next_panels, next_panels.max() > 0), None)


@dataclass(frozen=True, eq=False)
class FixedClassifiers:
    """K members; each acquires its panels in index order, then its classifier predicts.

    Attributes:
        panels: that each member acquires, as far as a unit has them. (K, a)
        classifiers: (visible values, NaN where unknown (m, d)) → probability of the second class.
        threshold: of that probability, from which a member predicts the class. (K,)
    """

    panels: Bool[np.ndarray, "K a"]
    classifiers: Sequence[Callable[[np.ndarray], np.ndarray]]
    threshold: Float[np.ndarray, " K"]

    @property
    def traits(self) -> Traits:
        """See `Traits`."""
        return Traits(threshold=self.threshold)

    @property
    def members(self) -> int:
        """K."""
        return len(self.classifiers)

    def action_probabilities(self, values: Values, acquired: Panels, available: Panels) -> Law:
        """1 for the first panel that is wanted and left, else for "stop". (K, m, a + 1)"""
        next_panels = self.panels[:, None] & available & ~acquired
        return panel_or_stop(
            next_panels.argmax(axis=2), np.asarray(next_panels.any(axis=2)), next_panels.shape[2]
        )

    def predict(self, values: Values, acquired: Panels) -> Belief:
        """Probabilities of the two classes. (K, m, 2)"""
        risk = np.stack(
            [
                classifier(visible)
                for classifier, visible in zip(self.classifiers, values, strict=True)
            ]
        )
        return np.stack([1 - risk, risk], axis=2)


def _several(data: TrainingData, name: str, *, lengths: list[int]) -> PolicySet:
    """The panels that the front orders most, for everyone (FS)."""
    from frugal.acquire.train.state_classifier import selected  # torch

    return selected(data, data.use, lengths)


FIXED = AgentKind(
    name="fixed",
    build=build,
    fit=None,
    settings={"panels": ("Panels", "all, none, or a list of panel names")},
    doc="the same panels for everyone",
    names={"panels": "panels"},
    graph=_graph,
    looks={"fixed": (160, "fixed selection", "purple", "P")},
    several=_several,
    several_settings={
        "lengths": ("Counts", "panels of each solution, as the first method", [1, 2])
    },
)
