"""How the jobs of a large scenario are divided: seeds among all jobs, rows among roll-outs.

Read by the Snakefile, so it imports nothing heavy. Knows rows, seeds and where files lie; nothing
of a job's computation.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from frugal.config.declared import kinds_with
from frugal.core.blocks import BLOCK_ROWS, rows_names, seeds_name
from frugal.core.errors import FrugalError
from frugal.data.description import Description
from frugal.data.raw import locate_file
from frugal.run.study import Study

_LONGEST_NAME = 100  # characters of a folder's name
_BY_LINES = ("csv", "arff")  # formats in which a line is a record
_BLOCK = 2**20


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


def table_rows(study: Study, recorded_rows: Mapping[str, int]) -> dict[str, int | None]:
    """Rows of each data set; None where neither its files nor `recorded_rows` show them."""
    mirror = study.config["data_mirror"]
    folder = None if mirror is None else Path(mirror)
    return {name: _rows(each, folder, recorded_rows) for name, each in study.descriptions.items()}


def _rows(
    described: Description, mirror: Path | None, recorded_rows: Mapping[str, int]
) -> int | None:
    """Rows of a table: of its parts, of its files where a line is a record, or as known."""
    if described.split.scheme == "counts":
        return sum(int(count) for count in described.split.parts.values())
    source = described.source
    if described.format is not None and described.format.kind in _BY_LINES:
        counts = [_lines(described, file.name, mirror) for file in source.files]
        if counts and None not in counts:
            each = [count for count in counts if count is not None]
            return max(each) if source.join else sum(each)
    return recorded_rows.get(described.name)


def _lines(described: Description, name: str, mirror: Path | None) -> int | None:
    try:
        path = locate_file(described, name, data_mirror=mirror)
    except FrugalError:
        return None
    if path is None or path.suffix == ".gz":
        return None
    with path.open("rb") as stream:
        return sum(block.count(b"\n") for block in iter(lambda: stream.read(_BLOCK), b""))
