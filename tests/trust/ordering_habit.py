"""How well the bare fact of what was measured predicts death: PhysioNet 2012, no value read.

  python -m tests.trust.ordering_habit MIRROR [HOURS]

MIRROR holds the files as `data_mirror` does (`physionet2012/set-a.tar.gz`, …). For 37 measurements
of the first HOURS (24), without age, sex, height and kind of unit: whether each was ever recorded,
whether in each window of six hours, and how often. Boosted trees predict death in five folds.
"""

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
from frugal.data.stays import Measurements, read_archive
from frugal.judge.fairness import IntervalEstimate
from frugal.judge.habits import area
from frugal.learn.tree_scoring import predict_proba
from frugal.learn.trees import fit_boosting

STATIC = ("Age", "Gender", "Height", "ICUType", "RecordID")
TREES = {"trees": 120, "leaves": 8, "learning_rate": 0.06, "min_leaf": 20}
NOT_RECORDED = ("-1",)
WINDOW, FOLDS = 6, 5


def patterns(stays: Measurements, hours: int) -> Iterator[tuple[str, np.ndarray]]:
    """What was recorded, in three forms. (n, columns)"""
    named = [k for k, name in enumerate(stays.parameters) if name not in STATIC]
    able = np.isin(stays.parameter, named) & np.isfinite(stays.value) & (stays.hour < hours)
    stay, column = stays.stay[able], np.searchsorted(named, stays.parameter[able])
    count = np.zeros((len(stays.record_id), hours // WINDOW, len(named)))
    np.add.at(count, (stay, (stays.hour[able] // WINDOW).astype(int), column), 1.0)
    yield "ever recorded", (count.sum(axis=1) > 0).astype(float)
    yield f"in each {WINDOW} hours", (count > 0).reshape(len(count), -1).astype(float)
    yield "how often", count.sum(axis=1)


def mask_only(pattern: np.ndarray, died: np.ndarray, fold: np.ndarray) -> IntervalEstimate:
    """AUROC of cross-fitted boosted trees that read the pattern alone."""
    score, every = np.zeros(len(died)), np.ones(pattern.shape, dtype=bool)
    for one in np.unique(fold):
        learn, rng = fold != one, np.random.default_rng(int(one))
        trees = fit_boosting(
            pattern[learn], every[learn], died[learn].astype(int), classes=2, rng=rng, **TREES
        )
        score[~learn] = predict_proba(trees, pattern[~learn], every[~learn])[:, 1]
    found = area(score, died, fold)
    assert found is not None
    return found


def read(mirror: Path) -> Iterator[tuple[Measurements, np.ndarray]]:
    """Measurements of each set, and who died."""
    for part in "abc":
        name = f"physionet2012/set-{part}.tar.gz"
        stays = read_archive(mirror / name, missing=NOT_RECORDED, source=name)
        lines = (mirror / f"physionet2012/Outcomes-{part}.txt").read_text().splitlines()
        rows = [line.split(",") for line in lines[1:]]
        outcome: Mapping[int, bool] = {int(row[0]): row[-1] == "1" for row in rows}
        yield stays, np.array([outcome[int(one)] for one in stays.record_id])


def main() -> None:
    """Print the area of each form, with its interval."""
    hours = int(sys.argv[2]) if len(sys.argv) > 2 else 24
    sets = list(read(Path(sys.argv[1])))
    died = np.concatenate([each for _, each in sets])
    fold = np.random.default_rng(0).permutation(len(died)) % FOLDS
    for forms in zip(*(patterns(stays, hours) for stays, _ in sets), strict=True):
        found = mask_only(np.concatenate([each for _, each in forms]), died, fold)
        print(f"{forms[0][0]:18} {found.value:.3f} ({found.low:.3f} to {found.high:.3f})")


if __name__ == "__main__":
    main()
