"""GDFS and DIME in lock-step against plain PyTorch, one network after another, side by side.

Run with one thread: OMP_NUM_THREADS=1 python -m tests.benchmarks.panel_networks [SHARE]
The plain version (`tests/studies/field/plain_panel_networks.py`) has modules, autograd and torch's
Adam; states, draws, updates and batches are the same. Networks, penalties and batches are those of
`config.yaml`, units are made up (57 columns, 9 panels as in NHANES ferritin). SHARE of the updates
are made (default .02, of each by turns, so that both meet the same load), at temperatures from
first to last; `flushed` is the plain version with numbers below 1e-38 taken as 0, too.
"""

import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from frugal.learn.lockstep import FlatParameters
from frugal.studies.field.panel_choosers import (
    DimeSettings,
    DimeTraining,
    GdfsSettings,
    GdfsTraining,
    Units,
    first_chooser,
)
from torch import nn

from tests.defaults import DEFAULT
from tests.studies.field import plain_panel_networks as plain

N, COLUMNS, PANELS, FREE, ROUNDS = 5000, 57, 9, 6, 4
TREES = DEFAULT["diagnosis"]["agents"]


def main() -> None:
    """CPU seconds of all networks of a kind, and the ratio."""
    share = float(sys.argv[1]) if len(sys.argv) > 1 else 0.02
    torch.set_num_threads(1)
    for kind in ("gdfs", "dime"):
        together, alone = (of_gdfs if kind == "gdfs" else of_dime)(TREES[kind], share)
        spent = np.zeros(3)
        for _ in range(ROUNDS):
            spent += [seconds(together), seconds(alone), seconds(alone, flushed=True)]
        spent /= ROUNDS * share
        times = spent / spent[0]
        print(
            f"{kind}: lock-step {spent[0]:6.1f} CPU s, plain {spent[1]:6.1f} "
            f"({times[1]:.1f} times), plain and flushed {spent[2]:6.1f} ({times[2]:.1f} times)"
        )


def seconds(work: Callable[[], Any], *, flushed: bool = False) -> float:
    """CPU seconds."""
    start = time.process_time()
    torch.set_flush_denormal(flushed)
    work()
    torch.set_flush_denormal(False)
    return time.process_time() - start


def units_of(folds: int) -> Units:
    """Made up: the label follows from three columns."""
    draw = torch.Generator().manual_seed(0)
    scores = torch.randn(N, COLUMNS, generator=draw)
    label = (scores[:, :: COLUMNS // 3].sum(dim=1) > 1).float()[:, None]
    adds = torch.zeros(PANELS, COLUMNS)
    for column in range(FREE, COLUMNS):
        adds[column % PANELS, column] = 1
    closed = (torch.arange(COLUMNS) >= FREE).float()
    price = torch.linspace(1, 5, PANELS)
    groups = [torch.arange(N)[torch.arange(N) % folds != f] for f in range(folds)]
    return Units(
        torch.cat([scores, torch.ones_like(scores)], dim=1),
        label,
        torch.ones(N, PANELS),
        adds,
        closed,
        price,
        groups,
    )


def predictors(networks: int, settings: dict[str, Any]) -> FlatParameters:
    """Before the first step; the time of fitting them to random panels is not in the comparison."""
    own = settings["network"]
    sizes = [2 * COLUMNS, *[own["hidden"]] * own["layers"], 1]
    return first_chooser(networks, sizes, np.random.default_rng(1))


def modules(parameters: FlatParameters, network: int) -> nn.Sequential:
    """The same as a module."""
    return plain.module_of(parameters.views, network)


def of_gdfs(settings: dict[str, Any], share: float) -> tuple[Callable, Callable]:
    """Both ways of training."""
    folds, count = settings["folds"], settings["price_weights"]
    how = GdfsSettings(
        round(settings["updates"] * share),
        settings["batch"],
        settings["learning_rate"],
        tuple(settings["temperatures"]),
        settings["network"]["weight_decay"],
    )
    units, fold = units_of(folds), list(range(folds)) * count
    penalty = np.repeat(np.geomspace(0.001, 0.1, count), folds).tolist()

    def rngs() -> list[np.random.Generator]:
        return np.random.default_rng(2).spawn(folds + 1)

    def training() -> GdfsTraining:
        first = predictors(len(fold), settings)
        return GdfsTraining(units, first, penalty, fold, how, rngs())

    def alone() -> None:
        start = training()
        for k, one in enumerate(fold):
            pair = modules(start.predictor, k), modules(start.chooser, k)
            plain.train_gdfs(units, *pair, penalty[k], one, how, rngs())

    return lambda: training().run(), alone


def of_dime(settings: dict[str, Any], share: float) -> tuple[Callable, Callable]:
    """Both ways of training."""
    folds = settings["folds"]
    how = DimeSettings(
        round(settings["updates"] * share),
        settings["batch"],
        settings["learning_rate"],
        tuple(settings["exploration"]),
        settings["network"]["weight_decay"],
    )
    units, fold = units_of(folds), list(range(folds))

    def rngs() -> list[np.random.Generator]:
        return np.random.default_rng(2).spawn(folds + 1)

    def training() -> DimeTraining:
        return DimeTraining(units, predictors(folds, settings), fold, how, rngs())

    def alone() -> None:
        start = training()
        for k in fold:
            pair = modules(start.predictor, k), modules(start.chooser, k)
            plain.train_dime(units, *pair, k, how, rngs())

    return lambda: training().run(), alone


if __name__ == "__main__":
    main()
