"""Imputers that only this study uses, one file a kind."""
