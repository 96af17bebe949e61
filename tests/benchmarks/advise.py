"""CPU time of one decision about new cases, in batches, for every kind of agent: `frugal advise`.

Run with one thread: `OMP_NUM_THREADS=1 python -m tests.benchmarks.advise [CASES]`. Agents are those
of the configs, trained a little on a small table; the time is that of reading the CSV, deciding and
saying why, without the start of Python and the reading of the bundle.
"""

import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd
from frugal.acquire.advice import advice_frame
from frugal.acquire.bundles import read_bundle
from frugal.acquire.kinds import KINDS
from frugal.data.cases import read_cases
from frugal.run.advise import advise, next_lines

from tests.unit.bundled_cases import FUNCTION, UNTRAINED, bundle_in
from tests.unit.test_agent_kinds import BY_VALUES, SETTINGS, blocked_records, trained_file

LIMIT_MS = 1.0


def cases_of(path: Path, n: int) -> Path:
    """A CSV of n cases, in each of which every panel is acquired with probability one half."""
    rng = np.random.default_rng(0)
    values = rng.normal(size=(n, 4)).round(6)
    shown = np.column_stack([np.ones((n, 1), dtype=bool), rng.random((n, 2)) < 0.5])
    frame = pd.DataFrame(np.where(shown[:, [0, 1, 2, 2]], values, np.nan))
    frame.columns = [f"X{j}" for j in range(1, 5)]
    frame.insert(0, "case", [f"c{k}" for k in range(n)])
    frame.to_csv(path, index=False)
    return path


def main(n: int) -> None:
    """Print a line for each kind."""
    given = blocked_records()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        path = cases_of(folder / "cases.csv", n)
        for kind in BY_VALUES:
            policy = FUNCTION if kind == "python" else None
            if KINDS[kind].fit is not None:
                policy = trained_file(kind, given, folder)
            settings = SETTINGS[kind] if kind in SETTINGS else UNTRAINED[kind]
            bundle = read_bundle(
                bundle_in(folder / kind, settings, given, policy),
                function=FUNCTION if kind == "python" else None,
            )
            times = []
            for _ in range(2):  # the first compiles
                begin = time.process_time()
                cases = read_cases(
                    path,
                    bundle.cases,
                    provides=bundle.layout.provides,
                    id_column=None,
                    complete=False,
                )
                advice = advise(bundle, cases, [], simulate=False, rollout=None)
                advice_frame(bundle, cases, advice).to_csv()
                next_lines(bundle, cases, advice)
                times.append(1000 * (time.process_time() - begin) / n)
            verdict = "" if times[-1] < LIMIT_MS else "  ABOVE THE LIMIT"
            print(f"{kind:14s} {times[-1]:7.3f} ms a decision in a batch of {n:,}{verdict}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000)
