"""CPU time of 300 resamples of 70 % of 100,000 rows for 24 estimators, three ways side by side.

Run with one thread: `OMP_NUM_THREADS=1 python -m tests.benchmarks.resampling`. The loop per
(resample, estimator) is measured on 10 resamples and scaled to 300; the rest is measured in full.
Goal: the matrix product takes at most 0.5 CPU s.
"""

import time
from collections.abc import Callable

import numpy as np

from tests.unit.in_blocks import resample

ROWS, ESTIMATORS, RESAMPLES, SHARE, LOOPED = 100_000, 24, 300, 0.7, 10
SIZE = round(SHARE * ROWS)


def loop_per_estimator(top: np.ndarray, bottom: np.ndarray, resamples: int) -> np.ndarray:
    """A draw of its own for each resample of each estimator."""
    rng = np.random.default_rng(0)
    out = np.empty((resamples, ESTIMATORS))
    for b in range(resamples):
        for e in range(ESTIMATORS):
            rows = rng.choice(ROWS, SIZE, replace=False)
            out[b, e] = top[rows, e].sum() / bottom[rows, e].sum()
    return out


def one_draw_per_resample(top: np.ndarray, bottom: np.ndarray) -> np.ndarray:
    """The same rows for all estimators, gathered in float64."""
    rng = np.random.default_rng(0)
    out = np.empty((RESAMPLES, ESTIMATORS))
    for b in range(RESAMPLES):
        rows = rng.choice(ROWS, SIZE, replace=False)
        out[b] = top[rows].sum(axis=0) / bottom[rows].sum(axis=0)
    return out


def matrix_product(top: np.ndarray, bottom: np.ndarray) -> np.ndarray:
    """The package's function."""
    rng = np.random.default_rng(0)
    return resample(top, bottom, resamples=RESAMPLES, share=SHARE, rng=rng)


def measure(work: Callable[[], np.ndarray]) -> tuple[float, np.ndarray]:
    """CPU seconds and result."""
    start = time.process_time()
    result = work()
    return time.process_time() - start, result


def main() -> None:
    """Print CPU seconds, ratios and the agreement of the spreads."""
    rng = np.random.default_rng(1)
    bottom = rng.exponential(size=(ROWS, ESTIMATORS))
    top = bottom * rng.random((ROWS, ESTIMATORS))
    matrix_product(top, bottom)  # warm caches
    loop_s, _ = measure(lambda: loop_per_estimator(top, bottom, LOOPED))
    loop_s *= RESAMPLES / LOOPED
    draw_s, draw = measure(lambda: one_draw_per_resample(top, bottom))
    product_s, product = measure(lambda: matrix_product(top, bottom))
    residual = top - top.sum(axis=0) / bottom.sum(axis=0) * bottom
    closed = np.sqrt((1 - SHARE) / SIZE * residual.var(axis=0, ddof=1)) / bottom.mean(axis=0)
    print(f"loop per (resample, estimator), scaled from {LOOPED}   {loop_s:8.2f} CPU s    1.0 x")
    for name, seconds in (("one draw per resample", draw_s), ("0/1 matrix product", product_s)):
        print(f"{name:<47} {seconds:8.2f} CPU s {loop_s / seconds:6.1f} x")
    for name, values in (("one draw", draw), ("product", product)):
        ratio = (values.std(axis=0, ddof=1) / closed).mean()
        print(f"spread over closed form, mean of {ESTIMATORS}, {name:<10} {ratio:.4f}")


if __name__ == "__main__":
    main()
