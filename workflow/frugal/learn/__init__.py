"""Fit and predict: trees, networks, imputers, flows, nuisances. Reads no file, knows no policy."""
