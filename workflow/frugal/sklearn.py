"""Estimators of scikit-learn: `Acquirer`, and `path_cost`, its scorer."""

from frugal.library.estimator import Acquirer, path_cost

__all__ = ["Acquirer", "path_cost"]
