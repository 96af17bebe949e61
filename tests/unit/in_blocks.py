"""Rows in memory handed over in one block or in several, and what follows; not a test module."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from frugal.core.rows import ScratchFile
from frugal.core.table import Belonging
from frugal.judge.estimator import Terms
from frugal.studies.afape import by_group as groups
from frugal.studies.afape import resampling
from frugal.studies.afape.summary import Summary, summary_of
from frugal.studies.afape.term_blocks import NuisanceFit, TermBlocks


def cut(n: int, blocks: int) -> list[slice]:
    """Blocks of about the same size."""
    return [slice(n * k // blocks, n * (k + 1) // blocks) for k in range(blocks)]


def rows_of(terms: Terms, rows: slice) -> Terms:
    return Terms(terms.numerator[rows], terms.denominator[rows], terms.weight[rows])


def term_blocks(
    scratch: ScratchFile, terms: Terms, cluster: np.ndarray | None = None, *, blocks: int = 1
) -> TermBlocks:
    """Terms under the name "e"."""
    slices = cut(len(terms.weight), blocks)
    made = TermBlocks(scratch, [rows.stop - rows.start for rows in slices], cluster)
    for rows in slices:
        made.put("e", rows_of(terms, rows))
    return made


def nuisance_fit(
    scratch: ScratchFile,
    scores: np.ndarray,
    others: int,
    learned: np.ndarray | None = None,
    *,
    blocks: int = 1,
) -> NuisanceFit:
    fit = NuisanceFit(scratch, others)
    for rows in cut(len(scores), blocks):
        fit.put(scores[rows], None if learned is None else learned[rows])
    return fit


def influence_terms(
    terms: Terms, cluster: np.ndarray | None = None, *, blocks: int = 1, **fitted: Any
) -> np.ndarray:
    """Of the first outcome, corrected for a fit by its `scores` and `others`. (n or g,)"""
    with ScratchFile() as scratch:
        made = term_blocks(scratch, terms, cluster, blocks=blocks)
        fit = nuisance_fit(scratch, **fitted, blocks=blocks) if fitted else None
        made.influence_terms(["e"], fit, lambda _: True, scratch, lambda name: name)
        return scratch.column("e")


def summarise(
    terms: Terms, *, findings: Any = (), cluster: np.ndarray | None = None, blocks: int = 1
) -> Summary:
    """At level 0.95, the probabilities taken as known."""
    with ScratchFile() as scratch:
        made = term_blocks(scratch, terms, cluster, blocks=blocks)
        told = ["e"] if made.tally("e").weight.usable else []
        spreads = made.influence_terms(told, None, lambda _: False, scratch, lambda name: name)
        return summary_of(made, "e", spreads.get("e"), level=0.95, findings=findings)


def by_group(
    acted: Mapping[str, groups.Ratio],
    weight: np.ndarray,
    belonging: Belonging,
    data: Any,
    *,
    rng: np.random.Generator,
    truth: Mapping[str, groups.Ratio] | None = None,
    blocks: int = 1,
) -> pd.DataFrame:
    group, names, slices = belonging.group, belonging.names, cut(len(data), blocks)
    assert group is not None
    sums = {name: groups.plain_sums(one, group, len(names)) for name, one in (truth or {}).items()}
    with ScratchFile() as scratch:
        sizes = [rows.stop - rows.start for rows in slices]
        terms = groups.GroupTerms(scratch, sizes, names, belonging.cluster)
        for rows in slices:
            some = {name: (a[rows], b[rows]) for name, (a, b) in acted.items()}
            terms.add(some, weight[rows], group[rows])
        return groups.by_group(terms, data, truth=groups.plain_ratios(sums), fit=None, rng=rng)


def resample(
    numerators: np.ndarray,
    denominators: np.ndarray,
    *,
    resamples: int,
    share: float,
    rng: np.random.Generator,
    blocks: int = 1,
) -> np.ndarray:
    """A column for each estimator."""
    columns = list(zip(numerators.T, denominators.T, strict=True))
    slices = cut(len(numerators), blocks)
    return resampling.resample(
        [[Terms(a[rows, None], b[rows], b[rows]) for a, b in columns] for rows in slices],
        [rows.stop - rows.start for rows in slices],
        numerators.sum(axis=0) / denominators.sum(axis=0),
        resamples=resamples,
        share=share,
        rng_of=lambda k: np.random.default_rng([7, k]) if k else rng,
    )
