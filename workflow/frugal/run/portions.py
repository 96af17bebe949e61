"""How the jobs of a large scenario are divided: seeds among all jobs, rows among roll-outs.

Read by the Snakefile, so it imports nothing heavy. Knows rows, seeds and where files lie; nothing
of a job's computation.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from frugal.config.declared import kinds_with
from frugal.core.blocks import BLOCK_ROWS, rows_names, seeds_name
from frugal.run.study import Study

_LONGEST_NAME = 100  # characters of a folder's name


@dataclass(frozen=True)
class Portions:
    """The portions of every scenario of `afape`, by `afape.job_rows`.

    Attributes:
        study: the config.
        rows: of each data set's table; None where that is unknown before it is made. Such a table
            is not divided.
    """

    study: Study
    rows: Mapping[str, int | None]

    @property
    def most(self) -> int:
        """Rows that a job takes, over all of its seeds."""
        return self.study.config["afape"]["job_rows"]

    @cached_property
    def divided(self) -> list[str]:
        """Data sets whose seeds are judged by several jobs."""
        return [name for name in self.rows if len(self._seeds(name)) > 1]

    def seeds(self, dataset: str) -> list[str]:
        """Folder of each portion of the seeds; one empty name where they are one job's."""
        if dataset not in self.divided:
            return [""]
        return [f"/seeds={seeds_name(some)}" for some in self._seeds(dataset)]

    def row_folders(self, dataset: str, agent: str) -> list[str]:
        """Folder of each portion of the rows that a policy is rolled out on; one empty name if all.

        States that a table lacks are searched in all rows, so one job plays it.
        """
        rows, each = self.rows.get(dataset), max(self.most // BLOCK_ROWS, 1) * BLOCK_ROWS
        if rows is None or rows <= max(self.most, BLOCK_ROWS):
            return [""]
        knows_rows = self.study.agents[agent]["kind"] in kinds_with("rows_only")
        return [f"/rows={name}" for name in rows_names(0 if knows_rows else rows, each)]

    def rollouts(self, dataset: str, mechanism: str, name: str, seeds: str) -> list[str]:
        """A file of every agent's rollouts, portion after portion of the rows.

        Args:
            dataset: of the scenario.
            mechanism: likewise.
            name: of the file.
            seeds: one of `seeds`.
        """
        place = f"results/rollouts/dataset={dataset}/mechanism={mechanism}{seeds}"
        return [
            f"{place}/agent={agent}{rows}/{name}"
            for agent in self.study.agents
            for rows in self.row_folders(dataset, agent)
        ]

    def files(self, dataset: str, mechanism: str, folder: str, name: str) -> list[str]:
        """A file of every portion of the seeds, in `results/<folder>`."""
        place = f"results/{folder}/dataset={dataset}/mechanism={mechanism}"
        return [f"{place}{seeds}/{name}" for seeds in self.seeds(dataset)]

    def _seeds(self, dataset: str) -> list[list[int]]:
        seeds = list(self.study.config["afape"]["seeds"])
        rows = self.rows.get(dataset)
        each = len(seeds) if rows is None else max(self.most // max(rows, 1), 1)
        if each >= len(seeds):
            return [seeds]
        groups: list[list[int]] = [[]]
        for seed in seeds:
            more = [*groups[-1], seed]
            if len(more) > each or len(seeds_name(more)) > _LONGEST_NAME:
                groups.append([seed])
            else:
                groups[-1] = more
        return groups
