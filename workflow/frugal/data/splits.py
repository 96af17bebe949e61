"""Which rows serve which purpose: parts of a table, stratified by label.

Knows labels and sizes only; the same seed gives the same parts.
"""

from collections.abc import Mapping

import numpy as np
from jaxtyping import Int

from frugal.core.errors import DataError
from frugal.data.description import SplitSpec

PART_NAMES = (
    "train",
    "encoder",
    "encoder_validation",
    "agent",
    "validation",
    "nuisance",
    "test",
)


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


def split_rows(
    label: Int[np.ndarray, " n"], group: np.ndarray, spec: SplitSpec, *, rng_seed: int
) -> np.ndarray:
    """Part name (one of `PART_NAMES`) of each row. (n,)

    Args:
        label: class index. (n,)
        group: group of the file that each row comes from; read with scheme `given` only. (n,)
        spec: scheme, sizes and seed of the data set.
        rng_seed: seed of the run; drawn together with the data set's own.

    Raises:
        DataError: counts do not sum to n, or a part that the study cannot do without
            (`train` or `encoder`, `agent` of the latter, `test`) lacks a class.
    """
    if spec.scheme == "given":
        split = np.full(len(label), "", dtype="<U18")
        for i, (name, fractions) in enumerate(spec.groups.items()):
            rows = np.flatnonzero(group == name)
            rng = np.random.default_rng([spec.seed, rng_seed, i])
            split[rows] = assign_parts(label[rows], part_sizes(len(rows), fractions), rng)
    else:
        sizes = (
            part_sizes(len(label), spec.parts)
            if spec.scheme == "fractions"
            else {part: int(count) for part, count in spec.parts.items()}
        )
        split = assign_parts(label, sizes, np.random.default_rng([spec.seed, rng_seed]))
    trained = ("encoder", "agent") if "encoder" in split else ("train",)
    rows_of_class = np.bincount(label)
    for part in (*trained, "test"):
        here = np.bincount(label[split == part], minlength=len(rows_of_class))
        absent = np.flatnonzero((rows_of_class > 0) & (here == 0))
        if len(absent):
            raise DataError(
                f"part {part!r} has {int((split == part).sum())} rows and none of class "
                f"{int(absent[0])}; give it more rows under 'split'"
            )
    return split
