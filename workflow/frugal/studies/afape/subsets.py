"""Estimates on random parts of the rows: subsamples of 70 %, and growing ones."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from frugal.core.blocks import tree_sum
from frugal.core.streams import Streams
from frugal.core.terms import Terms
from frugal.judge.convergence import (
    PrefixDraws,
    PrefixEstimates,
    prefix_estimates,
    prefixes_of_sums,
)
from frugal.judge.intervals import together
from frugal.judge.kept_terms import KeptTerms
from frugal.judge.resampling import resample, resample_blocks, stack_terms

if TYPE_CHECKING:
    from frugal.studies.afape.judging import Judged


def resamples(
    found: "Judged", names: Sequence[str], settings: Mapping[str, Any], streams: Streams
) -> np.ndarray:
    """Estimates of all estimators on the same subsamples, of rows or of clusters. (b, e)"""
    asked = {"resamples": settings["resamples"], "share": settings["resample_share"]}
    rng = streams.generator("resamples", found.seed)
    each = [found.together.of(name) for name in names]
    if not each or each[0].single:
        first = [_first(found.terms, name, 0) if found.terms.single else _first(one, name, 0)
                 for one, name in zip(each, names, strict=True)]  # fmt: skip
        if found.terms.single:
            first = [together(one, found.together.cluster) for one in first]
        numerators, denominators = stack_terms(first)
        return resample(numerators, denominators, **asked, rng=rng)

    def blocks() -> Iterator[tuple[np.ndarray, np.ndarray]]:
        for number in range(len(each[0].sizes)):
            pairs = zip(each, names, strict=True)
            yield stack_terms([_first(one, name, number) for one, name in pairs])

    centre = np.array([t.tally(n).estimate[0] for t, n in zip(each, names, strict=True)])
    return resample_blocks(
        blocks(), each[0].sizes, centre, **asked, rng=rng,
        rng_of=lambda number: streams.generator("resamples", found.seed, "block", number),
    )  # fmt: skip


def _first(terms: KeptTerms, name: str, number: int) -> Terms:
    """Terms of the first outcome, of one block."""
    one = terms.block(name, number)
    return Terms(one.numerator[:, :1], one.denominator, one.weight)


def prefixes(found: "Judged", sizes: Sequence[int], streams: Streams) -> dict[str, PrefixEstimates]:
    """Estimates on growing random subsets of the rows, by estimator."""
    terms, n = found.terms, found.terms.rows
    rng = streams.generator("order", found.seed)
    wanted = np.array(sorted({size for size in sizes if size < n} | {n}), dtype=np.int64)
    if terms.single:
        order, told = rng.permutation(n), {}
        for name in found.names:
            one = terms.block(name, 0)
            shuffled = Terms(one.numerator[order, :1], one.denominator[order], one.weight[order])
            told[name] = prefix_estimates(shuffled, wanted)
        return told
    draws = PrefixDraws(terms.sizes, wanted, rng)

    def sums(number: int) -> np.ndarray:
        """Numerator, denominator and usable rows of each estimator, up to each size. (p, 3 e)"""
        columns = []
        for name in found.names:
            one = terms.block(name, number)
            columns += [one.numerator[:, 0], one.denominator, (one.weight > 0).astype(np.float64)]
        own = streams.generator("order", found.seed, "block", number)
        return draws.sums(number, np.stack(columns, axis=1), own)

    total = tree_sum(sums(number) for number in range(len(terms.sizes)))
    return {
        name: prefixes_of_sums(wanted, *total[:, 3 * k : 3 * k + 3].T)
        for k, name in enumerate(found.names)
    }
