"""Kernels of this study, and the arrays that each is called with: see `run.compiled`."""

from typing import Any

KERNELS: dict[str, tuple[tuple[Any, ...], ...]] = {
    "studies.recourse.solvers.search_tree.solve_amounts": (("i8:2", "i8:1", "i8:2", int),),
    "studies.recourse.solvers.branch_and_bound.covers_by_feature": (("i2:2", "u8:2", int),),
    "studies.recourse.solvers.branch_and_bound.look_up": (("u8:2", "u8:2", "i8:1"),),
    "studies.recourse.solvers.branch_and_bound.sets_in_cost_order": (("i8:1", int),),
    "studies.recourse.solvers.lagrangian_bound.too_dear": (
        ("i8:1", "?:1", "i8:1", ("i8:1", "i8:1", "i8:1"), int, "f8:1"),
    ),
    "studies.recourse.solvers.lagrangian_tree.solve_choices": (
        (
            "i8:2",
            "i8:1",
            ("i8:1", "i8:1", "i8:1"),
            ("i8:1", "i8:1"),
            (("i8:1", "i8:1"), ("i8:1", "i8:1"), ("i8:1", "i8:1")),
            ("?:2", "?:2", "i8:1", "i8:1"),
            int,
            int,
            "f8:2",
        ),
    ),
    "studies.recourse.solvers.search_tree.solve_batch": (
        ("u8:2", "i8:1", "u8:2", "u8:2", "u8:2", int),
    ),
    "studies.recourse.generators.hamming._nearest": (("u8:2", "u8:2", int),),
}
