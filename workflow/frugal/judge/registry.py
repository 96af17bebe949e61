"""Every estimator that a file in `judge.estimators` declares: the rows of the study's tables."""

from collections.abc import Mapping

from frugal.core.declarations import load_all
from frugal.judge.estimator import Estimator

_DECLARED = load_all("frugal.judge.estimators", "Estimator").values()
ESTIMATORS: Mapping[str, Estimator] = {
    declared.name: declared
    for declared in sorted(_DECLARED, key=lambda declared: (declared.place, declared.name))
}
READ = sorted(
    (name for name, declared in ESTIMATORS.items() if declared.read is not None),
    key=lambda name: ESTIMATORS[name].read or 0,
)  # those that verdicts read, the best first
