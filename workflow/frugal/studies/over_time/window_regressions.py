"""Means of targets in each window, for learners of policies over time: by trees, or by networks.

Each window has rows of three parts: part 0 is the cost where nothing is ordered, parts 1 and 2 are
its change by an order, on two halves of the units. Windows are fitted backwards. Both kinds have
one interface, `fit` and `predict`. Knows rows and columns; no panels, no policies.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float, Int

from frugal.config.learners import MaskedNetworkSettings
from frugal.core.errors import DataError
from frugal.core.stored import Array, Stored, under
from frugal.core.table import LARGEST
from frugal.learn.masked_networks import MaskedNetworks, fit_masked_means
from frugal.learn.tree_scoring import leaf_sums
from frugal.learn.trees import TreeEnsemble, fit_regression


@runtime_checkable
class WindowRegressions(Protocol):
    """Regressions of three parts in each window."""

    kind: ClassVar[str]
    method: ClassVar[str]

    def fit(
        self,
        window: int,
        inputs: Float[np.ndarray, "m f"],
        target: Float[np.ndarray, " m"],
        weight: Float[np.ndarray, " m"],
        part: Int[np.ndarray, " m"],
        rng: np.random.Generator,
        **settings: Any,
    ) -> None:
        """Learn the rows of a window; later windows are learned before."""
        ...

    def predict(
        self, window: int, parts: Sequence[int], inputs: Float[np.ndarray, "m f"]
    ) -> Float[np.ndarray, "p m"]:
        """Means of parts that have rows in this window. (p, m)"""
        ...

    def has(self, window: int, part: int) -> bool:
        """Whether a part can be predicted in this window."""
        ...

    def to_arrays(self) -> dict[str, np.ndarray]:
        """Everything the regressions are; `from_arrays` is the inverse."""
        ...


@dataclass(frozen=True, eq=False)
class WindowTrees:
    """Boosted trees of each window and part, by `WINDOW.PART`."""

    trees: dict[str, TreeEnsemble] = field(default_factory=dict)
    kind: ClassVar[str] = "trees"
    method: ClassVar[str] = "boosting"

    def fit(self, window, inputs, target, weight, part, rng, **settings) -> None:
        """See `WindowRegressions`; each window by itself."""
        for k in np.unique(part):
            at = part == k
            self.trees[f"{window}.{k}"] = fit_regression(
                inputs[at], target[at], weight[at], rng, **settings
            )

    def predict(self, window, parts, inputs) -> Float[np.ndarray, "p m"]:
        """See `WindowRegressions`. (p, m)"""
        observed, trees = ~np.isnan(inputs), [self.trees[f"{window}.{k}"] for k in parts]
        return np.stack([leaf_sums(each, inputs, observed)[:, 0] for each in trees])

    def has(self, window: int, part: int) -> bool:
        """See `WindowRegressions`."""
        return f"{window}.{part}" in self.trees

    def to_arrays(self) -> dict[str, np.ndarray]:
        """See `WindowRegressions`."""
        parts = {name: trees.to_arrays() for name, trees in self.trees.items()}
        return {f"{n}.{key}": array for n, part in parts.items() for key, array in part.items()}

    @staticmethod
    def from_arrays(arrays: Mapping[str, np.ndarray], columns: int) -> "WindowTrees":
        """The trees that `to_arrays` wrote, of some number of inputs.

        Raises:
            DataError: the arrays are no such trees.
        """
        trees = {}
        for name in sorted({name.rpartition(".")[0] for name in arrays}):
            trees[name] = TreeEnsemble.from_arrays(under(arrays, f"{name}."))
            if trees[name].columns != columns:
                raise DataError(
                    f"the stored policy over time has trees {name!r} of {trees[name].columns} "
                    f"inputs; its records have {columns}"
                )
        return WindowTrees(trees)


@dataclass(eq=False)
class SharedNetworks:
    """A network for each part, which learn in lock-step; windows share weights, and are an input.

    Attributes:
        networks: of the targets, standardised; None before a fit.
        centre, scale: of the targets of each network. (K,) each
    """

    networks: MaskedNetworks | None = None
    centre: Float[np.ndarray, " K"] = field(default_factory=lambda: np.zeros(0))
    scale: Float[np.ndarray, " K"] = field(default_factory=lambda: np.ones(0))
    _rows: list[tuple[np.ndarray, ...]] = field(default_factory=list, repr=False)
    kind: ClassVar[str] = "network"
    method: ClassVar[str] = "network"

    def fit(self, window, inputs, target, weight, part, rng, **settings) -> None:
        """See `WindowRegressions`; anew, with the rows of all later windows."""
        self._rows.append((self._inputs(window, inputs), target, weight, part))
        values, target, weight, part = (np.concatenate(of) for of in zip(*self._rows, strict=True))
        train = (part == np.arange(part.max() + 1)[:, None]) * weight
        self.networks, self.centre, self.scale = fit_masked_means(
            values,
            target,
            train,
            settings=MaskedNetworkSettings(**settings),
            rngs=rng.spawn(len(train)),
        )

    def predict(self, window, parts, inputs) -> Float[np.ndarray, "p m"]:
        """See `WindowRegressions`. (p, m)"""
        assert self.networks is not None
        scaled = self.networks.each(self._inputs(window, inputs)).T
        return (scaled * self.scale + self.centre).T[list(parts)]

    @staticmethod
    def _inputs(window: int, inputs: np.ndarray) -> np.ndarray:
        return np.column_stack([inputs, np.full(len(inputs), float(window))])

    def has(self, window: int, part: int) -> bool:
        """See `WindowRegressions`; windows share networks."""
        return self.networks is not None and part < self.networks.count

    def to_arrays(self) -> dict[str, np.ndarray]:
        """See `WindowRegressions`."""
        networks = {} if self.networks is None else self.networks.to_arrays()
        return {"centre": self.centre, "scale": self.scale, **networks}

    @staticmethod
    def from_arrays(arrays: Mapping[str, np.ndarray], columns: int) -> "SharedNetworks":
        """The networks that `to_arrays` wrote, of some number of inputs.

        Raises:
            DataError: the arrays are no such networks.
        """
        scaling = {name: arrays[name] for name in ("centre", "scale") if name in arrays}
        finite = Array("float64", ("K",), low=-LARGEST)
        Stored("policy over time", scaling).require({"centre": finite, "scale": finite})
        rest = {name: array for name, array in arrays.items() if name not in scaling}
        networks = MaskedNetworks.from_arrays(rest, columns=columns + 1) if rest else None
        return SharedNetworks(networks, scaling["centre"], scaling["scale"])


REGRESSIONS: dict[str, type[WindowTrees] | type[SharedNetworks]] = {
    "trees": WindowTrees,
    "network": SharedNetworks,
}
