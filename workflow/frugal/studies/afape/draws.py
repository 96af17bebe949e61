"""One draw of rows and gaps, judged from masks to a verdict by the stages themselves, in memory.

For simulations of many draws, in which a file for each step would cost more than the step.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from frugal.core.rows import FrameRows, Partitions
from frugal.core.stored import StoredArrays
from frugal.core.streams import Streams
from frugal.results.replacing import together
from frugal.studies.afape.stages.agents import roll_out
from frugal.studies.afape.stages.estimates import estimate_costs, fit_nuisances
from frugal.studies.afape.stages.records import check_graph, impute_features
from frugal.studies.afape.stages.tables import give_verdicts

_NO_COPY = pd.DataFrame({"row_id": [], "seed": [], "method": [], "draw": []})
_WHERE = {"dataset": "drawn", "mechanism": "drawn"}


@dataclass(frozen=True, eq=False)
class Drawn:
    """Rows with gaps, and every policy's episodes on them.

    Attributes:
        stored: inputs `table`, `catalogue`, `masks`, `graph`, `identification` of the stages.
        blocked: agent → its episodes on the records.
        worlds: agent → its episodes elsewhere.
    """

    stored: Mapping[str, Any]
    blocked: Mapping[str, pd.DataFrame]
    worlds: Mapping[str, pd.DataFrame]


@dataclass(frozen=True, eq=False)
class Judges:
    """What is the same in all draws.

    Attributes:
        classifier: its arrays.
        agents: name → settings.
        policies: files of those that learn, by name.
        nuisance: settings of `fit_nuisances`, without its agents.
        evaluation: settings of `estimate_costs`.
        root: of all streams.
    """

    classifier: Mapping[str, np.ndarray]
    agents: Mapping[str, Mapping[str, Any]]
    policies: Mapping[str, StoredArrays]
    nuisance: Mapping[str, Any]
    evaluation: Mapping[str, Any]
    root: int

    def play(
        self, stored: Mapping[str, Any], draw: int, imputation: Mapping[str, Any] | None = None
    ) -> Drawn:
        """Every policy on one draw, and on imputed copies of it where settings say how."""
        blocked, worlds = {}, {}
        copies = {"imputed": _NO_COPY, "rounds": _NO_COPY}
        if imputation is not None:
            of_rows = {name: stored[name] for name in ("table", "catalogue", "masks")}
            copies = together(impute_features(
                **of_rows, settings=imputation, streams=self._streams("impute_features", draw),
                progress=_quiet,
            ))  # fmt: skip
        for name, settings in self.agents.items():
            filed: dict[str, Any] = {"policy": self.policies[name]} if name in self.policies else {}
            made = together(roll_out(
                **stored, **copies, classifier=self.classifier, settings=settings,
                streams=self._streams("roll_out", draw, agent=name), progress=_quiet, **filed,
            ))  # fmt: skip
            blocked[name], worlds[name] = made["blocked"], made["worlds"]
        return Drawn(stored, blocked, worlds)

    def judge(self, drawn: Drawn, draw: int) -> dict[str, pd.DataFrame]:
        """Estimates, comparisons, the check of the graph, and a verdict.

        Returns:
            `estimates`, `comparisons`, `graph_check` and `verdicts` as the stages make them.
        """
        filed: dict[str, Any] = {f"policy_{k}": one for k, one in enumerate(self.policies.values())}
        nuisances = together(fit_nuisances(
            **drawn.stored, blocked=_by_agent(drawn.blocked),
            settings={**self.nuisance, "agents": self.agents, "filed": list(self.policies)},
            streams=self._streams("fit_nuisances", draw), progress=_quiet, **filed,
        ))  # fmt: skip
        estimated = estimate_costs(
            **drawn.stored, blocked=_by_agent(drawn.blocked), worlds=_by_agent(drawn.worlds),
            propensities=nuisances["propensities"], agents=nuisances["agents"],
            settings=self.evaluation, streams=self._streams("estimate_costs", draw),
            progress=_quiet,
        )  # fmt: skip
        given = {k: v for k, v in drawn.stored.items() if k != "graph"}
        checked = check_graph(
            **given, propensities=nuisances["propensities"], settings={},
            streams=self._streams("check_graph", draw), progress=_quiet,
        )["graph_check"]  # fmt: skip
        names = ("estimates", "comparisons", "groups", "sensitivity", "tipping")
        found = {name: estimated[name].assign(**_WHERE) for name in names}
        told = give_verdicts(
            summary=found["estimates"], comparisons=found["comparisons"],
            groups=found["groups"], sensitivity=found["sensitivity"], tipping=found["tipping"],
            graph_check=checked.assign(**_WHERE),
            settings={
                "cost_units": {"drawn": ""}, "gammas": self.evaluation["hidden_causes"]["gammas"],
                "margin": 0.0,  # which of these verdicts are the best does not depend on it
            },
            streams=self._streams("give_verdicts", draw), progress=_quiet,
        )  # fmt: skip
        return found | {"graph_check": checked, "verdicts": told["verdicts"]}

    def _streams(self, stage: str, draw: int, **more: str) -> Streams:
        return Streams(self.root, stage, {**_WHERE, "draw": str(draw), **more})


def _by_agent(frames: Mapping[str, pd.DataFrame]) -> Partitions:
    each = list(frames.values())
    return Partitions([{"agent": name} for name in frames], lambda k: FrameRows(each[k]))


def _quiet(rows: Any, **_: Any) -> Any:
    return rows
