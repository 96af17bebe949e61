"""The grid of worlds of afape: which there are, their files and the settings of each."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

from frugal.core.errors import ConfigError
from frugal.core.schema_check import listed

CLEAR = 4.0  # standard errors of the best policy's estimate: a lead that a verdict should see
DRAWS_BETWEEN = {"resamples": 20, "convergence_sizes": []}  # what no table of the grid shows


@dataclass(frozen=True, eq=False)
class Grid:
    """The block `afape.grid` with the blocks it refers to.

    Attributes:
        block: `afape`.
        agents: name → settings, without those that are null.
    """

    block: Mapping[str, Any]
    agents: Mapping[str, Any]

    @property
    def own(self) -> Mapping[str, Any]:
        """The block `afape.grid`."""
        return self.block["grid"]

    def files(self, name: str) -> list[str]:
        """A file of every world."""
        return [
            f"results/grid/dataset={dataset}/mechanism={mechanism}/missing_share={share:g}/{name}"
            for dataset, mechanism, share in product(
                self.own["datasets"], self.own["mechanisms"], self.own["missing_shares"]
            )
        ]

    def settings(self, mechanism: str, missing_share: float) -> dict[str, Any]:
        """Settings of `judge_world`.

        Raises:
            ConfigError: each agent that is left acts by a file.
        """
        agents = {n: self.agents[n] for n in self.own["agents"] if n in self.agents}
        if not agents:
            raise ConfigError(
                f"config: afape.grid.agents names {listed(self.own['agents'])}, and each of them "
                "is null under 'afape.agents'; name one that is there, and needs no file"
            )
        return {
            "mechanism": mechanism,
            "missing_share": missing_share,
            **{name: self.own[name] for name in ("panels", "draws", "rows", "imputed_draws")},
            "imputation": self.block["imputation"],
            "agents": agents,
            "nuisance": {**self.block["nuisance"], "method": self.own["nuisance_method"]},
            "evaluation": {
                **self.block["evaluation"],
                **DRAWS_BETWEEN,
                "hidden_causes": {**self.block["evaluation"]["hidden_causes"], "gammas": [1.0]},
            },
        }
