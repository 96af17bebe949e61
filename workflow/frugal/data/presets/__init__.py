"""Formats of long files, a declaration each; see `data/long_formats.py`."""
