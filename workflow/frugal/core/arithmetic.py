"""`arithmetic: portable`: a process whose results have the same bytes on any x86-64 CPU with AVX2.

Numerical libraries choose their kernels by the processor; other kernels sum in another order, and
training amplifies that rounding. Each variable below is read when its library is loaded, glibc's
before Python starts, so a process that lacks them begins again with them, before it has imported
anything. docs/how-to/arithmetic.md lists the measurements. Stages never import this: a digest
covers it where portable arithmetic is requested, and nowhere else.
"""

import importlib.util
import os
import sys
import warnings
from collections.abc import Callable, Mapping
from importlib.abc import MetaPathFinder
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from frugal.core.errors import ConfigError

if TYPE_CHECKING:
    import numpy as np


# PyTorch's name → NumPy's
FUNCTIONS = {
    "sqrt": "sqrt",
    "log": "log",
    "log2": "log2",
    "log10": "log10",
    "atan": "arctan",
    "acos": "arccos",
    "asin": "arcsin",
    "tan": "tan",
}
_registered: list[Any] = []  # what is registered lasts as long as the object that registered it


def correct_torch_when_loaded() -> None:
    """Have PyTorch's functions replaced as soon as PyTorch is imported, if it ever is."""
    if "torch" in sys.modules:
        _replace_functions()
    elif not any(isinstance(finder, _AfterTorch) for finder in sys.meta_path):
        sys.meta_path.insert(0, _AfterTorch())


class _AfterTorch(MetaPathFinder):
    """Finds nothing itself; lets PyTorch be found, and replaces its functions once it is loaded."""

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> Any:
        if fullname != "torch":
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(fullname)
        if spec is not None and spec.loader is not None:
            load = spec.loader.exec_module

            def load_and_replace(module: Any) -> None:
                load(module)
                _replace_functions()

            spec.loader.exec_module = load_and_replace
        return spec


def _replace_functions() -> None:
    """Register NumPy's functions as PyTorch's own on the CPU; gradients stay PyTorch's."""
    if _registered:
        return
    import numpy as np
    import torch

    library = torch.library.Library("aten", "IMPL")
    _registered.append(library)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch warns that a kernel is replaced, which is intended
        for name, numpys in FUNCTIONS.items():
            for overload, kernel in _kernels(getattr(np, numpys)).items():
                library.impl(name + overload, kernel, "CPU", allow_override=True)


def _kernels(function: "np.ufunc") -> dict[str, Callable[..., Any]]:
    """Kernel that PyTorch calls for a new result, in place, and into a given tensor."""
    import numpy as np
    import torch

    direct = (torch.float32, torch.float64, torch.complex64, torch.complex128)

    def new(x):
        if x.dtype in direct:
            return into(x, torch.empty_like(x))
        if x.is_floating_point():  # halves, which NumPy has not
            return new(x.float()).to(x.dtype)
        return new(x.to(torch.get_default_dtype()))

    def into(x, out):
        if x.dtype is not out.dtype or x.dtype not in direct:
            return out.copy_(new(x))
        with np.errstate(all="ignore"):
            function(x.detach().numpy(), out=out.detach().numpy())
        return out

    def resized(x, *, out):
        return into(x, out if out.shape == x.shape else out.resize_(x.shape))

    return {"": new, "_": lambda x: into(x, x), ".out": resized}


PORTABLE = "portable"
FULL_NAME = f"--arithmetic={PORTABLE}"
PINS = {
    "ATEN_CPU_CAPABILITY": "avx2",  # PyTorch's own kernels
    "MKL_CBWR": "COMPATIBLE",  # MKL in PyTorch: its one mode that ignores the maker of the CPU
    "ONEDNN_MAX_CPU_ISA": "AVX2",  # oneDNN in PyTorch
    "OPENBLAS_CORETYPE": "Haswell",  # both copies of OpenBLAS, NumPy's and SciPy's
    "NPY_ENABLE_CPU_FEATURES": "X86_V3",  # NumPy's functions, sums and sorts: AVX2 and no more
    "NUMBA_CPU_NAME": "haswell",  # what numba compiles for; its cache is kept by this
    "NUMBA_CPU_FEATURES": "",  # those of that CPU
    "ARROW_USER_SIMD_LEVEL": "AVX2",  # Arrow's sums
}
# glibc takes exp, log and sin with FMA on every CPU with AVX2. The first word keeps variants of
# libraries for AVX-512 out (glibc-hwcaps/x86-64-v4), the second those of AMD CPUs before 2017.
_GLIBC, _HWCAPS = "GLIBC_TUNABLES", "glibc.cpu.hwcaps="
_HWCAPS_PINNED = f"{_HWCAPS}-AVX512F,-FMA4"
# What would take precedence over a pin, contradict it, or change how OpenBLAS cuts matrices.
_LEFT_OUT = (
    "MKL_ENABLE_INSTRUCTIONS",
    "MKL_DEBUG_CPU_TYPE",
    "DNNL_MAX_CPU_ISA",
    "NPY_DISABLE_CPU_FEATURES",
    "OPENBLAS_BLOCK_FACTOR",
    "OPENBLAS_L2_SIZE",
    "NUMBA_DISABLE_JIT",
    "NUMBA_OPT",
)
_NEEDED = ("avx2", "fma")
_BEGUN_AGAIN = "FRUGAL_BEGUN_AGAIN"  # the process that did; the same one need not try twice


def pinned(environment: Mapping[str, str]) -> dict[str, str]:
    """An environment with all pins; its own, where it has them already."""
    remaining = {name: value for name, value in environment.items() if name not in _LEFT_OUT}
    tunables = remaining.get(_GLIBC, "").split(":")
    others = [word for word in tunables if word and not word.startswith(_HWCAPS)]
    return remaining | PINS | {_GLIBC: ":".join([*others, _HWCAPS_PINNED])}


def is_pinned() -> bool:
    """Whether this process began with all pins."""
    return pinned(os.environ) == dict(os.environ)


def requests_portable(words: list[str]) -> bool:
    """Whether a command line contains `--arithmetic portable`."""
    return FULL_NAME in words or ("--arithmetic", PORTABLE) in pairwise(words)


def begin_pinned(words: list[str]) -> None:
    """Begin this process again with all pins if its arguments demand it; a pinned one goes on.

    Args:
        words: of the command line.

    Raises:
        ConfigError: this CPU lacks an instruction set that portable arithmetic needs.
    """
    if is_pinned():
        from frugal.core.arithmetic import correct_torch_when_loaded

        correct_torch_when_loaded()
    elif requests_portable(words):
        _require_cpu(Path("/proc/cpuinfo"))
        marker = {_BEGUN_AGAIN: str(os.getpid())}
        if os.environ.get(_BEGUN_AGAIN) == marker[_BEGUN_AGAIN]:
            raise ConfigError(
                "this Python changes its environment variables, so arithmetic cannot be "
                "pinned; find the code that does (a sitecustomize.py, say), or set arithmetic: fast"
            )
        environment = pinned(os.environ) | marker
        os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], environment)


def _require_cpu(cpuinfo: Path) -> None:
    flags = cpuinfo.read_text(encoding="utf-8").split() if cpuinfo.is_file() else []
    if lacking := [flag for flag in _NEEDED if flag not in flags]:
        raise ConfigError(
            f"this machine's CPU has no {' and no '.join(lacking)}; arithmetic: portable needs an "
            "x86-64 CPU with avx2 and fma (Intel from 2013, AMD from 2017), so set arithmetic: fast"
        )
