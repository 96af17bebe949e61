"""The declaration of a part: a further content of an answer besides its recommendation.

A part is one file of `answer/parts/`. Its settings, its content, its sentences and its section of
the page are declared there; config, command, library and `decide` find them, and name none.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any

import pandas as pd

from frugal.core.declarations import load_all

if TYPE_CHECKING:
    from frugal.answer.evidence import Judged


@dataclass(frozen=True, eq=False)
class Shown:
    """Contents of which the words of a part are made.

    Attributes:
        choice: the document of `judge_candidates`.
        frame: table of the part itself, None where it has none.
        unit: of costs.
        classes: names of the classes.
        settings: of `write_answer`.
    """

    choice: Mapping[str, Any]
    frame: pd.DataFrame | None
    unit: str
    classes: Sequence[str]
    settings: Mapping[str, Any]


Words = Callable[[Shown], Sequence[str]]


@dataclass(frozen=True, eq=False)
class Section:
    """A section of the page, whose sentences are lines of the text, too.

    Attributes:
        heading: of the sentences.
        sentences: none where the part was not requested.
        table: its heading and how it is made; the page alone has it.
    """

    heading: str
    sentences: Words
    table: tuple[str, Callable[[Shown], pd.DataFrame | None]] | None = None


@dataclass(frozen=True, eq=False)
class Part:
    """A part of an answer.

    Attributes:
        name: its key in `answer.json`, and of its own table where it has one.
        place: in the text and in `answer.json`, a number that no other part has.
        content: judged answer → plain JSON values; None: all from its own table.
        settings: key → type (Switch, Amount, Number or InputFile of `config.blocks`) and meaning;
            a part is requested by the first one. None has a default; a file needs a `stage`, which
            reads it, so that an answer never holds the content of an older file.
        needs: key → premises, words of `config.parts`, or keys that it needs.
        reads: keys of the config that it reads besides.
        paths: further paths of policies (`without_panels`, `recorded_only`, `withheld`) → the
            key that needs it.
        stage: that makes its own table of the judged terms and the file that its first key names.
        person: settings → price of a case that policies hand to a person.
        frame: judged answer → its own table.
        document: content, or where there is none its own table → value in `answer.json`.
        rests: sentences on the evidence of the answer.
        agrees: words for an exception to the agreement of records and causes, or nothing.
        changes: sentences on changes that would alter the answer.
        last: sentences that follow all `changes`.
        section: of its own.
        picture: heading, figure, and a sentence on it, or None.
    """

    name: str
    place: int
    content: Callable[["Judged"], Any] | None = None
    settings: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    needs: Mapping[str, Sequence[str]] = field(default_factory=dict)
    reads: Sequence[str] = ()
    paths: Mapping[str, str] = field(default_factory=dict)
    stage: str = ""
    person: Callable[[Mapping[str, Any]], float] | None = None
    frame: Callable[["Judged"], pd.DataFrame] | None = None
    document: Callable[[Any], Any] = lambda content: content
    rests: Words | None = None
    agrees: Callable[[Shown], str] | None = None
    changes: Words | None = None
    last: Words | None = None
    section: Section | None = None
    picture: Callable[[Shown], tuple[str, Any, str] | None] | None = None


@cache
def parts() -> tuple[Part, ...]:
    """Every part, in the order of the answer."""
    return tuple(sorted(load_all("frugal.answer.parts", "Part").values(), key=lambda p: p.place))
