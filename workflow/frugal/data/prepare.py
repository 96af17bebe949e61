"""A data set ready for use: its table, the part and group of each row, and a report.

Which rows belong together, and to which group a row belongs, serves evaluation by group and methods
that count rows that belong together as one.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from jaxtyping import Int

from frugal.config.dataset import ClinicalGenerator, Loans
from frugal.core.errors import ConfigError, DataError, shown_cell
from frugal.core.schema_check import listed
from frugal.core.table import Belonging, Table
from frugal.data.description import Classes, Description
from frugal.data.encoding import Encoded, class_index, encode
from frugal.data.guessing import label_stated, stated_in
from frugal.data.parsing import RawTable, parse_files, raw_from_frame, text_column
from frugal.data.raw import verify_content, verify_sha256
from frugal.data.splits import FOLDS, PART_NAMES, copied, split_rows, with_copies
from frugal.data.stays import read_stays
from frugal.data.tables import table_to_frames

NOT_RECORDED = "not recorded"  # name of the group of rows whose column has no value
MOST_GROUPS = 20
NAMING_LEVELS = 30  # of a column; one that names units has more


@dataclass(frozen=True, eq=False)
class Prepared:
    """A data set ready for use.

    Attributes:
        encoded: all rows, in the order of the source.
        split: part name of each row, of those in `splits.PART_NAMES`. (n,)
        groups: names of the two groups; empty where there are none.
        belonging: groups that policies are judged in, and which rows belong together.
        report: rows read, dropped, drawn and split; holds plain JSON values only.
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
                self.encoded.block(number),
                self.split[rows],
                units=self.units,
                sensitive=sensitive,
                groups=self.groups,
                belonging=self.belonging.take(np.arange(rows.start, rows.stop)),
                report=self.report,
            )


def prepare(description: Description, raw_files: Mapping[str, Path], rng_seed: int) -> Prepared:
    """The table of a data set and its split.

    The data set (simulated rows, drawn costs) follows from the seeds in its description
    alone; who falls in which part follows from the description's split seed and `rng_seed`.

    Args:
        description: the data set.
        raw_files: name of each raw file → where it lies; empty if simulated or bundled.
        rng_seed: seed of this run, zero or above.

    Raises:
        DataError, ConfigError: the raw data do not agree with the description.
    """
    raw = read_raw(description, raw_files)
    encoded = encode(raw, description)
    label, group = encoded.label, raw.group[encoded.retained]
    belonging = belonging_of(raw, np.flatnonzero(encoded.retained), description)
    del raw  # the cells as text take as much memory as the table
    pa.default_memory_pool().release_unused()
    order, cluster = np.arange(len(label)), belonging.cluster
    if description.split.scheme == FOLDS and description.missing_values != "induced":
        order = encoded.table.content_order
        if cluster is None:  # else a policy is judged on the row that it learned from
            cells = pd.DataFrame(encoded.table.values).assign(label=label)
            cluster = with_copies(cells, len(description.split.parts))
    try:
        split = split_rows(
            label[order],
            group[order],
            description.split,
            rng_seed=rng_seed,
            cluster=None if cluster is None else pd.factorize(cluster[order])[0],
            cluster_name=description.cluster or "",
            classes=description.label.classes,
        )
    except DataError as error:
        raise DataError(f"data set {description.name!r}: {error}") from None
    split = split[order.argsort()]
    numeric, number = encoded.layout.numeric, encoded.number
    if numeric is not None and number is not None:  # what policies may learn; folds are no test
        means = numeric.mean_costs(number[split != "test"])
        encoded = replace(encoded, layout=replace(encoded.layout, misclassification_cost=means))
        least = float(numeric.costs(number).min(axis=1).mean())
        encoded.report["predicts"] = (
            f"It predicts {description.label.column}: {listed(description.label.classes)}, at "
            f"{numeric.price:g} {description.cost_unit} per unit of {numeric.loss} error; always "
            f"predicting the nearest of these would cost {least:.3g} a case."
        )
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
            if name not in description.apart_columns
        ],
        "parts": {
            part: {
                "rows": int((split == part).sum()),
                "class_rows": np.bincount(
                    label[(split == part) & (label >= 0)], minlength=len(description.label.classes)
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
        from frugal.data.simulators import load_bundled  # SciPy

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
    from frugal.data import simulators  # SciPy

    generator = description.source.generator
    if isinstance(generator, ClinicalGenerator):
        world, rng = simulators.clinical_world(generator), np.random.default_rng(generator.seed)
        return simulators.sample_patients(world, rows, rng=rng)
    if isinstance(generator, Loans):
        return simulators.loan_applications(
            rows=rows, divisor=generator.divisor, seed=generator.seed
        )
    assert generator is not None  # the caller has looked
    return simulators.two_class_clusters(
        generator,
        rows=rows,
        features=len(description.columns),
        classes=len(description.label.classes),
    )


def belonging_of(raw: RawTable, rows: np.ndarray, description: Description) -> Belonging:
    """Groups and clusters of the kept records.

    Args:
        raw: all records.
        rows: positions of the kept ones. (n,)
        description: of the data set.

    Raises:
        DataError: a column is absent, holds one group or too many, or a row belongs to none.
    """
    missing = description.format.missing if description.format else ()
    raw_names = {column.name: column.raw_name for column in description.columns}
    group, names = _groups(raw, rows, description.judged_groups, raw_names, missing)
    cluster = None
    if description.cluster is not None:
        cluster = _clusters(
            raw, rows, raw_names.get(description.cluster, description.cluster), missing
        )
    return Belonging(group, names, cluster)


def _groups(
    raw: RawTable,
    rows: np.ndarray,
    grouping: Classes | str | None,
    raw_names: Mapping[str, str],
    missing: Iterable[str],
) -> tuple[Int[np.ndarray, " n"] | None, tuple[str, ...]]:
    """Index of each row's group, and the names; None without groups."""
    if grouping is None:
        return None, ()
    if isinstance(grouping, Classes):
        return class_index(raw, rows, grouping, missing, key="groups.groups"), grouping.names
    text = text_column(raw, raw_names.get(grouping, grouping), missing, "groups")[rows]
    index, names = pd.factorize(text, sort=True)
    if len(names) > MOST_GROUPS:
        raise DataError(
            f"{raw.source[0]}: column {grouping!r}, which 'groups' names, holds {len(names)} "
            f"different values; allowed are {MOST_GROUPS}. Write ranges or lists of values: a "
            "mapping of 'column' and 'groups'"
        )
    group_names = [str(name) for name in names]
    if (index < 0).any():
        index = np.where(index < 0, len(group_names), index)
        group_names.append(NOT_RECORDED)
    if len(group_names) < 2:
        raise DataError(
            f"{raw.source[0]}: column {grouping!r}, which 'groups' names, holds "
            f"{shown_cell(group_names[0]) if group_names else 'no value'} alone; "
            "two groups are needed at least"
        )
    return index.astype(np.int64), tuple(group_names)


def _clusters(
    raw: RawTable, rows: np.ndarray, name: str, missing: Iterable[str]
) -> Int[np.ndarray, " n"]:
    """Number of each row's cluster, in the order in which they come. (n,)"""
    text = text_column(raw, name, missing, "cluster")[rows]
    number, _ = pd.factorize(text)
    if (number < 0).any():
        at = raw.place(int(rows[int((number < 0).argmax())]))
        raise DataError(
            f"{at}: column {name!r}, which 'cluster' names, holds no value; each row must name "
            "its cluster"
        )
    return number.astype(np.int64)


def gaps_of(table: Table) -> dict[str, Any]:
    """Which panels are missing somewhere, and which columns every row has, as JSON can hold it.

    Returns:
        `rows`; `panels`, each with its `name`, the `share` of rows without it, and `together`: an
        earlier panel that is missing in the same rows, or None; and `known`: encoded columns that
        vary, have no gap, and are in a panel without one.
    """
    finite, lacking = np.isfinite(table.values), _lacking(table)
    patterns: dict[bytes, str] = {}
    first = {
        name: patterns.setdefault(recorded.tobytes(), name) for name, recorded in lacking.items()
    }
    shown = {c for panel in table.panels if panel.name not in lacking for c in panel.columns}
    return {
        "rows": len(table),
        "panels": [
            {
                "name": name,
                "share": float(1 - recorded.mean()),
                "same_gaps_as": first[name] if first[name] != name else None,
            }
            for name, recorded in lacking.items()
        ],
        "known": [
            name
            for name, values, recorded in zip(table.columns, table.values.T, finite.T, strict=True)
            if name in shown and recorded.all() and np.ptp(values) > 0
        ],
    }


def suspicions(prepared: Prepared, described: Description) -> Iterator[str]:
    """Probable mistakes in a table that is divided into folds, a sentence each."""
    table = prepared.table
    yield from _dropped(prepared.report["rows_dropped"])
    yield from _suspicions(table, described)
    yield from _never_recorded(_lacking(table), prepared.split)


def _lacking(table: Table) -> dict[str, np.ndarray]:
    """Panel → rows that have it, of panels that are missing somewhere. (n,)"""
    finite = np.isfinite(table.values)
    observed = {
        panel.name: np.asarray(finite[:, inside].all(axis=1))
        for panel, inside in zip(table.actions, table.provides, strict=True)
    }
    return {name: recorded for name, recorded in observed.items() if not recorded.all()}


def _dropped(rules: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Rows that a rule on a number leaves out because they have none."""
    for rule in rules:
        if count := rule.get("rows_without_value"):
            yield (
                f"Look: of {rule['rows']:,} rows that are left out for {rule['reason']!r}, "
                f"{count:,} have no value in the column of the rule."
            )


def _never_recorded(observed: Mapping[str, np.ndarray], split: np.ndarray) -> Iterator[str]:
    """Panels that no row has outside of some fold, where the policies of that fold learn."""
    folds = np.unique(split)
    for name, recorded in observed.items():
        if not all(recorded[split != fold].any() for fold in folds):
            yield (
                f"Look: panel {name!r} is recorded in {int(recorded.sum())} of "
                f"{len(recorded):,} rows, all in one of {len(folds)} folds, so policies "
                "judged there could not learn from it; record it more often, or leave it out."
            )


def _suspicions(table: Table, described: Description) -> Iterator[str]:
    """Columns that are constant, name units or tell the label, copies, and no complete row."""
    frame, label = pd.DataFrame(table.values, columns=list(table.columns)), pd.Series(table.label)
    of = {name: described.column_of(name) or name for name in table.columns}
    features = list(table.columns)
    varying = {of[feature] for feature in frame.columns[frame.min() < frame.max()]}
    for name in dict.fromkeys(of.values()):
        if name not in varying:
            yield (
                f"Look: column {name!r} has one value in these rows, so no policy learns from it; "
                "leave it out."
            )
    for name, count in Counter(of.values()).items():
        if count > NAMING_LEVELS and count > 0.2 * len(table):
            yield (
                f"Look: column {name!r} has {count} levels in {len(table):,} rows, as a name has; "
                "a name predicts nothing for a new case, so leave it out."
            )
            features = [feature for feature in features if of[feature] != name]
    leaks: dict[str, float] = {}
    for feature in features:
        name = of[feature]
        share = label_stated(frame.loc[table.labelled, feature], label[table.labelled])
        leaks[name] = max(leaks.get(name, 0.0), share)
    for name, share in leaks.items():
        where = (
            "every row that has it" if share == 1 else f"{stated_in(share)} of rows that have it"
        )
        if share:
            yield (
                f"Look: column {name!r} predicts the label in {where}; if it is known only "
                "afterwards, leave it out."
            )
    if copies := int(copied(frame.assign(label=label)).sum()):
        yield f"Look: {copies:,} rows are copies of others; if of the same units, leave them out."
    if np.isnan(table.values).any(axis=1).all():
        yield (
            "Look: no row has every panel, so only policies that need few panels can be "
            "judged; put columns that are measured together into one panel."
        )
