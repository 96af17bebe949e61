"""Frugal: which panel to acquire next, and whether that answer can be trusted.

The public names are those of `frugal.library`, loaded at their first use. No
import is written out, for a stage's digest would then cover the library.
"""

from importlib import import_module
from typing import Any

__version__ = "1.0.0"


def __getattr__(name: str) -> Any:
    """A name of `frugal.library.__all__`."""
    if not name.startswith("_"):
        library = import_module("frugal.library")
        if name in library.__all__:
            return getattr(library, name)
    raise AttributeError(f"module 'frugal' has no attribute {name!r}")


def __dir__() -> list[str]:
    """The names of the library."""
    return sorted([*globals(), *import_module("frugal.library").__all__])
