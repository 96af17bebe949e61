"""Data sets: descriptions, raw files, parsing, encoding, splits, and simulated tables."""
