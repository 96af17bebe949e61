"""A data frame or file as the table of a YAML: the guesses of `frugal init`, with terms.

Nothing is decided here: `data.guessing` guesses the columns, `run.table_yaml` writes the YAML,
and the frame becomes the CSV that it names. So a frame gives the numbers of its YAML.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from frugal.core.errors import ConfigError, DataError, FrugalError, argument
from frugal.core.schema_check import listed
from frugal.library.question import Question, TemporaryFolder, ask, require

if TYPE_CHECKING:
    import pandas as pd

    from frugal.data.guessing import TableGuess
    from frugal.data.opening import Opened
    from frugal.run.table_yaml import StatedTerms


@dataclass(frozen=True, eq=False)
class Described:
    """A data frame, or a table's file, with its description.

    Attributes:
        opened: its cells as texts.
        guess: types and roles of its columns.
        label: the column to predict.
        terms: panels, prices and costs of errors.
        name: of the data set.
        index: labels of the frame's rows; None for a file. (n,)
    """

    opened: "Opened"
    guess: "TableGuess"
    label: str
    terms: "StatedTerms"
    name: str
    index: "pd.Index | None"

    @contextmanager
    def rows_named(self) -> Iterator[None]:
        """Refusals that cite the YAML and CSV of these cells cite the arguments and the rows."""
        from frugal.data.parsing import STATE_MISSING

        yaml, csv = re.escape(f"{self.name}.yaml"), re.escape(f"{self.name}.csv")
        cited = "the data frame" if self.index is not None else self.opened.where

        def row(match: "re.Match[str]") -> str:
            within = self.opened.cells.apply(lambda cells: cells.str.count("\n")).sum(axis=1)
            ends = 1 + (1 + within.to_numpy()).cumsum()  # of each record; names are above
            at = int(ends.searchsorted(int(match[1])))
            if self.index is None:
                return f"{self.opened.where}, line {self.opened.line[at]}"
            return f"row {self.index[at]!r} of the data frame (position {at})"

        try:
            yield
        except FrugalError as error:
            text = re.sub(rf"\S*/{yaml}: ", "", str(error))
            sentence = re.sub(rf"(?:\S*/)?{csv}, line (\d+)", row, text)
            sentence = re.sub(rf"(?:\S*/)?{csv}(?!\w)", cited, self._in_arguments(sentence))
            if sentence == str(error):
                raise
            remedy = "replace it by NaN" if self.index is not None else "empty the cell"
            raise type(error)(sentence.replace(STATE_MISSING, remedy)) from error

    def _in_arguments(self, sentence: str) -> str:
        """Keys of the YAML's prices and costs as the arguments from which they were made."""
        from frugal.run.table_yaml import errors_between

        names = [panel["name"] for panel in self.terms.panels_of(self.guess)]
        errors = errors_between(self.guess.priced_classes)
        name_of = {place: name for name, place in reversed(errors.items())}

        def price(key: "re.Match[str]") -> str:
            return argument("prices", names[int(key[1])]) + (f" {key[2]!r}" if key[2] else "")

        def cost(key: "re.Match[str]") -> str:
            return argument("errors", name_of[int(key[1]), int(key[2])])

        sentence = re.sub(r"'?panels\[(\d+)\](?: \(.*?\))?\.cost(?:\.(\w+))?'?", price, sentence)
        return re.sub(r"'?misclassification_cost\[(\d)\]\[(\d)\]'?", cost, sentence)

    @property
    def remarks(self) -> tuple[str, ...]:
        """Guesses, and values to check; a sentence each."""
        from frugal.run.table_yaml import remarks_on

        return tuple(remarks_on(self.opened, self.guess, self.terms.panels_of(self.guess)))

    def files(self, path: Path) -> dict[Path, bytes]:
        """The YAML and the CSV that it names, next to it."""
        from frugal.run.table_yaml import describe_guess

        table = path.with_suffix(".csv")
        opened = replace(self.opened, path=table)
        text = describe_guess(opened, self.guess, self.label, path, self.terms, self.name)
        cells = opened.cells.to_csv(index=False, lineterminator="\n")
        return {path: text.encode(), table: cells.encode()}


def is_frame(value: object) -> bool:
    """Whether a value is a data frame of pandas, or of a library that converts to one."""
    kinds = ("to_pandas", "__arrow_c_stream__", "__dataframe__")
    named = any(type_.__name__ == "DataFrame" for type_ in type(value).__mro__)
    return named or any(hasattr(value, kind) for kind in kinds)


def is_row(cases: object) -> bool:
    """Whether cases are one, as a mapping, a Series or an array of one dimension."""
    return isinstance(cases, Mapping) or getattr(cases, "ndim", None) == 1


def as_cases(cases: Any, columns_of: Callable[[], Sequence[str]]) -> "pd.DataFrame | Path":
    """New cases as a frame, or the path of their file.

    Args:
        cases: one or several in any form.
        columns_of: names of the table's columns, in the order of an array.

    Raises:
        ConfigError: it is none of these, or an array of another width.
    """
    import numpy as np
    import pandas as pd

    if isinstance(cases, np.ndarray):
        columns = list(columns_of())
        if cases.ndim not in (1, 2) or cases.shape[-1] != len(columns):
            raise ConfigError(
                f"cases are an array of shape {cases.shape}; allowed are {len(columns)} columns: "
                f"{listed(columns)}"
            )
        return pd.DataFrame(np.atleast_2d(cases), columns=columns)
    if is_row(cases):
        return pd.DataFrame([dict(cases)])
    if is_frame(cases):
        return as_pandas(cases)
    allowed = "a data frame, one case as a mapping or Series, an array, or the path of a CSV"
    require("cases", cases, (str, Path), allowed)
    return Path(cases)


def as_pandas(frame: Any) -> "pd.DataFrame":
    """The frame in pandas: as it is, or converted from Polars, Arrow or another library.

    Raises:
        DataError: it cannot be converted.
    """
    import pandas as pd
    import pyarrow as pa

    def digit_by_digit(kind: pa.DataType) -> Any:  # with a gap, they would be float64
        return pd.ArrowDtype(kind) if pa.types.is_integer(kind) else None

    try:
        if isinstance(frame, pd.DataFrame):
            return frame
        if hasattr(frame, "to_arrow") and not hasattr(frame, "__arrow_c_stream__"):
            frame = frame.to_arrow()
        if hasattr(frame, "__arrow_c_stream__"):
            return pa.table(frame).to_pandas(types_mapper=digit_by_digit)
        if hasattr(frame, "to_pandas"):
            return frame.to_pandas()
        return pa.table(frame).to_pandas(types_mapper=digit_by_digit)
    except (TypeError, ValueError, AttributeError, ImportError) as error:
        raise DataError(
            f"the table is a {type(frame).__name__}, which pandas cannot read ({error}); allowed "
            "are data frames of pandas, Polars or Arrow"
        ) from None


def _opened(table: Any, name: str, label: str, stated: Mapping[str, Any]) -> "Opened":
    """The cells of a data frame, or of a table's file, as the CSV that a YAML names."""
    from frugal.data.opening import open_frame, open_table

    if is_frame(table):
        for key, of in (("sheet", "a spreadsheet"), ("format", "a long file")):
            if stated[key] is not None:
                raise ConfigError(f"{key} is {stated[key]!r}; it goes with the path of {of}")
        return open_frame(as_pandas(table), Path(f"{name}.csv"))
    path = Path(table)
    if not path.is_file():
        raise DataError(f"there is no file {path}")
    without = list(map(str, stated["leave_out"] or ()))
    how = {"sheet": stated["sheet"], "form": stated["format"]}
    opened = open_table(path, path, None, without=without, holds=[label], **how)
    written = opened.as_csv(Path(f"{name}.csv"), "")
    return replace(written, remarks=opened.remarks[opened.converted :])


def describe(table: Any, stated: Mapping[str, Any]) -> Described:
    """The description of a data frame, or of a table's file.

    Args:
        table: a frame of pandas, or of a library that converts to it, whose index is for messages
            alone; or the path of a file, as `frugal init` reads it.
        stated: arguments of `load` by name, None where left out.

    Raises:
        ConfigError: an argument is missing that cannot be guessed, or is of another type.
        DataError: an argument names an unknown column, or cells of a column cannot be written as
            text.
    """
    from frugal.data.cell_texts import plain_text
    from frugal.data.guessing import known_at_start, left_out
    from frugal.run.table_yaml import (
        UNLABELLED,
        StatedTerms,
        guess_opened,
        require_exact_names,
        require_feature,
    )

    label, name = stated["label"], stated["name"] or "table"
    if label is None:
        raise ConfigError(
            "label is None; with a data frame it is the name of the column to predict"
        )
    _require_name(name)
    pairs = "names with numbers, such as {'crp': 12}"
    kinds = {
        "prices": (Mapping, pairs),
        "errors": (Mapping, pairs),
        "panels": (Mapping, "names with lists of columns"),
        "free": ((list, tuple, set), "a list of names of columns"),
        "leave_out": ((list, tuple, set), "a list of names of columns"),
        "unit": (str, "a text, such as 'EUR'"),
        "predict": (Mapping, "keys, such as {'loss': 'absolute', 'price': 50}"),
    }
    for key, (kind, allowed) in kinds.items():
        if stated[key] is not None:
            require(key, stated[key], kind, allowed)
    unlabelled = stated["unlabelled"] or UNLABELLED[0]
    if unlabelled not in UNLABELLED:
        raise ConfigError(f"unlabelled is {unlabelled!r}; allowed are {listed(UNLABELLED)}")
    opened = _opened(table, name, str(label), stated)
    positive = stated["positive"]
    guess = guess_opened(
        opened,
        str(label),
        positive=None if positive is None else plain_text(positive),
        weigh=unlabelled == "weigh",
        predict=stated["predict"],
    )
    guess = left_out(guess, list(map(str, stated["leave_out"] or ())), "leave_out")
    require_feature(opened.where or "the data frame", guess)
    require_exact_names(opened, guess, str(label))
    terms = StatedTerms(
        [str(panel_name) for panel_name in stated["free"] or ()],
        {str(key): [str(c) for c in columns] for key, columns in (stated["panels"] or {}).items()},
        {str(key): price for key, price in (stated["prices"] or {}).items()},
        {str(key): cost for key, cost in (stated["errors"] or {}).items()},
        stated["unit"] or "EUR",
        unlabelled=unlabelled,
    )
    terms.require_all(guess)
    guess = known_at_start(guess, terms.free)
    index = as_pandas(table).index if is_frame(table) else None
    return Described(opened, guess, str(label), terms, name, index)


def ask_frame(
    described: Described, folder: str | Path | None, config: Any, **keys: Any
) -> Question:
    """The question about a data frame; its files lie in the folder, or in a temporary one.

    Raises:
        ConfigError, DataError: as `ask`; or the folder holds another table of that name.
    """
    from frugal.results.replacing import replace_files

    scratch = TemporaryFolder()
    place = scratch if folder is None else Path(folder)
    files = described.files(place / f"{described.name}.yaml")
    for path, content in files.items():
        if folder is not None and path.exists() and path.read_bytes() != content:
            raise ConfigError(
                f"name is {described.name!r}, and {path} is another table; choose another name or "
                "folder"
            )
    path = next(iter(files))
    path.parent.mkdir(parents=True, exist_ok=True)
    replace_files(files)
    question = ask(path, folder, config, **keys)
    return replace(question, scratch=scratch, described=described)


def _require_name(name: object) -> None:
    from frugal.run.table_yaml import short_name

    if not isinstance(name, str) or short_name(name) != name:
        raise ConfigError(
            f"name is {name!r}; allowed are small letters, digits and underscores, a letter first"
        )
