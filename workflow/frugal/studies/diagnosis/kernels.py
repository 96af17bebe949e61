"""Kernels of this study, and the arrays that each is called with: see `run.compiled`."""

from typing import Any

KERNELS: dict[str, tuple[tuple[Any, ...], ...]] = {
    "studies.diagnosis.conditional_gaussian._fill_means": (
        ("f4:2", "?:2", "f8:1", "f8:2", "f8:2", float, "f8:2"),
    ),
    "studies.diagnosis.conditional_gaussian._fill_moments": (
        ("f4:2", "?:2", "f8:1", "f8:2", float, "f8:2", "f8:2"),
    ),
    "studies.diagnosis.conditional_gaussian._pull_back": (("f4:2", "?:2", "f8:2", float, "f8:2"),),
}
