"""Estimators of scikit-learn: `Acquirer`, its scorer `path_cost`, and `evaluate` of any policy."""

from frugal.library.estimator import Acquirer, PathCost, path_cost
from frugal.library.evaluation import evaluate

__all__ = ["Acquirer", "PathCost", "evaluate", "path_cost"]
