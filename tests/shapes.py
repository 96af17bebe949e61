"""Types and shapes of the package are checked once a call: parameters before it, the result after.

`--jaxtyping-packages` wraps every function by `jaxtyping.jaxtyped`. That checks the parameters a
second time along with the result, and binds them by `inspect` before; in tests of short functions
this took half of the time. Here the type checker wraps the function itself, and axes are remembered
from its parameters to its result all the same. In each test the first 20 calls of a function are
checked: further ones rarely have other shapes, and took a seventh of the time of statistical tests.
"""

import functools
import inspect
import types
import typing
from collections.abc import Callable
from typing import Any

import jaxtyping
from jaxtyping import _decorator
from jaxtyping._storage import pop_shape_memo, push_shape_memo

CHECKED = 20  # calls of each function in each test
_test = 0  # number of the test that runs
_jaxtyped = _decorator.jaxtyped
_inner: dict[Any, Any] = {}  # checks of inner functions, by their code and annotations


def install() -> None:
    """Before any module of the package is imported."""
    jaxtyping.jaxtyped = _decorator.jaxtyped = checked
    # A class does not change; Python 3.12 keeps what 3.11 looks for at every `isinstance`.
    attributes = "_get_protocol_attrs"
    setattr(typing, attributes, functools.cache(getattr(typing, attributes)))


def begin_test() -> None:
    """Check the next calls of every function."""
    global _test
    _test += 1


def checked(fn: Any = None, *, typechecker: Callable[[Any], Any]) -> Any:
    """A function whose calls are checked; classes and methods of all kinds as jaxtyping does."""
    if fn is None:
        return functools.partial(checked, typechecker=typechecker)
    if inspect.isclass(fn) and hasattr(fn.__init__, "checked_once"):
        return fn  # inherited
    if not inspect.isfunction(fn) or _computes_axes(fn):
        return _jaxtyped(fn, typechecker=typechecker)
    inner: Any = None  # checks take beartype 2 ms a function, most of which a test never calls
    calls, test = 0, _test

    @functools.wraps(fn)
    def once(*args: Any, **kwargs: Any) -> Any:
        __tracebackhide__ = True
        nonlocal inner, calls, test
        if test != _test:
            calls, test = 0, _test
        calls += 1
        if calls > CHECKED:
            return fn(*args, **kwargs)
        if inner is None:
            inner = _checks(fn, typechecker)
        push_shape_memo({})
        try:
            return inner(*args, **kwargs)
        finally:
            pop_shape_memo()

    once.__dict__["checked_once"] = True
    return once


def _checks(fn: Any, typechecker: Callable[[Any], Any]) -> Any:
    """The function with its checks."""
    for name, annotation in fn.__annotations__.items():
        if not inspect.isclass(annotation):  # names that are imported for type checkers alone
            fn.__annotations__[name] = _decorator._destring_annotation(annotation, fn.__globals__)
    return _bound(fn, typechecker) if "<locals>" in fn.__qualname__ else typechecker(fn)


def _bound(fn: Any, typechecker: Callable[[Any], Any]) -> Any:
    """The checks of a function that is defined anew at every call of another.

    They are compiled once, which takes beartype 2 ms, and then bound to each that has the same code
    and annotations.
    """
    key = fn.__code__, str(fn.__annotations__)
    if key not in _inner:
        _inner[key] = typechecker(fn)
        return _inner[key]
    made = _inner[key]
    if "__beartype_func" not in (made.__kwdefaults__ or {}):
        return typechecker(fn)  # nothing is checked
    bound = types.FunctionType(made.__code__, made.__globals__, fn.__name__)
    bound.__kwdefaults__ = made.__kwdefaults__ | {"__beartype_func": fn}
    return bound


def _computes_axes(fn: Callable[..., Any]) -> bool:
    """Whether an axis is computed of the parameters, as in "n {world.panels}+1"."""
    return any("{" in str(getattr(a, "dim_str", a)) for a in fn.__annotations__.values())
