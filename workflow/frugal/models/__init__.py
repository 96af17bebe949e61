"""Fit and predict: classifiers, imputers, networks, nuisances. Reads no file, knows no policy."""
