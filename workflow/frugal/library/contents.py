"""What an object of the library holds, as a tree of its public names."""

from collections.abc import Iterator
from typing import Any

from frugal.core.errors import say


class WithHelp:
    """An object that prints its contents."""

    def help(self) -> None:
        """Print a tree of its attributes and methods, each with its meaning."""
        say(repr(self), *_lines(type(self), ""))


def _lines(of: type, indent: str) -> Iterator[str]:
    """A line for each public name, and below it those of the objects that it leads to."""
    names = {name: each for base in reversed(of.__mro__[:-1]) for name, each in vars(base).items()}
    for name, each in sorted(names.items()):
        if name.startswith("_") or not (callable(each) or isinstance(each, property)):
            continue
        doc = (each.__doc__ or "").split("\n")[0]
        yield f"{indent}├── {name}{'' if isinstance(each, property) else '(…)'}  {doc}"
        if isinstance(each, property) and (inner := _leads_to(each)) is not None:
            yield from _lines(inner, f"{indent}│   ")


def _leads_to(attribute: property) -> type | None:
    """The class of an attribute, where it prints its contents, too."""
    leads_to: Any = getattr(attribute.fget, "__annotations__", {}).get("return")
    return leads_to if isinstance(leads_to, type) and issubclass(leads_to, WithHelp) else None
