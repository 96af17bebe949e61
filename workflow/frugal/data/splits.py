"""Which rows serve which purpose: parts of a table, stratified by label, or folds (`dadi`).

Knows labels and sizes only; the same seed gives the same parts.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from jaxtyping import Bool, Int

from frugal.core.errors import ConfigError, DataError
from frugal.data.description import SplitSpec

PARTS = ("train", "validation", "test")
PART_NAMES = ("train", "encoder", "encoder_validation", "agent", "validation", "nuisance", "test")
FOLDS = "folds"  # scheme

_OTHER_CLUSTERS = "name a column with more values, or leave 'cluster' out"


def part_sizes(n: int, fractions: Mapping[str, float]) -> dict[str, int]:
    """Whole numbers of rows that sum to n and follow fractions, by the largest remainders."""
    exact = np.array(list(fractions.values()), dtype=np.float64) * n
    exact = np.round(exact, 9)  # 0.1 · 30 is 3, not 3.0000000000000004
    sizes = np.floor(exact).astype(np.int64)
    most_left = np.argsort(-(exact - sizes), kind="stable")
    sizes[most_left[: n - sizes.sum()]] += 1
    return {part: int(size) for part, size in zip(fractions, sizes, strict=True)}


def stratified_order(
    label: Int[np.ndarray, " n"], rng: np.random.Generator
) -> Int[np.ndarray, " n"]:
    """A random order of the rows in which every stretch has about the overall class shares.

    The r-th of the m rows of a class, in random order, is put at position (r + ½)/m.
    """
    shuffled = rng.permutation(len(label))
    position = np.empty(len(label))
    for k in np.unique(label):
        rows = shuffled[label[shuffled] == k]
        position[rows] = (np.arange(len(rows)) + 0.5) / len(rows)
    return shuffled[np.argsort(position[shuffled], kind="stable")]


def assign_parts(
    label: Int[np.ndarray, " n"], sizes: Mapping[str, int], rng: np.random.Generator
) -> np.ndarray:
    """Part name of each row; a part of m rows differs from the class shares by a row or two. (n,)

    Raises:
        DataError: the sizes do not sum to the number of rows.
    """
    if sum(sizes.values()) != len(label):
        raise DataError(
            f"the parts need {sum(sizes.values())} rows in all, but the table has {len(label)}"
        )
    part = np.empty(len(label), dtype=np.intp)
    part[stratified_order(label, rng)] = np.repeat(np.arange(len(sizes)), list(sizes.values()))
    return np.array(list(sizes), dtype=str)[part]


def assign_clusters(
    label: Int[np.ndarray, " n"],
    cluster: Int[np.ndarray, " n"],
    sizes: Mapping[str, int],
    rng: np.random.Generator,
) -> np.ndarray:
    """As `assign_parts`, but rows of one cluster get one part. (n,)

    Clusters are in random order, stratified by the most frequent class of each; a cluster falls
    in the part in which its middle row would. So a part has more or fewer rows than requested by
    less than a cluster; where each row is a cluster of its own, it is `assign_parts`.

    Raises:
        DataError: the sizes do not sum to the number of rows.
    """
    if sum(sizes.values()) != len(label):
        return assign_parts(label, sizes, rng)  # which refuses them
    _, of_row = np.unique(cluster, return_inverse=True)
    code = label - min(int(label.min()), 0)  # rows without a label, −1, are a class here
    counts = np.zeros((of_row.max() + 1, code.max() + 1), dtype=np.int64)
    np.add.at(counts, (of_row, code), 1)
    order = stratified_order(counts.argmax(axis=1).astype(np.int64), rng)
    rows = counts.sum(axis=1)[order]
    middle = rows.cumsum() - (rows + 1) / 2
    part = np.empty(len(order), dtype=np.intp)
    part[order] = np.searchsorted(np.cumsum(list(sizes.values())), middle, side="right")
    return np.array(list(sizes), dtype=str)[part[of_row]]


def split_rows(
    label: Int[np.ndarray, " n"],
    group: np.ndarray,
    spec: SplitSpec,
    *,
    rng_seed: int,
    cluster: Int[np.ndarray, " n"] | None = None,
    cluster_name: str = "",
    classes: Sequence[str] = (),
) -> np.ndarray:
    """Part name (one of `PART_NAMES`) of each row. (n,)

    Args:
        label: class index. (n,)
        group: group of the file that each row comes from; read with scheme `given` only. (n,)
        spec: scheme, sizes and seed of the data set.
        rng_seed: seed of the run; drawn together with the data set's own.
        cluster: rows of one number get one part; None: each row is its own cluster. (n,)
        cluster_name: column that identifies rows that belong together, for messages.
        classes: names of the classes, for sentences; none: their numbers are named.

    Raises:
        DataError: counts do not sum to n, or a part that the study cannot do without
            (`train` or `encoder`, `agent` of the latter, `test`; every fold) lacks a class; there
            are fewer clusters than parts, or only one in `test`; or files of two groups share one.
    """
    if cluster is not None and len(np.unique(cluster)) < len(spec.parts):
        raise DataError(
            f"there are {len(np.unique(cluster))} values of {cluster_name!r} ('cluster') for "
            f"{len(spec.parts)} parts, and rows of one value get one part; {_OTHER_CLUSTERS}"
        )

    def assign(rows: np.ndarray, sizes: Mapping[str, int], rng: np.random.Generator) -> np.ndarray:
        if cluster is None:
            return assign_parts(label[rows], sizes, rng)
        return assign_clusters(label[rows], cluster[rows], sizes, rng)

    if spec.scheme == "given":
        split = np.full(len(label), "", dtype="<U18")
        for i, (name, fractions) in enumerate(spec.groups.items()):
            rows = np.flatnonzero(group == name)
            rng = np.random.default_rng([spec.seed, rng_seed, i])
            split[rows] = assign(rows, part_sizes(len(rows), fractions), rng)
        _require_whole_clusters(cluster, group)
    else:
        sizes = (
            part_sizes(len(label), spec.parts)
            if spec.scheme in ("fractions", FOLDS)
            else {part: int(count) for part, count in spec.parts.items()}
        )
        rng = np.random.default_rng([spec.seed, rng_seed])
        split = assign(np.arange(len(label)), sizes, rng)
    if spec.scheme == FOLDS:
        needed = list(spec.parts)
    else:
        needed = ["encoder", "agent"] if "encoder" in split else ["train"]
        needed.append("test")
    has = label >= 0
    rows_of_class = np.bincount(label[has])
    for part in needed:
        counts = np.bincount(label[has & (split == part)], minlength=len(rows_of_class))
        absent = np.flatnonzero((rows_of_class > 0) & (counts == 0))
        if len(absent):
            k = int(absent[0])
            if spec.scheme == FOLDS:
                raise DataError(
                    f"class {repr(classes[k]) if len(classes) else k} has {rows_of_class[k]} rows, "
                    f"and there is none in {part!r}, one of {len(needed)} folds, each of which "
                    "needs one; record more of that class"
                )
            raise DataError(
                f"part {part!r} has {int((split == part).sum())} rows and none of class "
                f"{repr(classes[k]) if len(classes) else k}, of which there are "
                f"{rows_of_class[k]} in all; give it more rows under 'split'"
            )
    if cluster is None or "test" not in needed:
        return split
    if len(np.unique(cluster[split == "test"])) < 2:
        raise DataError(
            f"part 'test' has one of {len(np.unique(cluster))} values of {cluster_name!r} "
            f"('cluster'), and rows of one value count as one; {_OTHER_CLUSTERS}"
        )
    return split


def _require_whole_clusters(cluster: Int[np.ndarray, " n"] | None, group: np.ndarray) -> None:
    """No cluster has rows in files of two groups, which are split apart."""
    if cluster is None:
        return
    files = pd.factorize(group)[0]
    _, first, of_row = np.unique(cluster, return_index=True, return_inverse=True)
    other = files != files[first][of_row]
    if other.any():
        names = sorted({str(group[first[of_row[other.argmax()]]]), str(group[other.argmax()])})
        raise DataError(
            f"rows that belong together ('cluster') lie in files of the groups {names[0]!r} and "
            f"{names[1]!r}, which split scheme 'given' splits apart; put them into one group"
        )


def fold_parts(
    n: int, *, folds: int, fold: int, validation_share: float, rng: np.random.Generator
) -> np.ndarray:
    """Part of each row in one fold: every row is a test row in exactly one fold. (n,)

    Rows are cut at random into `folds` equal groups; the fold's group is `test`, and of the others
    `validation_share` of all rows is `validation`. Six folds and a share of 2/15 give the paper's
    70 / 13.3 / 16.7 % [dadi, sec. 4]. The same generator state gives the same groups to every fold.

    Raises:
        ConfigError: there is no such fold, or validation and test leave no row to train on.
        DataError: there are fewer rows than folds.
    """
    if not 0 <= fold < folds:
        raise ConfigError(f"fold {fold} is requested; there are {folds} folds, numbered from 0")
    if n < folds:
        raise DataError(f"{n} rows cannot be cut into {folds} folds")
    order = rng.permutation(n)
    group = np.empty(n, dtype=np.int64)
    group[order] = np.arange(n) % folds
    rest = order[group[order] != fold]
    n_validation = round(validation_share * n)
    if n_validation >= len(rest):
        raise ConfigError(
            f"a validation share of {validation_share:g} with {folds} folds leaves no row to "
            "train on"
        )
    parts = np.full(n, "train", dtype="<U10")
    parts[group == fold] = "test"
    parts[rest[len(rest) - n_validation :]] = "validation"
    return parts


def row_sample(n: int, *, rows: int | None, rng: np.random.Generator) -> Int[np.ndarray, " m"]:
    """At most so many row indices, at random, in rising order; None takes all. (m,)"""
    if rows is None or rows >= n:
        return np.arange(n)
    return np.sort(rng.permutation(n)[:rows])


BY_CHANCE = 0.05  # see `copied`


def with_copies(cells: pd.DataFrame, least: int) -> Int[np.ndarray, " n"] | None:
    """A number for each row, the same for copies of one; None where there are none. (n,)

    None also where fewer than `least` different rows are left. Copies are those of `copied`.
    """
    copies = copied(cells)
    same = cells.groupby(list(cells), dropna=False, sort=False).ngroup().to_numpy()
    number = np.where(np.isin(same, same[copies]), same, len(cells) + np.arange(len(cells)))
    return number if copies.any() and len(np.unique(number)) >= least else None


def copied(cells: pd.DataFrame) -> Bool[np.ndarray, " n"]:
    """True for a row with the cells of an earlier one, if that is no chance. (n,)

    So many other rows with the same cells are expected by chance:

        min_j c_j f_j

    with c_j the distinct rows that agree with it in all columns but j, and f_j the share of
    distinct rows with its value there. Below 0.05 it is a copy, if there are more such rows than
    three times those expected. So of rows that lack all panels and have few other values, none is
    a copy. Columns are compared only where values are observed. Of columns with equivalent
    content one counts.

    Args:
        cells: NaN where there is no value.
    """
    copies = cells.duplicated().to_numpy(copy=True)
    if not copies.any():
        return copies
    coded = {name: pd.factorize(cells[name], use_na_sentinel=False)[0] for name in cells}
    columns = {code.tobytes(): name for name, code in coded.items()}.values()
    rng = np.random.default_rng(0)  # rows agree in all columns if sums of random numbers do
    numbers = {
        name: rng.integers(2**64, size=coded[name].max() + 1, dtype=np.uint64)[coded[name]]
        for name in columns
    }
    row_sum = np.sum([*numbers.values()], axis=0, dtype=np.uint64)
    expected = np.full(len(cells), np.inf)
    for name, number in numbers.items():
        count, others = np.bincount(coded[name][~copies]), pd.Series(row_sum - number)
        chance = others.map(others[~copies].value_counts()) * count[coded[name]] / count.sum()
        expected = np.where(cells[name].isna(), expected, np.minimum(expected, chance))
    rare = expected < BY_CHANCE
    by_chance = expected[rare & ~copies].sum() / 2  # of two equal rows the first is no copy
    copies &= rare
    return copies if copies.sum() > 3 * by_chance else np.zeros_like(copies)
