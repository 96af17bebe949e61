"""Keys of a config that parts of an answer add, as their files declare them without an import.

A part is a file of `answer/parts/`: its `settings` are keys of the config, flags of `frugal decide`
and arguments of `frugal.decide`; no other file names one. Read by the Snakefile, so it imports
nothing heavy.
"""

from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from frugal.config import blocks
from frugal.config.blocks import setting
from frugal.config.declared import placed
from frugal.core.declarations import Declared
from frugal.core.errors import ConfigError
from frugal.core.schema_check import listed

FOLDER = "frugal.answer.parts"
FILE = "InputFile"
_CONVERTED: Mapping[str, Callable[[Any], Any]] = {
    "Switch": lambda value: value in (True, "true"),
    "Amount": float,
    "Number": int,
    FILE: str,
}


_PYTHON: Mapping[str, tuple[type, ...]] = {
    "Switch": (bool,),
    "Amount": (float,),
    "Number": (int,),
    FILE: (str, Path),
}


class PartKey(NamedTuple):
    """A key that a part adds.

    Attributes:
        part: its name.
        word: its type: Switch, Amount, Number or InputFile, names of `config.blocks`.
        doc: its meaning.
        needs: premises of a table, words of `own_table`, or other keys.
    """

    part: str
    word: str
    doc: str
    needs: tuple[str, ...]

    @property
    def allowed(self) -> Any:
        """The type of its values in a config; None where it is not stated."""
        return vars(blocks)[self.word]

    @property
    def python(self) -> tuple[type, ...]:
        """Types of the argument in Python; None is allowed, too."""
        return _PYTHON[self.word]


@cache
def declared_parts() -> Mapping[str, Declared]:
    """Name → declaration, in the order of the answer."""
    return placed(FOLDER, "Part")


@cache
def part_keys() -> Mapping[str, PartKey]:
    """Key of the config → the part that adds it."""
    return {
        key: _key(part, name, key, *entry)
        for name, part in declared_parts().items()
        for key, entry in part.literals.get("settings", {}).items()
    }


def _key(part: Declared, name: str, key: str, word: str, *doc: Any) -> PartKey:
    if word not in _CONVERTED or len(doc) != 1:
        raise ConfigError(
            f"part {name!r}: {key!r} is {(word, *doc)}; allowed is a type, one of "
            f"{listed(_CONVERTED)}, and a meaning"
        )
    if word == FILE and not part.literals.get("stage"):
        raise ConfigError(f"part {name!r}: {key!r} is a file, which a 'stage' has to read")
    return PartKey(name, word, doc[0], tuple(part.literals.get("needs", {}).get(key, ())))


def part_fields() -> dict[str, Any]:
    """Fields of a config: one for each key."""
    return {
        key: (added.allowed | None, setting(None, f"of decide: {added.doc}"))
        for key, added in part_keys().items()
    }


def requested(config: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Part → its settings in plain values, of each part whose first key is stated.

    Keys of the config that a part `reads` are among them.
    """
    stated = {
        key: value
        for key, added in part_keys().items()
        if config[key] is not None and (value := _CONVERTED[added.word](config[key])) is not False
    }
    by_part = {}
    for name, part in declared_parts().items():
        keys = list(part.literals.get("settings", {}))
        if keys and keys[0] in stated:
            read = {key: config[key] for key in part.literals.get("reads", ())}
            amounts = {key: None if v is None else float(v) for key, v in read.items()}
            by_part[name] = {key: stated.get(key) for key in keys} | amounts
    return by_part


def further_paths(config: Mapping[str, Any]) -> list[str]:
    """Further paths of policies that the requested parts need; sorted."""
    settings = requested(config)
    return sorted(
        {
            path
            for name, part in declared_parts().items()
            if name in settings
            for path, key in part.literals.get("paths", {}).items()
            if settings[name][key] is not None
        }
    )


def part_files(config: Mapping[str, Any]) -> dict[str, str]:
    """Key that names a file, and does so in this config → the meaning of the file."""
    files = {key: added.doc for key, added in part_keys().items() if added.word == FILE}
    return {key: doc for key, doc in files.items() if config.get(key) is not None}
