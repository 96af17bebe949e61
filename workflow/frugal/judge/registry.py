"""Every estimator that a file in `judge.estimators` declares: the rows of the study's tables."""

from collections.abc import Mapping

from frugal.core.declarations import load_all
from frugal.judge.estimator import Estimator

_FOUND = load_all("frugal.judge.estimators", "Estimator").values()
ESTIMATORS: Mapping[str, Estimator] = {
    one.name: one for one in sorted(_FOUND, key=lambda one: (one.place, one.name))
}
READ = sorted(
    (name for name, one in ESTIMATORS.items() if one.read is not None),
    key=lambda name: ESTIMATORS[name].read or 0,
)  # those that verdicts read, the best first
