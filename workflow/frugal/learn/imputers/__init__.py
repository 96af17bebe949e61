"""Imputers: one file a kind, each with its declaration."""
