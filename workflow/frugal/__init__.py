"""Frugal: which panel to acquire next, and whether that answer can be trusted.

The public names are those of `frugal.library` and of each `studies/NAME/verbs.py`, loaded at their
first use. No import is written out, for a stage's digest would then cover all of them.
"""

from importlib import import_module
from pathlib import Path
from typing import Any

__version__ = "1.0.0"


def _modules() -> list[str]:
    """The library and the verbs of the studies, found by their folders."""
    verbs = sorted(Path(__file__).parent.glob("studies/*/verbs.py"))
    return ["frugal.library", *(f"frugal.studies.{path.parent.name}.verbs" for path in verbs)]


def __getattr__(name: str) -> Any:
    """A name of `__all__` of one of these modules."""
    if not name.startswith("_"):
        for module in map(import_module, _modules()):
            if name in module.__all__:
                return getattr(module, name)
    raise AttributeError(f"module 'frugal' has no attribute {name!r}")


def __dir__() -> list[str]:
    """All public names."""
    modules = map(import_module, _modules())
    return sorted([*globals(), *(name for module in modules for name in module.__all__)])
