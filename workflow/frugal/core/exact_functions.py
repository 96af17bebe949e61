"""Functions of PyTorch that MKL starts from an approximation which each maker of CPUs tabulates.

RSQRTPS and RCPPS give 12 correct bits, other ones on Intel than on AMD, and MKL's vector functions
read them even where its conditional reproducibility is asked for. Those functions are NumPy's here,
which uses no such instruction. For processes with portable arithmetic alone; knows no stage.
"""

import importlib.util
import sys
import warnings
from collections.abc import Callable
from importlib.abc import MetaPathFinder
from typing import Any

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
_kept: list[Any] = []  # what is registered lasts as long as the object that registered it


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
    if _kept:
        return
    import torch

    library = torch.library.Library("aten", "IMPL")
    _kept.append(library)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch tells that a kernel is replaced, as it is meant
        for name, numpys in FUNCTIONS.items():
            for overload, kernel in _kernels(getattr(np, numpys)).items():
                library.impl(name + overload, kernel, "CPU", allow_override=True)


def _kernels(function: np.ufunc) -> dict[str, Callable[..., Any]]:
    """What PyTorch calls for a new result, in place, and into a given tensor."""
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
