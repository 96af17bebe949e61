"""Estimators by family: formulas, and the declaration of each estimator that uses one."""
