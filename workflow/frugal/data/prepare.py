"""A data set ready for use: its table, the part of each row, and a report of what was done."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from frugal.config.dataset import ClinicalGenerator, Loans
from frugal.core.errors import ConfigError, DataError
from frugal.core.table import Belonging, Table
from frugal.data.belonging import belonging_of, columns_named
from frugal.data.bundled import load_bundled
from frugal.data.description import Description
from frugal.data.encoding import Encoded, encode
from frugal.data.loans import loan_applications
from frugal.data.parsing import RawTable, parse_files, raw_from_frame
from frugal.data.raw import verify_content, verify_sha256
from frugal.data.simulators import two_class_clusters
from frugal.data.splits import PART_NAMES, split_rows
from frugal.data.stays import read_stays
from frugal.data.tables import table_to_frames


@dataclass(frozen=True, eq=False)
class Prepared:
    """A data set ready for use.

    Attributes:
        encoded: all rows, in the order of the source.
        split: part name of each row, of those in `splits.PART_NAMES`. (n,)
        groups: names of the two groups; empty where there are none.
        belonging: groups that policies are judged in, and which rows belong together.
        report: what was read, dropped, drawn and split; holds plain JSON values only.
    """

    encoded: Encoded
    split: np.ndarray
    groups: tuple[str, ...]
    belonging: Belonging
    report: dict[str, Any]

    @property
    def table(self) -> Table:
        """All rows, in memory."""
        return self.encoded.table

    @property
    def units(self) -> dict[str, str]:
        """Encoded column → unit."""
        return self.encoded.units

    @property
    def sensitive(self) -> np.ndarray | None:
        """Group of each row, 0 or 1, or None. (n,)"""
        return self.encoded.sensitive

    def frames(self) -> Iterator[tuple[pd.DataFrame, dict[str, Any]]]:
        """Rows as they are stored, block by block, each with the catalogue of the table."""
        for number, rows in enumerate(self.encoded.columns.blocks):
            sensitive = None if self.sensitive is None else self.sensitive[rows]
            yield table_to_frames(
                self.encoded.block(number), self.split[rows], units=self.units,
                sensitive=sensitive, groups=self.groups,
                belonging=self.belonging.take(np.arange(rows.start, rows.stop)),
                report=self.report,
            )  # fmt: skip


def prepare(description: Description, raw_files: Mapping[str, Path], rng_seed: int) -> Prepared:
    """The table of a data set and its split.

    What the data set is (simulated rows, drawn costs) follows from the seeds in its description
    alone; who falls in which part follows from the description's split seed and `rng_seed`.

    Args:
        description: the data set.
        raw_files: name of each raw file → where it lies; empty if simulated or bundled.
        rng_seed: seed of this run, zero or above.

    Raises:
        DataError, ConfigError: the raw data do not hold what the description says.
    """
    raw = read_raw(description, raw_files)
    encoded = encode(raw, description)
    label, group = encoded.label, raw.group[encoded.kept]
    belonging = belonging_of(raw, np.flatnonzero(encoded.kept), description)
    del raw  # the cells as text take as much memory as the table
    pa.default_memory_pool().release_unused()
    try:
        split = split_rows(
            label, group, description.split, rng_seed=rng_seed, cluster=belonging.cluster,
            cluster_name=description.cluster or "",
            classes=description.label.classes,
        )  # fmt: skip
    except DataError as error:
        raise DataError(f"data set {description.name!r}: {error}") from None
    report = {
        "name": description.name,
        "title": description.title,
        "note": description.note,
        "cost_unit": description.cost_unit,
        "missing_values": description.missing_values,
        "sensitive": description.sensitive,
        **encoded.report,
        "columns_left_out": [
            name
            for name in encoded.report["columns_left_out"]
            if name not in columns_named(description)
        ],
        "parts": {
            part: {
                "rows": int((split == part).sum()),
                "class_rows": np.bincount(
                    label[split == part], minlength=len(description.label.classes)
                ).tolist(),
            }
            for part in (*PART_NAMES, *description.split.parts)
            if (split == part).any()
        },
    }
    groups = () if description.groups is None else description.groups.names
    return Prepared(encoded, split, groups, belonging, report)


def read_raw(description: Description, raw_files: Mapping[str, Path]) -> RawTable:
    """Raw records of a data set, from its files, its library or its simulator.

    Raises:
        DataError: a file is not the one that the description means (by its SHA-256).
    """
    source = description.source
    if source.generator is not None:
        rows = int(sum(description.split.parts.values()))
        return raw_from_frame(_simulated(description, rows), source=source.generator.name)
    if source.loader is not None:
        return raw_from_frame(load_bundled(source.loader), source=source.loader)
    if description.format is None:
        raise ConfigError(f"data set {description.name!r} has no source")
    for file in source.files:
        if file.name in raw_files:
            if file.sha256 is not None:
                verify_sha256(raw_files[file.name], file.sha256)
            verify_content(raw_files[file.name], file.content_sha256)
    match description.format.kind:
        case "stays":
            return read_stays(description, raw_files)
        case "mimic_aki" | "mimic_sepsis":
            from frugal.data.mimic_diagnosis import mimic_diagnosis  # DuckDB, only where needed

            cohort = mimic_diagnosis(raw_files, task=description.format.kind.removeprefix("mimic_"))
            return raw_from_frame(cohort, source=source.files[0].name)
        case _:
            return parse_files(description, raw_files)


def _simulated(description: Description, rows: int) -> pd.DataFrame:
    """Rows of the simulator that the description names."""
    generator = description.source.generator
    if isinstance(generator, ClinicalGenerator):
        from frugal.data.clinical_simulator import clinical_world, sample_patients  # SciPy

        rng = np.random.default_rng(generator.seed)
        return sample_patients(clinical_world(generator), rows, rng=rng)
    if isinstance(generator, Loans):
        return loan_applications(rows=rows, divisor=generator.divisor, seed=generator.seed)
    assert generator is not None  # the caller has looked
    return two_class_clusters(
        generator,
        rows=rows,
        features=len(description.columns),
        classes=len(description.label.classes),
    )
