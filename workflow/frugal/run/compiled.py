"""`python -m frugal compile`: numba's kernels, compiled once, when the environment is made.

Each kernel that the package calls is compiled for the arrays that it is called with, and kept where
numba keeps it, next to the modules. A kernel that is missing here is compiled by the first job.
"""

import importlib
from typing import Any

import numba
import numpy as np

from frugal.core.studies import of_studies

NODE = "node"  # a record of a stored tree
KERNELS: dict[str, tuple[tuple[Any, ...], ...]] = {
    "learn.histogram_trees.add_forest": (
        ("u1:2", "i8:1", "f8:1", "u1:2", int, int, int, int, "u8:1", "f8:2"),
    ),
    "learn.tree_kernels.add_leaves": ((NODE, "i4:1", "f8:2", "f4:2", "f8:2"),),
    "learn.tree_kernels.add_leaves_of_all_sets": (
        (NODE, "i4:1", "f8:2", "f4:2", "u4:1", "?:1", int, "f8:3"),
    ),
}
for _module in of_studies("kernels").values():
    KERNELS |= importlib.import_module(_module).KERNELS


def compile_command(words: list[str]) -> int:
    """Compile all kernels that are not compiled yet; returns the exit status."""
    import sys
    from concurrent.futures import ProcessPoolExecutor

    from tqdm import tqdm

    from frugal.core.arguments import command_parser

    parser = command_parser("compile", __doc__)
    parser.add_argument(
        "--arithmetic",
        choices=("fast", "portable"),
        default="fast",
        help="for which arithmetic; numba keeps both side by side",
    )
    parser.parse_args(words)
    with ProcessPoolExecutor() as workers:  # as many as there are CPUs
        done = workers.map(compile_kernel, KERNELS)
        list(tqdm(done, total=len(KERNELS), desc="kernels", file=sys.stderr, mininterval=2))
    return 0


def compile_kernel(kernel: str) -> None:
    """Compile one kernel for each of its kinds of arguments, without calling it."""
    module, name = kernel.rsplit(".", 1)
    loaded = importlib.import_module(f"frugal.{module}")
    for arguments in KERNELS[kernel]:
        getattr(loaded, name).compile(tuple(_type_of(argument) for argument in arguments))


def _type_of(argument: Any) -> Any:
    """Numba's type of `dtype:dimensions[:order]`, of a stored tree, a Python number, or a tuple."""
    if isinstance(argument, type):
        return numba.typeof(argument())
    if isinstance(argument, tuple):
        return numba.types.BaseTuple.from_types([_type_of(part) for part in argument])
    if argument == NODE:
        from frugal.learn import trees

        return numba.typeof(np.empty(0, trees.NODE))
    dtype, dimensions, order = (*argument.split(":"), "C")[:3]
    return numba.types.Array(numba.from_dtype(np.dtype(dtype)), int(dimensions), order)
