"""Keys of the YAML of a data set, and how they must fit together.

Reads no file; checks that need the records are made where they are read.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Annotated, Any, Literal

from annotated_types import Ge, Gt, Le, Len
from pydantic import Field, Strict, StringConstraints

from frugal.config.blocks import (
    KIND,
    Address,
    Block,
    Count,
    Digest,
    FileName,
    Filled,
    Maybe,
    NonNegative,
    Positive,
    Share,
    Text,
    Tuple,
    Unique,
    UpToOne,
    Whole,
    duplicated,
    maybe,
    required,
    setting,
)
from frugal.config.panels import CostDraw, PanelEntry, SetUpEntry, UncertainCost
from frugal.core.errors import ConfigError
from frugal.core.numeric import MOST_VALUES, Loss, NumericLabel, cuts_between
from frugal.core.schema_check import did_you_mean, listed
from frugal.core.table import LARGEST

RESERVED_COLUMNS = (
    *("row_id", "part", "label", "label_number", "sensitive", "group_index", "cluster_index"),
)
_KEYS_OF_SOURCE = {
    "generator": {"generator"},
    "bundled": {"loader"},
    "download": {"files", "format"},
    "path": {"files", "format"},
}
_MARKS = ("decimal", "thousands")
_KEYS_OF_FORMAT = {  # needed, and further ones
    "csv": (
        ("separator", "header", "comment", "strip", "encoding"),
        ("personal", "skip_lines", *_MARKS),
    ),
    "arff": ((), _MARKS),
    "parquet": ((), _MARKS),
    "stays": (("hours", "summaries"), ()),
}
_JOINED_FORMATS = ("csv", "xpt")
_OF_OTHER_TYPE = {
    "numeric": ("levels", "missing_level"),
    "categorical": ("unit", "special_values", "valid"),
}
_KEYS_OF_DROPPING = {
    "value": ("all_features_equal", "below", "above"),
    "column": ("below", "above"),
    "columns": ("feature_missing",),
}
_Rule = Literal[
    "all_features_equal",
    "any_feature_missing",
    "feature_missing",
    "label_missing",
    "below",
    "above",
]
_Mark = Literal[",", ".", " ", "'"]
ShortName = Annotated[str, StringConstraints(max_length=100, pattern="^[a-z][a-z0-9_]*$")]
Character = Annotated[str, StringConstraints(min_length=1, max_length=1)]
Part = Literal["train", "encoder", "encoder_validation", "validation", "agent", "nuisance", "test"]
Parts = Annotated[dict[Part, NonNegative], Len(1)]
Bound = float | dict[str, float]


class MakeClassification(Block):
    """scikit-learn's generator, all features informative, no label noise."""

    name: Literal["make_classification"] = required("which simulator")
    population: Annotated[int, Ge(1000)] = required(
        "of rows; the table is its first of each class: tables of any size share one world"
    )
    clusters_per_class: Count = required("Gaussian clusters, at corners of a hypercube")
    class_separation: Positive = required(
        "half side of the hypercube, before features are standardised"
    )
    seed: Whole = required("of the world and of its rows")


class Loans(Block):
    """Loan applications with fair and unfair features  [dadi, appendix D]."""

    name: Literal["loans"] = required("which simulator")
    divisor: Positive = required("divisor of the label's log-odds; 10 in the paper")
    seed: Whole = required("of the rows")


class ClinicalGroup(Block):
    """Patients of one group."""

    name: Text = required("of the group")
    share: UpToOne = required("of the patients; shares sum to 1")
    prevalence: Share = required("share of ill patients in the group")


class ClinicalFeature(Block):
    """One feature; it has variance 1 within a group and class."""

    name: Text = required("of its raw column")
    effect: Tuple[float] = required(
        "shift of the mean where the patient is ill: of each group, in standard deviations"
    )
    loadings: Tuple[float] = required(
        "of common factors, the same number for all; squares sum to less than 1, noise is the rest"
    )

    def _refusals(self) -> Iterator[str]:
        if sum(w * w for w in self.loadings) >= 1:
            yield (
                ".loadings have squares that sum to 1 or more; the rest, which must be above zero, "
                "is noise of its own"
            )


class ClinicalGenerator(Block):
    """Patients of known groups, features Gaussian in each class: the Bayes rule is known."""

    name: Literal["clinical_simulator"] = required("which simulator")
    groups: Filled[ClinicalGroup] = required(
        "in the order of effects; raw column `group` has the names"
    )
    features: Filled[ClinicalFeature] = required("raw columns")
    seed: Whole = required("of the rows")

    def _refusals(self) -> Iterator[str]:
        yield from duplicated((g.name for g in self.groups), ".groups", "group name")
        yield from duplicated((f.name for f in self.features), ".features", "feature name")
        total = sum(g.share for g in self.groups)
        if abs(total - 1) > 1e-9:
            yield f".groups have shares that sum to {total:g}; they must sum to 1"
        factors = len(self.features[0].loadings)
        for i, feature in enumerate(self.features):
            for key, size in (("effect", len(self.groups)), ("loadings", factors)):
                if (count := len(getattr(feature, key))) != size:
                    yield f".features[{i}].{key} has {count} entries; {size} are needed"


Generator = Annotated[MakeClassification | Loans | ClinicalGenerator, Field(discriminator="name")]


class RawFile(Block):
    """One file of the source."""

    name: FileName = required(
        "in a data mirror; for kind path also relative to this YAML or the working folder, or "
        "absolute"
    )
    url: Maybe[Address] = maybe(
        "publisher's address: downloaded from there (kind download), or where the user obtains the "
        "file (kind path)"
    )
    sha256: Digest | None = maybe("expected; null accepts any content (kind path only)")
    content_sha256: Maybe[Digest] = maybe(
        "of the unpacked bytes, or of the sorted names and digests of an archive's files"
    )
    published_bytes: Maybe[Count] = maybe(
        "where a download stops; 1,000,000,000 where it is left out", name="bytes"
    )
    group: Maybe[Text] = maybe("of all rows of this file, for split scheme given")


class StaySummary(Block):
    """A column that summarises one measurement of a stay over hours [from_hour, to_hour)."""

    name: Text = required("of the raw column")
    measurement: Text = required("its name in the files")
    statistic: Literal["first", "lowest", "highest"] = required("which value of those hours")
    from_hour: NonNegative = required("first hour after admission, included")
    to_hour: Positive = required("last hour after admission, left out")

    def _refusals(self) -> Iterator[str]:
        if self.from_hour >= self.to_hour:
            yield (
                f" goes from hour {self.from_hour:g} to {self.to_hour:g}; the first must be below "
                "the second"
            )


class FileFormat(Block):
    """How the files are written."""

    kind: Literal["csv", "arff", "xpt", "parquet", "stays", "mimic_aki", "mimic_sepsis"] = required(
        "csv: packed by gzip or not; arff: Weka's; xpt: SAS transport files; parquet: columns of "
        "numbers are numbers, others text; stays: archives with one text file of timed "
        "measurements per stay, and tables of outcomes (PhysioNet 2012); mimic_aki, mimic_sepsis: "
        "cohorts of kidney injury and sepsis, made from MIMIC-III's published tables"
    )
    missing: Tuple[str] = required('texts of a missing value; write "" for an empty cell')
    separator: Maybe[Character] = maybe("between two cells (csv)")
    header: Maybe[Literal[True] | Tuple[Text]] = maybe(
        "true: the first record names the columns; else the list of their names (csv)"
    )
    comment: Text | None = maybe("lines that begin with it are skipped; null: none (csv)")
    strip: Maybe[bool] = maybe("true removes blanks around each cell (csv)")
    encoding: Maybe[Text] = maybe("of the text, for example utf-8 (csv)")
    personal: Tuple[str] = setting(
        (),
        "columns that name people: dropped as a line is read; no table and no sentence has them "
        "(csv)",
    )
    skip_lines: Whole = setting(
        0, "lines at the top; names of columns, or the first record, follow (csv)"
    )
    decimal: Literal[".", ","] = setting(".", "mark in numbers that are text (csv, arff, parquet)")
    thousands: Maybe[_Mark] = maybe("mark in numbers that are text (csv, arff, parquet)")
    hours: Maybe[Positive] = maybe(
        "a measurement is its first value so long after admission (stays)"
    )
    summaries: Tuple[StaySummary] = setting((), "further columns (stays)")

    def _refusals(self) -> Iterator[str]:
        written = self.model_fields_set
        needed, optional = _KEYS_OF_FORMAT.get(self.kind, ((), ()))
        allowed = ("kind", "missing", *needed, *optional)
        for key in type(self).model_fields:
            if key in needed and key not in written:
                yield f".{key} is missing; kind {self.kind!r} needs it"
            if key in written and key not in allowed:
                yield f".{key} does not go with kind {self.kind!r}; allowed are {listed(allowed)}"
        if self.decimal == self.thousands:
            yield f".thousands is {self.thousands!r}, the mark of decimals; the two differ"
        yield from duplicated((s.name for s in self.summaries), ".summaries", "name")
        if isinstance(self.header, tuple):
            yield from duplicated(self.header, ".header", "column name")


class Source(Block):
    """Where the rows come from."""

    kind: Literal["generator", "bundled", "download", "path"] = required(
        "generator: simulated; bundled: inside a library; download: the publisher's address or the "
        "data mirror; path: a file that the user names, or the data mirror"
    )
    generator: Maybe[Generator] = maybe("simulator of the rows (kind generator)")
    loader: Maybe[Literal["breast_cancer"]] = maybe(
        "scikit-learn's Wisconsin diagnostic data (kind bundled)"
    )
    files: Filled[RawFile] = setting(
        (), "one after the other, or side by side with `join` (download, path)"
    )
    join: Maybe[Text] = maybe(
        "column whose values put records of all files side by side; the first file has every record"
    )
    format: Maybe[FileFormat] = maybe("how the files are written (download, path)")

    def _refusals(self) -> Iterator[str]:
        needed, written = _KEYS_OF_SOURCE[self.kind], self.model_fields_set - {"kind"}
        for key in sorted(needed - written):
            yield f".{key} is missing; kind {self.kind!r} needs it"
        allowed = needed | {"join"} if "files" in needed else needed
        for key in sorted(written - allowed):
            choices = listed(sorted(allowed))
            yield f".{key} does not go with kind {self.kind!r}; allowed are {choices}"
        yield from duplicated((f.name for f in self.files), ".files", "file name")
        for i, file in enumerate(self.files):
            if self.kind == "download" and not (file.url and (file.sha256 or file.content_sha256)):
                yield f".files[{i}] needs `url` and `sha256` (or `content_sha256`) to be downloaded"
        if self.join is not None and self.format and self.format.kind not in _JOINED_FORMATS:
            yield (
                f".join does not go with format {self.format.kind!r}; allowed are "
                f"{listed(_JOINED_FORMATS)}"
            )


class SpecialValue(Block):
    """A code inside a numeric column."""

    value: float = required("the code")
    meaning: Text = required("of the code")


class ColumnEntry(Block):
    """One feature."""

    name: Text = required("in the encoded table")
    raw_name: Maybe[Text] = maybe("in the raw file, where it differs", name="from")
    kind: Literal["numeric", "categorical"] = Field(
        alias="type",
        description="numeric stays one column; categorical becomes one column per level",
    )
    unit: Maybe[Text] = maybe(
        '"1" for counts, shares, indices; of a text such as 5 mg, mg is cut off (numeric)'
    )
    levels: Maybe[Filled[str]] = maybe(
        "in order; without it, those in the data, sorted. Quote numbers and yes/no (categorical)"
    )
    missing_level: Maybe[Text] = maybe("that a missing value becomes (categorical)")
    recode: Annotated[dict[str, Text | int | float], Len(1)] = setting(
        {}, "raw text → level; of a numeric column, text that is no number → number: <0.01 to 0.005"
    )
    valid: Maybe[Annotated[tuple[float, float], Strict(False)]] = maybe(
        "lowest and highest possible value; another is an error and counts as missing (numeric)"
    )
    special_values: Filled[SpecialValue] = setting(
        (),
        "codes that are no quantities: each gets a 0/1 column name=code, the value becomes the "
        "median",
    )

    def _refusals(self) -> Iterator[str]:
        at = f" ({self.name!r})"
        if self.name in RESERVED_COLUMNS:
            yield (
                f"{at} has a reserved name; use 'from' for the raw name and another 'name' than "
                f"{listed(RESERVED_COLUMNS)}"
            )
        if self.kind == "numeric" and self.unit is None:
            yield f"{at} is numeric and lacks 'unit'; write \"1\" where it has none"
        for key in _OF_OTHER_TYPE[self.kind]:
            if key in self.model_fields_set:
                yield f"{at} is {self.kind}; {key!r} does not apply to it"
        yield from duplicated(self.levels or (), ".levels", "level")
        yield from duplicated((s.value for s in self.special_values), at, "special value")
        if self.levels is not None:
            named = [("missing_level", self.missing_level)] if self.missing_level else []
            for key, level in [*named, *(("recode", level) for level in self.recode.values())]:
                yield from _unknown(level, self.levels, f".{key}", "levels")
        for text, number in self.recode.items() if self.kind == "numeric" else ():
            if _is_number(text) or not _is_number(number):
                yield (
                    f"{at}: 'recode' has {text!r}: {number!r}; in a numeric column a text that is "
                    "no number becomes a number"
                )
        if self.valid is not None and self.valid[0] >= self.valid[1]:
            low, high = self.valid
            yield f".valid is [{low:g}, {high:g}]; the first must be below the second"


class EventRule(Block):
    """Yes where an event came within the horizon, no where following reached it without one."""

    kind: Literal["event_within"] = required("else there is no label")
    event: str = required("raw column that holds something where the event came")
    time: str = required("raw column with the time to the event or to the end of following")
    horizon: Positive = required("in the unit of time")

    @property
    def columns(self) -> tuple[str, str]:
        """Raw columns that the label is made of; they reveal the answer."""
        return self.event, self.time


class RiseRule(Block):
    """Yes where the later value exceeds the earlier by a difference or by a ratio."""

    kind: Literal["rise"] = required("either is enough")
    before: str = required("raw column with the earlier value")
    after: str = required("raw column with the later value")
    difference: Positive = required("smallest rise, in the unit of the columns")
    ratio: Annotated[float, Gt(1)] = required("smallest, of the later to the earlier value")

    @property
    def columns(self) -> tuple[str, str]:
        """Raw columns that the label is made of; they reveal the answer."""
        return self.before, self.after


LabelRule = EventRule | RiseRule


class Group(Block):
    """One group, by raw values or by a range of numbers."""

    name: Text = required("of the group")
    values: Maybe[Filled[str | int]] = maybe("raw values that mean it; quote yes and no")
    low: Maybe[float] = maybe("least number that means it", name="from")
    below: Maybe[float] = maybe("numbers below this mean it")


class LabelClass(Group):
    """One class, by raw values or by a range of numbers."""

    low: Maybe[Bound] = maybe(
        "least number that means it, or one for each text of column `by`", name="from"
    )
    below: Maybe[Bound] = maybe("numbers below this mean it, or one for each text")


class NumberEntry(Block):
    """Values that are predicted of a numeric label, and the price of being off."""

    values: Annotated[Filled[float], Len(2, MOST_VALUES)] = required(
        "numbers that may be predicted, ascending; the class of a case is the nearest of them"
    )
    loss: Loss = required("absolute: the difference; squared: its square")
    price: Positive = required("of one unit of loss, in `cost_unit`")
    unit: Text = required('of the label; "1" where it has none')

    def _refusals(self) -> Iterator[str]:
        if any(float(f"{low:g}") >= float(f"{high:g}") for low, high in pairwise(self.values)):
            yield f".values are {listed(f'{v:g}' for v in self.values)}; they must ascend"

    @property
    def names(self) -> list[str]:
        """Names of the classes: the values with their unit."""
        return [f"{value:g}{'' if self.unit == '1' else f' {self.unit}'}" for value in self.values]

    @property
    def numeric(self) -> NumericLabel:
        """The values with their loss."""
        return NumericLabel(tuple(map(float, self.values)), self.loss, self.price, self.unit)


class LabelEntry(Block):
    """The label to predict."""

    column: str = required("in the raw file, or of the label that the rule makes")
    rule: Maybe[Annotated[LabelRule, KIND]] = maybe(
        "how the label (1: yes, 0: no) follows from other raw columns, which are then no features"
    )
    classes: Annotated[list[LabelClass], Len(2)] = required(
        "in order; with two, the second is positive"
    )
    by: Maybe[str] = maybe("raw column whose text chooses among `from` and `below`")
    predict: Maybe[NumberEntry] = maybe(
        "of a label that is a number, in place of `classes` and of `misclassification_cost`: the "
        "cost of a case is the price times the loss of its number"
    )
    unlabelled: Literal["refuse", "weigh"] = setting(
        "refuse",
        "rows without a label. refuse: the first ends the run; weigh: `decide` keeps them and "
        "weighs the others by the probability of a label given the columns that every row has",
    )

    def _refusals(self) -> Iterator[str]:
        yield from _not_apart(self.classes, ".classes")
        ends = [end for c in self.classes for end in (c.low, c.below)]
        if (self.by is None) == any(isinstance(end, Mapping) for end in ends):
            yield (
                ".by names the column whose texts choose among numbers; it goes with `from` and "
                "`below` that list a number for each text, and only with them"
            )
        if self.predict is not None and (self.rule is not None or self.unlabelled == "weigh"):
            yield (
                ".predict needs a number in every row; 'rule' makes classes, and 'unlabelled: "
                "weigh' weighs classes: allowed is neither"
            )
        values = {str(v) for c in self.classes for v in c.values or ()}
        if self.rule is not None and values != {"0", "1"}:
            yield (
                f".classes has values {listed(sorted(values)) or 'none'}; a label made by `rule` "
                "has 0 and 1"
            )


class TwoGroups(Block):
    """Two groups, defined by values of a raw column."""

    column: str = required("raw column, which need not be a feature")
    groups: Annotated[list[Group], Len(2, 2)] = required("b = 0 and b = 1")

    def _refusals(self) -> Iterator[str]:
        yield from _not_apart(self.groups, ".groups")


class ManyGroups(TwoGroups):
    """Two groups or more, defined by values of a raw column."""

    groups: Annotated[list[Group], Len(2, 20)] = required("in order")


class DropRule(Block):
    """Rows to leave out, and why."""

    rule: _Rule = required(
        "all_features_equal: every feature has the value; feature_missing: one of those named has "
        "none; below, above: a raw column is below or above the value, or has none"
    )
    column: Maybe[str] = maybe("the raw column, for below and above")
    columns: Annotated[Filled[str], Unique()] = setting((), "features, for feature_missing")
    value: Maybe[float] = maybe("for all_features_equal, below and above")
    reason: Text = required("why such rows are dropped")

    def _refusals(self) -> Iterator[str]:
        for key, owners in _KEYS_OF_DROPPING.items():
            if (self.rule in owners) != (key in self.model_fields_set):
                yield f" has rule {self.rule!r}; {key!r} belongs to {listed(owners)} alone"


class Split(Block):
    """Which rows serve which purpose; stratified by label."""

    scheme: Literal["fractions", "counts", "given", "folds"] = required(
        "fractions of the rows; counts of rows; given: fractions within each group of files; "
        "folds: k even parts, each judged by policies that learned on the others"
    )
    k: Annotated[int, Ge(2), Le(20)] = setting(0, "folds (scheme folds)")
    seed: Whole = required("the run's own seed is added to it")
    parts: Parts = setting(
        {},
        "schemes fractions and counts. train fits the classifier; encoder and encoder_validation "
        "the encoder of partly observed states and its settings (diagnosis); validation chooses "
        "policies (diagnosis); agent fits policies; nuisance nuisance models without "
        "cross-fitting; test judges",
    )
    groups: dict[str, Parts] = setting(
        {}, "parts of each group of files, fractions of it (scheme given)"
    )

    def _refusals(self) -> Iterator[str]:
        needed = {"given": "groups", "folds": "k"}.get(self.scheme, "parts")
        written = self.model_fields_set
        others = [key for key in ("groups", "parts", "k") if key != needed and key in written]
        if needed not in written or others:
            instead = f" and not {others[0]!r}" if others else ""
            yield f" with scheme {self.scheme!r} needs {needed!r}{instead}"
        if self.scheme == "folds":
            return
        used = self.groups if self.scheme == "given" else {"": self.parts}
        for name, parts in used.items():
            yield from self._check_sizes(parts, f".groups.{name}" if name else ".parts")
        filled = {part for parts in used.values() for part, size in parts.items() if size > 0}
        if "test" not in filled:
            yield " gives no rows to part 'test'; it needs some"
        if not filled & {"train", "encoder"}:
            yield " gives no rows to part 'train', nor to 'encoder'; one needs some"

    def _check_sizes(self, parts: Mapping[Part, float], at: str) -> Iterator[str]:
        total = sum(parts.values())
        if self.scheme != "counts" and abs(total - 1) > 1e-9:
            yield f"{at} sum to {total:g}; fractions must sum to 1"
        for part, count in parts.items():
            if self.scheme == "counts" and count != int(count):
                yield f"{at} gives {count} rows to {part!r}; counts are whole numbers"


class Dataset(Block):
    """One data set."""

    name: ShortName = required("short, used in paths and in config.yaml")
    title: Text = required("for people, as figures show it")
    note: Text = required("notes for readers: origin, licence, and choices of this project")
    cost_unit: Text = required("of acquisition and misclassification costs, as axes show it")
    source: Source = required()
    columns: Filled[ColumnEntry] = required(
        "features; other columns are left out and listed in the report"
    )
    panels: Filled[PanelEntry] = required(
        "features acquired together, in the order of the actions; every column belongs to one or "
        "more"
    )
    cost_draw: CostDraw | None = required("law of the drawn costs; null if none is")
    set_ups: Tuple[SetUpEntry] = setting((), "costs that several panels share; read by `decide`")
    waiting_cost: NonNegative = setting(0, "cost of one unit of the panels' delays")
    label: LabelEntry = required()
    sensitive: TwoGroups | str | None = required(
        "protected attribute: a column, or two groups of one; null if there is none"
    )
    groups: ManyGroups | str | None = maybe(
        "whom afape judges apart: values of a raw column or feature, or groups of one; null for "
        "none. Left out: as `sensitive`"
    )
    cluster: Maybe[str] = maybe(
        "rows with one value of this raw column or feature, for example the visits of one "
        "patient, fall in one part of the split, and intervals count them as one"
    )
    misclassification_cost: Annotated[Tuple[Tuple[NonNegative | UncertainCost]], Len(2)] = required(
        "row: true class; column: predicted class; in `cost_unit`; uncertain costs as of panels"
    )
    drop_rows: Tuple[DropRule] = required("applied in order; their counts are in the report")
    missing_values: Literal["induced", "own", "partial"] = required(
        "induced: complete, missingness is drawn by a mechanism; own: gaps are the missingness "
        "that is studied, a panel with a gap is missing as a whole, and free panels have none; "
        "partial: a panel can be had where one of its columns is known, and free panels may have "
        "gaps"
    )
    split: Split = required()

    @classmethod
    def read(cls, document: Any, *, where: str) -> "Dataset":
        """The data set; the ranges of a numeric label and their losses are filled in."""
        label = document.get("label") if isinstance(document, Mapping) else None
        if isinstance(label, Mapping) and "predict" in label:
            for key, block in (("classes", label), ("misclassification_cost", document)):
                if key in block:
                    raise ConfigError(
                        f"{where}: 'label.predict' states the allowed values and their price, and "
                        f"{key!r} does, too; allowed is one of them"
                    )
            entry = NumberEntry.read(label["predict"], where=f"{where}: label.predict")
            classes: list[dict[str, Any]] = [{"name": name} for name in entry.names]
            for k, cut in enumerate(cuts_between(entry.values)):
                classes[k]["below"] = classes[k + 1]["from"] = cut
            costs = entry.numeric.between.tolist()
            filled = {"label": {**label, "classes": classes}, "misclassification_cost": costs}
            document = {**document, **filled}
        return super().read(document, where=where)

    def _refusals(self) -> Iterator[str]:
        yield from _beyond(self, "")
        names = [column.name for column in self.columns]
        yield from duplicated(names, ".columns", "column name")
        rule = self.label.rule
        telling = {self.label.column, *(() if rule is None else rule.columns)}
        for i, column in enumerate(self.columns):
            if (column.raw_name or column.name) in telling:
                at = f".columns[{i}] ({column.name!r})"
                yield f"{at} is the label; a feature must not reveal the answer"
        yield from self._check_panels(names)
        cost, k = self.misclassification_cost, len(self.label.classes)
        if [len(row) for row in cost] != [k] * k:
            shape = f"{len(cost)} rows of {listed(sorted({len(row) for row in cost}))} entries"
            yield f".misclassification_cost has {shape}; {k} classes need {k} rows of {k} entries"
        yield from self._check_parts()
        if isinstance(self.sensitive, str):
            yield from _unknown(self.sensitive, names, ".sensitive", "columns")
        for i, dropping in enumerate(self.drop_rows):
            for name in dropping.columns:
                yield from _unknown(name, names, f".drop_rows[{i}].columns", "columns")

    def _check_panels(self, names: Sequence[str]) -> Iterator[str]:
        yield from duplicated((panel.name for panel in self.panels), ".panels", "panel name")
        free = {c for panel in self.panels if panel.free for c in panel.columns}
        for i, panel in enumerate(self.panels):
            at = f".panels[{i}] ({panel.name!r})"
            for column in panel.columns:
                yield from _unknown(column, names, f"{at} names a column: it", "columns")
            if panel.fee is not None:
                yield from self._check_fee(panel.fee, free, f"{at}.cost.column")
            if panel.price == "drawn" and self.cost_draw is None:
                yield f"{at} has a drawn cost, but `cost_draw` is null"
            if not panel.free and free.issuperset(panel.columns):
                paid = "remove it, or add a column that must be paid for"
                yield f"{at} has a cost, but every column of it is free; {paid}"
        if (self.waiting_cost > 0) != any(panel.delay > 0 for panel in self.panels):
            yield (
                ".waiting_cost is the cost of one unit of the panels' 'delay'; allowed are both "
                "above 0, or neither"
            )
        priced = [panel.name for panel in self.panels if not panel.free]
        for i, set_up in enumerate(self.set_ups):
            for name in set_up.panels:
                yield from _unknown(name, priced, f".set_ups[{i}].panels", "panels")
        if homeless := set(names) - {c for panel in self.panels for c in panel.columns}:
            yield f".columns has {min(homeless)!r}, which belongs to no panel; add it to one"
        if all(panel.free for panel in self.panels):
            yield ".panels: every panel is free; at least one must have a cost to be acquired"

    def _check_fee(self, column: str, free: set[str], at: str) -> Iterator[str]:
        numeric = [
            entry.name for entry in self.columns if entry.kind == "numeric" and entry.name in free
        ]
        if column not in numeric:
            yield (
                f"{at} is {column!r}; allowed are numeric columns of free panels: "
                f"{listed(numeric) or 'none'}{did_you_mean(column, numeric)}"
            )
        for entry in self.columns:
            if entry.name == column and entry.unit not in ("1", "", self.cost_unit):
                yield (
                    f"{at} is {column!r}, which is in {entry.unit!r}; allowed is a column in "
                    f"`cost_unit`, {self.cost_unit!r}"
                )

    def _check_parts(self) -> Iterator[str]:
        split, files = self.split, self.source.files
        if split.scheme != "counts" and self.source.kind == "generator":
            yield f".split.scheme is {split.scheme!r}; a generator needs 'counts' of rows"
        for i, file in enumerate(files if split.scheme == "given" else ()):
            at = f".source.files[{i}]"
            if file.group is None:
                yield f"{at} lacks 'group'; split scheme 'given' needs it"
            yield from _unknown(file.group, split.groups, f"{at}.group", "split.groups")
        if unused := set(split.groups) - {file.group for file in files}:
            yield f".split.groups has {min(unused)!r}, but no file has that group"


def _not_apart(classes: Sequence[Group], at: str) -> Iterator[str]:
    """Classes must be defined either all by values or all by ranges that do not overlap."""
    yield from duplicated((c.name for c in classes), at, "class name")
    yield from duplicated((str(v) for c in classes for v in c.values or ()), at, "raw value")
    ranged = [c for c in classes if c.low is not None or c.below is not None]
    valued = [c for c in classes if c.values is not None]
    if sorted((len(ranged), len(valued))) != [0, len(classes)]:
        yield f"{at} must be distinguished either all by 'values' or all by 'from' and 'below'"
    ends = [(c.low, c.below) for c in ranged]
    texts = {t for pair in ends for end in pair if isinstance(end, Mapping) for t in end} or {""}
    for text in sorted(texts):
        ranges = sorted(
            (_end(low, text, -math.inf), _end(high, text, math.inf)) for low, high in ends
        )
        for (_, high), (low, _) in pairwise(ranges):
            if low < high:
                yield f"{at} has ranges that overlap at {low:g}; each number means one"


def _end(bound: Bound | None, text: str, otherwise: float) -> float:
    """The end of a range where the other column has a text."""
    end = bound.get(text) if isinstance(bound, Mapping) else bound
    return otherwise if end is None else end


def _beyond(value: Any, at: str) -> Iterator[str]:
    """Numbers of a YAML become those of a table: 1e308 is none."""
    if isinstance(value, int | float) and abs(value) > LARGEST:
        yield f"{at} is beyond {LARGEST:.2g}, the largest number that is allowed"
    if isinstance(value, Block):
        value = value.plain()
    if isinstance(value, Mapping | list | tuple):
        items = value.items() if isinstance(value, Mapping) else enumerate(value)
        for key, item in items:
            place = f"[{key}]" if isinstance(key, int) else f".{key}"
            yield from _beyond(item, f"{at}{place}")


def _is_number(text: str | float) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def _unknown(value: Any, allowed: Iterable[str], at: str, where: str) -> Iterator[str]:
    if value not in allowed:
        hint = did_you_mean(value, allowed)
        yield f"{at} is {value!r}, which {where!r} lacks: {listed(allowed)}{hint}"
