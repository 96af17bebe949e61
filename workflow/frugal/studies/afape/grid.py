"""The grid of worlds of known truth that a config asks for: its steps, files and settings."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from frugal.core.errors import ConfigError

DRAWS_BETWEEN = {"resamples": 20, "convergence_sizes": []}  # what no table of the grid shows


@dataclass(frozen=True, eq=False)
class Grid:
    """The block `afape.grid` beside what it refers to.

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
        """Settings of `judge_world`."""
        return {
            "mechanism": mechanism,
            "missing_share": missing_share,
            **{name: self.own[name] for name in ("panels", "draws", "rows")},
            "agents": {name: self.agents[name] for name in self.own["agents"]},
            "nuisance": {**self.block["nuisance"], "method": self.own["nuisance_method"]},
            "evaluation": {**self.block["evaluation"], **DRAWS_BETWEEN},
        }


def require_grid_agents(block: Mapping[str, Any], agents: Sequence[str]) -> None:
    """Every agent of the grid is one of `afape.agents`, and acts by no file of one's own.

    Raises:
        ConfigError: it is not.
    """
    for name in block["grid"]["agents"]:
        if name not in agents:
            raise ConfigError(
                f"config: afape.grid.agents names {name!r}; under 'afape.agents' there are "
                f"{', '.join(agents)}"
            )
        if block["agents"][name]["kind"] == "python":
            raise ConfigError(
                f"config: afape.grid.agents names {name!r}, a function of one's own; allowed are "
                "agents that need no file"
            )
