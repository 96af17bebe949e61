"""Networks that choose panels, as policies: the panel of the largest margin, while it is enough.

Arrays in, decisions out. Knows no labels and no training.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float, Float32, Int

from frugal.acquire.kinds import Learned
from frugal.acquire.panel_networks import PanelNetworks, Says
from frugal.acquire.reading import Reading, panel_or_stop, tilted_belief, with_stop
from frugal.acquire.train.network_rules import NetworkRule
from frugal.acquire.train.tree_sets import DIGITS
from frugal.core.episodes import Traits
from frugal.core.layout import Layout
from frugal.core.stored import LARGEST, Array, part_of, under
from frugal.core.stored import Stored as Checked
from frugal.learn.masked_networks import MaskedNetworks

BELIEVER, CHOOSER = "believer.", "chooser."  # prefixes among the bundle's arrays
OWN = ("penalty", "chooser", "least", "calibration", "threshold")
_COMPARED = {"logits": "logit above stopping", "values": "nats per unit of price"}
WORDS: dict[Says, str] = {
    "logits": "a panel whose logit is {least:.3g} above that of stopping, at a penalty of "
    "{penalty:.3g} nats per unit of price",
    "values": "a panel that tells more than {least:.3g} nats per unit of price",
}


@dataclass(frozen=True, eq=False)
class NetworkPolicies(Reading):
    """K rules. Shapes: a panels, C choosers.

    Attributes:
        networks: C choosers, and what believes beside each.
        penalty: nats per unit of price that each chooser was trained for. (C,)
        chooser: of each rule. (K,)
        least: margin above which a panel is bought. (K,)
        calibration: intercept and slope of the believers' log-odds. (K, 2)
        threshold: belief from which on a unit is called ill. (K,)
    """

    networks: PanelNetworks
    penalty: Float[np.ndarray, " C"]
    chooser: Int[np.ndarray, " K"]
    least: Float[np.ndarray, " K"]
    calibration: Float[np.ndarray, "K 2"]
    threshold: Float[np.ndarray, " K"]

    @property
    def traits(self) -> Traits:
        """See `Traits`."""
        return Traits(
            consistent=True,
            compares=_COMPARED[self.networks.says],
            weigh=self.weigh,
            threshold=self.threshold,
        )

    @property
    def members(self) -> int:
        """K."""
        return len(self.least)

    def read(
        self, values: Float[np.ndarray, "m d"], acquired: Bool[np.ndarray, "m a"]
    ) -> Float32[np.ndarray, "m w"]:
        """Normal scores of what the state shows, and flags that say what it shows. (m, 2 d)"""
        del acquired
        return self.networks.believer.reads.read(values).astype(np.float32)

    def decide(
        self,
        reading: Float32[np.ndarray, "K m w"],
        acquired: Bool[np.ndarray, "K m a"],
        available: Bool[np.ndarray, "K m a"],
    ) -> Float[np.ndarray, "K m a+1"]:
        """1 for the next panel, or for "stop". (K, m, a + 1)"""
        weight = self.weigh(reading, acquired, available)
        margin, goes = weight[..., :-1], weight[..., :-1].max(axis=2) > weight[..., -1]
        return panel_or_stop(margin.argmax(axis=2), goes, acquired.shape[2])

    def weigh(
        self,
        reading: Float32[np.ndarray, "K m w"],
        acquired: Bool[np.ndarray, "K m a"],
        available: Bool[np.ndarray, "K m a"],
    ) -> Float[np.ndarray, "K m a+1"]:
        """Margin of each panel, then the least one that is bought. (K, m, a + 1)"""
        states = zip(self.chooser.tolist(), reading, acquired, available, strict=True)
        margin = np.stack([self.networks.margins(*one) for one in states])
        return with_stop(margin, self.least[:, None])

    def conclude(
        self, reading: Float32[np.ndarray, "K m w"], acquired: Bool[np.ndarray, "K m a"]
    ) -> Float[np.ndarray, "K m 2"]:
        """Class probabilities, tilted so that one half is the threshold. (K, m, 2)"""
        return tilted_belief(self.believe(reading, acquired), self.threshold[:, None])

    def believe(
        self, reading: Float32[np.ndarray, "K m w"], acquired: Bool[np.ndarray, "K m a"]
    ) -> Float[np.ndarray, "K m 2"]:
        """Class probabilities by the believers, calibrated. (K, m, 2)"""
        del acquired
        pairs = zip(self.chooser.tolist(), reading, strict=True)
        odds = np.stack([self.networks.log_odds(*one) for one in pairs])
        odds = self.calibration[:, :1] + self.calibration[:, 1:] * odds
        ill = np.round(1 / (1 + np.exp(-odds)), DIGITS)
        return np.stack([1 - ill, ill], axis=-1)

    def sentences(self, panels: Sequence[str]) -> list[str]:
        """What tells the rules apart, in words."""
        del panels
        words, penalty = WORDS[self.networks.says], self.penalty[self.chooser]
        return [
            f"{words.format(least=v, penalty=w)}; positive from {100 * t:.3g} % on"
            for v, w, t in zip(self.least, penalty, self.threshold, strict=True)
        ]

    def to_arrays(self) -> dict[str, np.ndarray]:
        """Everything the rules are; `from_arrays` is the inverse."""
        arrays = {name: getattr(self, name) for name in OWN}
        believer = self.networks.believer.to_arrays()
        arrays |= {BELIEVER + name: array for name, array in believer.items()}
        pairs = zip(self.networks.weights, self.networks.biases, strict=True)
        for layer, (weight, bias) in enumerate(pairs):
            arrays |= {f"{CHOOSER}{layer}.weight": weight, f"{CHOOSER}{layer}.bias": bias}
        return arrays

    @staticmethod
    def from_arrays(
        arrays: Mapping[str, np.ndarray], layout: Layout, says: Says
    ) -> "NetworkPolicies":
        """The rules that `to_arrays` wrote.

        Raises:
            DataError: the arrays are no such rules; the sentence says where.
        """
        names = [name for name in arrays if not name.startswith((BELIEVER, CHOOSER))]
        own = part_of(arrays, {name: name for name in names})
        stored = Checked("rules of networks", own)
        size = stored.require(
            {
                "penalty": Array("float64", ("C",), low=0.0),
                "chooser": Array("int64", ("K",), low=0),
                "least": Array("float64", ("K",), low=-LARGEST),
                "calibration": Array("float64", ("K", 2), low=-LARGEST),
                "threshold": Array("float64", ("K",), above=0, high=1),
            }
        )
        stored.require_between("chooser", 0, size["C"] - 1)
        believer = MaskedNetworks.from_arrays(under(arrays, BELIEVER), columns=len(layout.columns))
        if believer.count % size["C"]:
            raise stored.refusal(
                f"are for {size['C']} choosers; there are {believer.count} networks, and as many "
                "belong to each chooser"
            )
        chooser = _layers(under(arrays, CHOOSER), layout, says, believer.count)
        networks = PanelNetworks(
            says, believer.count // size["C"], believer, *chooser,
            layout.provides & ~layout.free_columns, layout.action_cost,
        )  # fmt: skip
        return NetworkPolicies(networks, *(own[name] for name in OWN))


def _layers(
    arrays: Mapping[str, np.ndarray], layout: Layout, says: Says, count: int
) -> tuple[tuple[np.ndarray, ...], tuple[np.ndarray, ...]]:
    """Weights and biases of the choosers, checked."""
    layers = sum(name.endswith(".weight") for name in arrays)
    told = len(layout.actions) + (says == "logits")
    widths = [2 * len(layout.columns), *(f"units {k}" for k in range(layers - 1)), told]
    wanted = {}
    for k in range(max(layers, 1)):
        shapes = {"weight": (count, widths[k], widths[k + 1]), "bias": (count, 1, widths[k + 1])}
        wanted |= {
            f"{k}.{part}": Array("float32", shape, low=-LARGEST) for part, shape in shapes.items()
        }
    Checked("choosers", arrays).require(wanted)
    weights, biases = (
        tuple(arrays[f"{k}.{part}"] for k in range(layers)) for part in ("weight", "bias")
    )
    return weights, biases


def learned_networks(
    networks: PanelNetworks,
    penalty: Float[np.ndarray, " C"],
    rules: Sequence[NetworkRule],
    *,
    transitions: int,
) -> Learned:
    """What training leaves; `mean_return` of the curve is the score of each rule, out of fold."""
    used = sorted({rule.chooser for rule in rules})
    policies = NetworkPolicies(
        networks.of(used), penalty[used],
        np.array([used.index(rule.chooser) for rule in rules]),
        np.array([rule.least for rule in rules]),
        np.array([rule.calibration for rule in rules]),
        np.array([rule.threshold for rule in rules]),
    )  # fmt: skip
    curve = pd.DataFrame(
        {
            "transitions": [transitions] * len(rules),
            "mean_return": [rule.score for rule in rules],
            "acquisition_cost": [rule.price for rule in rules],
        }
    )
    return Learned(policies.to_arrays(), curve)
