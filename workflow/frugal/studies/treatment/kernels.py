"""Kernels of this study, and the arrays that each is called with: see `run.compiled`."""

from typing import Any

KERNELS: dict[str, tuple[tuple[Any, ...], ...]] = {
    "studies.treatment.search.environment._play": (
        ("i1:2", "i8:1", "i8:2", int, "i8:2", "i8:1", "i8:1", "i8:2"),
    ),
    "studies.treatment.models.outcome_tables._sum_sub_histories": (("f8:2", int, int),),
    "studies.treatment.models.outcome_tables.smooth_cells": (
        ("i8:1", "f8:2", int, "f8:2", float, float, "f8:2", "f8:2"),
    ),
    "studies.treatment.planning.constrained.bound_pass": (("f8:4", "i8:1", int, "f8:2"),),
    "studies.treatment.planning.constrained.exact_pass": (("f8:4", "i8:1", int, "f8:2", "f8:2"),),
    "studies.treatment.planning.constrained.greedy_pass": (
        ("f8:4", "f8:1", "?:2", float, "f8:2", "i1:2"),
    ),
    "studies.treatment.planning.constrained.optimal_pass": (
        ("f8:4", "f8:2", float, float, float, bool, "f8:2", "i1:2"),
    ),
}
