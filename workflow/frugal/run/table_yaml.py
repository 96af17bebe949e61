"""The YAML of one's own table: a guess with a user's statements, written out and commented.

A price that is not stated is left open, and a run without it is refused. `frugal init`, `frugal
decide` and `frugal.load` describe a table by the same statements.
"""

import re
import sys
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import yaml

from frugal.config.dataset import RESERVED_COLUMNS
from frugal.core.errors import ConfigError, DataError, argument, shown_cell
from frugal.core.schema_check import did_you_mean, listed, shown
from frugal.data.cell_texts import MARKS
from frugal.data.guessing import Guess, TableGuess, grouped, guess_table
from frugal.data.opening import Opened

UNLABELLED = ("drop", "weigh")
_START = "known at the start"
_ERRORS = "misclassification_cost:   # row: true class; column: predicted class; in cost_unit"
Amount = int | float | Mapping[str, Any]  # a number, or a cost as the YAML has it
_CLUSTER = "rows of one value stay in one part, and intervals count them as one"


@dataclass(frozen=True)
class StatedTerms:
    """Statements about a table in addition to its cells.

    Attributes:
        free: columns that are known at the start, without a price.
        panels: name → columns that are acquired together; others are guessed.
        prices: panel → price; one of a single column makes it a panel.
        errors: "missed", "false alarm", or "TRUE as PREDICTED" → cost.
        unit: of prices and costs of errors.
        by_prefix: whether a common prefix makes a panel of the other columns.
        unlabelled: of rows without a label: drop or weigh.
    """

    free: Sequence[str] = ()
    panels: Mapping[str, Sequence[str]] = field(default_factory=dict)
    prices: Mapping[str, Any] = field(default_factory=dict)
    errors: Mapping[str, Any] = field(default_factory=dict)
    unit: str = "EUR"
    by_prefix: bool = False
    unlabelled: str = "drop"

    def panels_of(self, guess: TableGuess) -> list[dict[str, Any]]:
        """Panels as the YAML has them; the cost is None where no price is stated.

        Raises:
            DataError: a name is none of a feature or of a panel, or a price is no number from 0 on.
        """
        features = {column.name: column for column in guess.columns if column.kind != "out"}
        terms = self._varying(guess)
        free = [name for name in features if name in terms.free]
        stated = {**({_START: free} if free else {}), **terms.panels}
        for name in terms.free:
            self._require("free", name, features, "the features are", guess)
        assigned: set[str] = set()
        for name in (name for columns in stated.values() for name in columns):
            self._require("panels", name, features, "the features are", guess)
            if name in assigned:
                raise DataError(f"{argument('panels')}: {name!r} is in two panels; allowed is one")
            assigned.add(name)
        rest = [column for name, column in features.items() if name not in assigned]
        alone = [(column.name, [column.name]) for column in rest if column.name in terms.prices]
        guessed = _groups(
            [column for column in rest if column.name not in terms.prices], self.by_prefix
        )
        order = list(features)
        groups = sorted([*alone, *guessed], key=lambda group: order.index(group[1][0]))
        panels = []
        for name, columns in (*stated.items(), *groups):
            end = {"free": True} if free and not panels else {"cost": None}
            while name in [panel["name"] for panel in panels]:
                name += "_"
            panels.append({"name": name, "columns": [unreserved(c) for c in columns], **end})
        priced = {panel["name"]: panel for panel in panels if "cost" in panel}
        for name, price in terms.prices.items():
            self._require("prices", name, priced, "the panels with a price are", guess)
            priced[name]["cost"] = self._cost("prices", name, price)
        return panels

    def _varying(self, guess: TableGuess) -> "StatedTerms":
        """The terms without columns of one value, and without panels of such columns alone."""
        constant = {column.name for column in guess.columns if column.constant}
        panels = {
            name: [column for column in columns if column not in constant]
            for name, columns in self.panels.items()
            if not columns or not constant.issuperset(columns)
        }
        left_out = (constant | set(self.panels)) - set(panels)
        prices = {name: price for name, price in self.prices.items() if name not in left_out}
        free = [name for name in self.free if name not in constant]
        return replace(self, free=free, panels=panels, prices=prices)

    def errors_of(self, classes: Sequence[str]) -> list[list[Amount | None]]:
        """Cost of each prediction (column) of each class (row); None where none is stated.

        Raises:
            DataError: a name is no error of these classes, or a cost is no number from 0 on.
        """
        errors, k = errors_between(classes), range(len(classes))
        rows: list[list[Amount | None]] = [[None if i != j else 0 for j in k] for i in k]
        for name, cost in self.errors.items():
            spaced = _spaced(name, errors)
            self._require(
                "errors",
                spaced,
                errors,
                f"the label has the values {listed(classes)}; the errors are"
                if classes
                else "the label is a number; the errors are",
            )
            i, j = errors[spaced]
            stated = self._cost("errors", name, cost)
            if rows[i][j] not in (None, stated):
                other = next(n for n in self.errors if errors[_spaced(n, errors)] == (i, j))
                raise DataError(
                    f"{argument('errors')}: {other!r} and {name!r} are one error with two numbers, "
                    f"{shown_cell(self.errors[other])} and {shown_cell(cost)}; allowed is one"
                )
            rows[i][j] = stated
        return rows

    def require_all(self, guess: TableGuess, *, counted: bool = False) -> None:
        """Refuse a price, or the cost of an error, that is not stated, and costs that are all 0.

        Args:
            guess: of the table.
            counted: errors are counted, as F1 does, and have no cost.

        Raises:
            DataError: names all of them.
        """
        classes = guess.priced_classes
        costs, errors = self.errors_of(classes), {}
        for name, (i, j) in () if counted else errors_between(classes).items():
            if costs[i][j] is None:
                errors.setdefault((i, j), name)
        panels = [p["name"] for p in self.panels_of(guess) if p.get("cost", 0) is None]
        positive = f" ({classes[-1]!r} is the positive class)" if len(classes) == 2 else ""
        require_prices(panels, [*errors.values()], positive)
        if not counted and costs and not any(any(row) for row in costs):
            raise DataError(f"{argument('errors')}: all are 0, so no panel could pay; state one")

    def _cost(self, of: str, name: str, cost: Any) -> Any:
        if isinstance(cost, Mapping):  # as the YAML has it; checked there
            return {str(key): value for key, value in cost.items()}
        ends = list(cost) if isinstance(cost, list | tuple) else [cost]
        numbers = [
            amount.item() if getattr(amount, "shape", None) == () else amount for amount in ends
        ]  # of NumPy
        if not all(
            isinstance(amount, int | float) and 0 <= amount <= sys.float_info.max
            for amount in numbers
        ) or not (len(numbers) == 1 or (len(numbers) == 2 and numbers[0] <= numbers[1])):
            raise DataError(
                f"{argument(of, name)} has {shown_cell(cost)}; allowed are numbers from "
                "0 on, or two of them, the least and the largest cost"
            )
        return numbers[0] if len(numbers) == 1 else dict(zip(("from", "to"), numbers, strict=True))

    def _require(
        self,
        of: str,
        name: str,
        allowed: Iterable[str],
        subject: str,
        guess: TableGuess | None = None,
    ) -> None:
        allowed = list(allowed)
        if name in allowed:
            return
        why = (
            [c.remarks[0] for c in guess.columns if c.name == name and c.kind == "out"]
            if guess
            else []
        )
        left = f", which is left out ({why[0]})" if why else ""
        raise DataError(
            f"{argument(of)} names {name!r}{left}; {subject} {listed(allowed) or 'none'}"
            f"{did_you_mean(name, allowed)}"
        )


def require_prices(panels: Sequence[str], errors: Sequence[str], positive: str = "") -> None:
    """Refuse a question some of whose prices are not stated.

    Raises:
        DataError: names them, and how they are stated.
    """
    lacking = [
        f"{argument(of)} lacks {listed(map(repr, names))}{note}"
        for of, names, note in (("prices", panels, ""), ("errors", errors, positive))
        if names
    ]
    free = (
        f"; columns that are known at the start go under {argument('free')}, those that are no "
        f"feature under {argument('leave_out')}"
    )
    if lacking:
        raise DataError(
            f"{'; '.join(lacking)}; allowed is a number from 0 on for each{free if panels else ''}"
        )


def _spaced(name: str, errors: Mapping[str, Any]) -> str:
    """The name of an error, blanks for its underscores."""
    return name if name in errors else name.replace("_", " ")


def errors_between(classes: Sequence[str]) -> dict[str, tuple[int, int]]:
    """Name of each error → row and column of its cost; the second of two classes is positive."""
    pairs = {
        f"{true} as {predicted}": (i, j)
        for i, true in enumerate(classes)
        for j, predicted in enumerate(classes)
        if i != j
    }
    return {"missed": (1, 0), "false alarm": (0, 1)} | pairs if len(classes) == 2 else pairs


def guess_opened(
    opened: Opened, label: str, cuts: Sequence[float] = (), **stated: Any
) -> TableGuess:
    """The guess of a table as it was opened; `stated` are further arguments of `guess_table`.

    Raises:
        ConfigError, DataError: as `guess_table`.
    """
    try:
        return guess_table(
            opened.cells,
            label,
            cuts,
            marks={key: opened.form[key] for key in MARKS if key in opened.form},
            units=opened.units,
            levels=opened.levels,
            nameless=opened.nameless,
            **stated,
        )
    except DataError as error:
        remark = "" if opened.named else f" ({opened.remarks[-1]})"
        raise DataError(opened.cited(f"{error}{remark}")) from None


def require_exact_names(opened: Opened, guess: TableGuess, label: str) -> None:
    """Refuse numbers that have lost digits, where they name levels, classes or clusters."""
    levels = [column.name for column in guess.columns if column.kind == "categorical"]
    classes = [] if guess.cuts else [label]
    opened.require_exact([*levels, *classes, *(column.name for column in guess.clusters[:1])])


def require_feature(path: Path | str, guess: TableGuess) -> None:
    """Refuse a table without a column to predict from."""
    if all(column.kind == "out" for column in guess.columns):
        why = "; ".join(f"{column.name}: {column.remarks[0]}" for column in guess.columns[:3])
        raise DataError(f"{path}: no column could be a feature ({why or 'there is no other'})")


def describe_guess(
    opened: Opened, guess: TableGuess, label: str, out: Path, terms: StatedTerms, name: str = ""
) -> str:
    """The YAML, with comments.

    Args:
        opened: the table.
        guess: types of its columns.
        label: the column to predict.
        out: path of the YAML.
        terms: statements; null where there is none.
        name: of the data set; by default that of the file.

    Raises:
        DataError: the terms do not fit the table.
    """
    used = [column for column in guess.columns if column.kind != "out"]
    panels, errors = terms.panels_of(guess), terms.errors_of(guess.priced_classes)
    todo = ", and fill in every price (null)" if is_open(panels, errors) else ""
    lines = [
        f"# {opened.path.name}, described by a guess: correct it{todo}.",
        "# The keys are explained in config/datasets/template.yaml.",
        f"name: {flow(name or short_name(out.stem))}",
        f"title: {flow(' '.join(out.stem.replace('_', ' ').split()))}",
        "note: >",
        f"  {guess.rows:,} rows, {len(used)} columns; where they come from and who may use them.",
        f"cost_unit: {flow(terms.unit)}",
        "source:",
        "  kind: path",
        "  files:",
        f"    - name: {flow(_place(opened.path, out))}",
        "  format:",
        *(f"    {key}: {flow(value)}" for key, value in opened.form.items()),
        f"    missing: {flow(list(guess.missing))}   # texts that mean no value",
        "columns:",
        *(line for column in guess.columns for line in _column_lines(column)),
        "panels:                   # panels acquired together; a price, or free: true",
        *_panel_lines(panels, used, terms),
        "cost_draw: null",
        "label:",
        f"  column: {flow(label)}",
        *_label_lines(guess),
        *_weighed(guess, terms),
        "sensitive: null",
        *_cluster_lines(guess.clusters),
        *[_ERRORS][: len(errors)],
        *(f"  - {flow(row)}" for row in errors),
        f"drop_rows: {_dropped(guess, terms)}",
        "missing_values: own",
        "split:",
        "  scheme: fractions",
        "  seed: 0",
        "  parts: {train: 0.3, agent: 0.3, test: 0.4}",
    ]
    return "\n".join(lines) + "\n"


def _place(path: Path, out: Path) -> str:
    """Where the table lies: from the folder of the YAML on, if it is in there."""
    place, folder = path.resolve(), out.resolve().parent
    return (place.relative_to(folder) if place.is_relative_to(folder) else place).as_posix()


def short_name(stem: str) -> str:
    """A name for paths: small letters without marks, digits, underscores."""
    ascii_stem = unicodedata.normalize("NFKD", stem).encode("ascii", "ignore").decode().lower()
    name = re.sub(r"[^a-z0-9]+", "_", ascii_stem).strip("_") or "table"
    return (name if name[0].isalpha() else f"t_{name}")[:100]


def _label_lines(guess: TableGuess) -> Iterator[str]:
    """Classes with their meaning, or the numbers to predict with their loss."""
    if guess.predict:
        yield "  predict:                # numbers that may be predicted; price of a unit of loss"
        yield from (f"    {key}: {flow(value)}" for key, value in guess.predict.items())
        return
    yield "  classes:                # with two, the second is the positive one"
    for k, (name, texts) in enumerate(guess.classes.items()):
        ends = (("from", guess.cuts[k - 1 : k] if k else ()), ("below", guess.cuts[k : k + 1]))
        bounds = ", ".join(f"{key}: {cut:.15g}" for key, cuts in ends for cut in cuts)
        yield f"    - {{name: {flow(name)}, {bounds or f'values: {flow(list(texts))}'}}}"


def _cluster_lines(clusters: Sequence[Guess]) -> Iterator[str]:
    """The column that groups rows, and others that could."""
    for k, column in enumerate(clusters):
        missing = (
            f"; {column.missing_share:.0%} of the rows have no value yet"
            if column.missing_share
            else ""
        )
        yield f"{'# ' if k or missing else ''}cluster: {flow(column.name)}   # {_CLUSTER}{missing}"


def is_open(panels: Sequence[Mapping[str, Any]], errors: Sequence[Sequence[Amount | None]]) -> bool:
    """Whether a price or a cost of an error is not stated."""
    return any(panel.get("cost", 0) is None for panel in panels) or any(
        None in row for row in errors
    )


def _weighed(guess: TableGuess, terms: StatedTerms) -> Iterator[str]:
    """That rows without a label are kept, where some are."""
    if guess.label_gaps and terms.unlabelled == "weigh":
        yield f"  unlabelled: weigh       # {guess.label_gaps} rows; decide weights the others"


def _dropped(guess: TableGuess, terms: StatedTerms) -> str:
    if not guess.label_gaps or terms.unlabelled == "weigh":
        return "[]"
    return f"[{{rule: label_missing, reason: {guess.label_gaps} rows have nothing to predict}}]"


def _column_lines(column: Guess) -> list[str]:
    """The column's entry, or a comment with the reason for leaving it out."""
    remarks = "".join(f"  # {_plain(remark)}" for remark in column.remarks)
    if column.kind == "out":
        return [f"  # left out: {_plain(column.name)}{remarks}"]
    entry: dict[str, Any] = {"name": unreserved(column.name)}
    if entry["name"] != column.name:
        entry["from"] = column.name
    entry |= {"type": column.kind}
    entry |= (
        {"levels": list(column.levels)} if column.kind == "categorical" else {"unit": column.unit}
    )
    entry |= {"missing_level": column.missing_level} if column.missing_level else {}
    entry |= {"recode": dict(column.recode)} if column.recode else {}
    missing = f", {column.missing_share:.0%} missing" if column.missing_share else ""
    ends = "" if column.kind == "categorical" else f"  # {column.low:g} to {column.high:g}{missing}"
    lines = [f"  - {flow(entry)}{ends}{remarks}"]
    if column.codes:
        codes = ", ".join(f"{{value: {code:g}, meaning: FILL IN}}" for code in column.codes)
        lines.append(f"  #   a code and no quantity? then add special_values: [{codes}]")
    return lines


def _panel_lines(
    panels: Sequence[Mapping[str, Any]], used: Sequence[Guess], terms: StatedTerms
) -> list[str]:
    """A line for each panel, with a comment on one that is guessed or has no price."""
    incomplete = {unreserved(column.name) for column in used if column.missing_share}
    lines = []
    for panel in panels:
        columns, is_open = set(panel["columns"]), panel.get("cost", 0) is None
        is_whole = is_open and not columns & incomplete
        note = "  # never missing: free: true if it is known at the start" if is_whole else ""
        is_guessed = panel["name"] not in terms.panels and not terms.by_prefix
        if len(columns) > 1 and columns <= incomplete and is_guessed:
            note = "  # always missing together"
        lines.append(f"  - {flow(panel)}{'' if 'free' in panel else note}")
    return lines


def _groups(priced: Sequence[Guess], by_prefix: bool) -> list[tuple[str, list[str]]]:
    """Name and columns of each panel."""
    if by_prefix:
        return [*grouped(column.name for column in priced).items()]
    by_pattern: dict[object, list[str]] = {}
    for column in priced:
        by_pattern.setdefault(column.gap_pattern or column.name, []).append(column.name)
    return [(_panel_name([*map(unreserved, columns)]), columns) for columns in by_pattern.values()]


def _panel_name(columns: Sequence[str]) -> str:
    """That of the only column, a prefix of all, or the first ones."""
    prefixes = list(grouped(columns))
    if len(columns) == 1 or len(prefixes) == 1:
        return prefixes[0]
    return (
        " and ".join(columns) if len(columns) == 2 else f"{columns[0]} and {len(columns) - 1} more"
    )


def unreserved(name: str) -> str:
    """A name that no column of the project has."""
    return f"{name}_" if name in RESERVED_COLUMNS else name


def flow(value: Any) -> str:
    """A value as YAML writes it on one line, inside of lists and mappings too.

    Raises:
        ConfigError: it holds an object that YAML has no form for.
    """
    try:
        text = yaml.safe_dump(
            [value], default_flow_style=True, allow_unicode=True, width=10**9, sort_keys=False
        )
    except yaml.representer.RepresenterError:
        raise ConfigError(
            f"{shown(value)} cannot be written into a YAML; allowed are texts, numbers, lists, and "
            "keys with these"
        ) from None
    return text.strip()[1:-1]


def _plain(text: str) -> str:
    """Text that is safe in a comment."""
    return " ".join(text.split())


def remarks_on(
    opened: Opened, guess: TableGuess, panels: Sequence[Mapping[str, Any]]
) -> Iterator[str]:
    """Assumptions on a table, and points to check; a sentence each."""
    yield from (*opened.remarks, *guess.remarks)
    for column in guess.columns:
        for remark in column.remarks:
            yield f"{'left out: ' if column.kind == 'out' else 'look: '}{column.name}: {remark}"
        if column.codes:
            codes = ", ".join(f"{code:g} ({share:.0%})" for code, share in column.codes.items())
            yield f"look: {column.name}: {codes} may be a code and no quantity"
    if guess.clusters:
        first = guess.clusters[0]
        remedy = (
            "fill in the missing values, then add the line"
            if first.missing_share
            else "remove the line if not"
        )
        yield f"cluster: {first.name}: {_CLUSTER}; {remedy}"
    by_pattern: dict[int, list[str]] = {}
    for column in guess.columns:
        by_pattern.setdefault(column.gap_pattern, []).append(column.name)
    for number, names in by_pattern.items():
        if number and len(names) > 1:
            are = f"{listed(names)} are always missing together"
            if any({*map(unreserved, names)} <= {*panel["columns"]} for panel in panels):
                yield f"one panel: {are}"
            else:
                yield f"several panels: {are}, and --panel NAME={','.join(names)} makes them one"
    priceless = {c for panel in panels if panel.get("cost", 0) is None for c in panel["columns"]}
    used = (column for column in guess.columns if column.kind != "out")
    complete = [
        column.name
        for column in used
        if not column.missing_share and unreserved(column.name) in priceless
    ]
    if complete:
        yield (
            f"no missing value in {listed(map(repr, complete))}: a price for each that is "
            "measured; free: true (or --free NAME,NAME) for panels known at the start"
        )
