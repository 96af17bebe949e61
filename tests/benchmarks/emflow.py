"""Latent conditional means of EMFlow, compiled per row against NumPy per row, in one run.

    OMP_NUM_THREADS=1 python tests/benchmarks/emflow.py [rows] [columns]

Goal: ≥ 12 × less CPU time than a NumPy solve per row, on 4,096 × 40 entries whose rows all have
their own observed coordinates; also shown: rows that share panels, and a whole imputation.
"""

import sys
import time
from collections.abc import Callable

import numpy as np
import torch
from frugal.core.scaling import Scaling
from frugal.learn.conditional_gaussian import (
    RIDGE,
    Gaussian,
    conditional_gradients,
    conditional_means,
    conditional_moments,
)
from frugal.learn.flows import AffineFlow, EmFlow


def numpy_per_row(z: np.ndarray, observed: np.ndarray, gaussian: Gaussian) -> np.ndarray:
    """The usual loop: one solve of the observed block for every row."""
    filled = z.copy()
    for i, known in enumerate(observed):
        gone = ~known
        block = gaussian.covariance[np.ix_(known, known)] + RIDGE * np.eye(int(known.sum()))
        weight = np.linalg.solve(block, z[i, known] - gaussian.mean[known])
        filled[i, gone] = gaussian.mean[gone] + gaussian.covariance[np.ix_(gone, known)] @ weight
    return filled


def cpu_us(work: Callable[[], object], rows: int, *, repeats: int) -> float:
    """Least CPU microseconds a row over some repeats."""
    seconds = []
    for _ in range(repeats):
        start = time.process_time()
        work()
        seconds.append(time.process_time() - start)
    return 1e6 * min(seconds) / rows


def main() -> None:
    torch.set_num_threads(1)
    rows, d = (int(a) for a in (sys.argv[1:] + ["4096", "40"][len(sys.argv) - 1 :])[:2])
    rng = np.random.default_rng(0)
    factor = rng.normal(size=(d, d)) / np.sqrt(d)
    gaussian = Gaussian(rng.normal(size=d), factor @ factor.T + 0.2 * np.eye(d))
    z = rng.normal(size=(rows, d))
    single = rng.random((rows, d)) < rng.random((rows, 1))
    panels = np.repeat(rng.random((rows, 8)) < 0.5, -(-d // 8), axis=1)[:, :d]
    panels = panels[np.lexsort(panels.T)]  # rows of one set lie together, as encoders are tabulated
    conditional_means(z, single, gaussian)
    conditional_moments(z, single, gaussian)
    conditional_gradients(z, single, gaussian)
    for name, observed in (("entries", single), ("panels", panels)):
        slow = cpu_us(lambda o=observed: numpy_per_row(z, o, gaussian), rows, repeats=3)
        fast = cpu_us(lambda o=observed: conditional_means(z, o, gaussian), rows, repeats=5)
        spread = cpu_us(lambda o=observed: conditional_moments(z, o, gaussian), rows, repeats=5)
        back = cpu_us(lambda o=observed: conditional_gradients(z, o, gaussian), rows, repeats=5)
        apart = np.abs(
            numpy_per_row(z, observed, gaussian) - conditional_means(z, observed, gaussian)
        ).max()
        print(
            f"{rows} × {d}, hidden {name}: NumPy per row {slow:.1f} µs, compiled {fast:.2f} µs "
            f"({slow / fast:.1f} ×, goal ≥ 12), with covariances {spread:.1f} µs, gradients "
            f"{back:.2f} µs; largest difference {apart:.1e}",
            flush=True,
        )
    flow = AffineFlow(d, couplings=32, hidden=(32, 32), generator=torch.Generator().manual_seed(0))
    scaling = Scaling(np.zeros(d), np.ones(d))
    model = EmFlow(scaling, flow.requires_grad_(False), gaussian, 1, (32, 32), ())
    shown = np.where(single, z, np.nan)
    whole = cpu_us(lambda: model.impute(shown), rows, repeats=2)
    print(f"imputation, 32 couplings, one pass: {whole:.1f} µs a row")


if __name__ == "__main__":
    main()
