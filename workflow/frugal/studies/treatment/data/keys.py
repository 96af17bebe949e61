"""Keys of the YAML of a data set of the treatment search, and of that of a user's records."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Annotated, Literal

from annotated_types import Ge, Le, Len

from frugal.config.blocks import (
    Address,
    Block,
    Count,
    Digest,
    FileName,
    Maybe,
    Name,
    NonNegative,
    Probability,
    Share,
    Text,
    Tuple,
    Unique,
    maybe,
    required,
    setting,
)
from frugal.core.schema_check import listed

WORLD = "synthetic_world"
_OPTIONS = {
    WORLD: {
        "covariates",
        "moderators",
        "covariate_scale",
        "form",
        "p_stop",
        "p_stop_best",
        "test_units",
    },
    "kpneumoniae_mic": {"breakpoints"},
    "amr_isolates": {"organisms", "factors"},
    "mimic3": {"exclude_other_antibiotics"},
}
_FILES = {WORLD: 0, "mimic3": 5}  # files that a reader takes; of the others one
_BY_LAYOUT = {"long": ("step", "treatment", "outcome"), "wide": ("treatments", "order")}
Bits = Annotated[int, Ge(1), Le(30)]
Columns = Annotated[dict[str, Text], Len(1)]
Level = str | bool | int | float


class SearchFile(Block):
    """A raw file, and the digests that are accepted."""

    name: FileName = required("relative to a data mirror, the working folder, or this YAML")
    url: Address = required("where it is published")
    sha256: Tuple[Digest] = required("that are accepted, packed or not; none accepts any content")
    downloadable: bool = required(
        "true: the address gives the file itself, not a page about it; the last digest is that of "
        "the published file"
    )
    published_bytes: Maybe[Count] = maybe(
        "size of the published file: a download stops beyond it; without it, beyond 1,000,000,000",
        name="bytes",
    )


class SearchOptionsEntry(Block):
    """Settings of the reader."""

    breakpoints: Maybe[str] = maybe("name of a set of breakpoints (kpneumoniae_mic)")
    organisms: Maybe[dict[str, str]] = maybe("name → code in the file (amr_isolates)")
    factors: Maybe[
        Annotated[list[Literal["organism", "age_group", "gender", "ward"]], Unique()]
    ] = maybe("covariates of the context (amr_isolates)")
    exclude_other_antibiotics: Maybe[bool] = maybe("true is the rule of the paper (mimic3)")
    covariates: Maybe[Bits] = maybe("bits of X (synthetic_world); memory allows fewer")
    moderators: Maybe[Bits] = maybe("bits of Z (synthetic_world); memory allows fewer")
    covariate_scale: Maybe[float] = maybe("of the weights of X, w_x (synthetic_world)")
    form: Maybe[Literal["release", "text"]] = maybe(
        "as the authors' program computes it, or as printed (synthetic_world)"
    )
    p_stop: Maybe[Probability] = maybe("a recorded search stops after a trial (synthetic_world)")
    p_stop_best: Maybe[Probability] = maybe("the same once the best outcome was reached")
    test_units: Maybe[Count] = maybe("that judge the policies in each realisation")


class SearchDataset(Block):
    """Units whose outcome under every action is known."""

    name: Name = required("short, used in paths")
    title: Text = required("for figures")
    note: Text = required("where the data come from, under which licence, and their limits")
    reader: Literal["synthetic_world", "kpneumoniae_mic", "ecoli_ast", "amr_isolates", "mimic3"] = (
        required("reader that makes units from the files; synthetic_world draws them")
    )
    files: Tuple[SearchFile] = required("in the order in which the reader takes them")
    actions: Annotated[dict[str, Text], Len(2)] = required(
        "name of each action (drug) → its name in the files; the order numbers the actions"
    )
    results: Annotated[Tuple[Text], Len(2)] = required(
        "from the worst to the best: resistant, intermediate, susceptible; of a world, any names"
    )
    options: SearchOptionsEntry = required()

    def _refusals(self) -> Iterator[str]:
        accepted, written = _OPTIONS.get(self.reader, set()), self.options.model_fields_set
        for key in sorted(accepted ^ written):
            yield (
                f".options: option {key!r} "
                f"{'is missing' if key in accepted else 'does not apply'}; reader {self.reader!r} "
                f"takes {listed(sorted(accepted)) or 'none'}"
            )
        raw = list(self.actions.values())
        if twice := [name for name in raw if raw.count(name) > 1]:
            yield f".actions has {twice[0]!r} for two actions; each has its own"
        if (count := len(self.files)) != (expected := _FILES.get(self.reader, 1)):
            yield f".files has {count} entries; reader {self.reader!r} takes {expected}"


class LevelsEntry(Block):
    """Levels of a column, or edges at which numbers are cut."""

    levels: Maybe[Annotated[Tuple[Level], Len(1, 20), Unique()]] = maybe("texts of the file")
    edges: Maybe[Annotated[Tuple[float], Len(1, 10)]] = maybe(
        "a number at an edge belongs to the level above it"
    )

    def _refusals(self) -> Iterator[str]:
        if (self.levels is None) == (self.edges is None):
            yield " has either levels or edges, and not both"
        if any(low >= high for low, high in pairwise(self.edges or ())):
            yield f".edges ({listed(self.edges or ())}) do not ascend"


class OutcomesEntry(LevelsEntry):
    """Levels from the worst to the best, or numbers cut at edges."""

    levels: Maybe[Annotated[Tuple[Level], Len(2, 6), Unique()]] = maybe("from the worst on")
    edges: Maybe[Annotated[Tuple[float], Len(1, 5)]] = maybe(
        "a number at an edge belongs to the level above it"
    )
    better: Maybe[Literal["higher", "lower"]] = maybe("which numbers are better")
    worth: Maybe[Tuple[float]] = maybe("of each level, ascending; 0, 1, 2, … where left out")

    def _refusals(self) -> Iterator[str]:
        yield from super()._refusals()
        if (self.edges is None) != (self.better is None):
            yield " has either levels, from the worst on, or edges with 'better': higher or lower"
        count = len(self.levels or ()) or len(self.edges or ()) + 1
        worth = self.worth if self.worth is not None else tuple(range(count))
        if len(worth) != count or any(low >= high for low, high in pairwise(worth)):
            yield (
                f".worth is {listed(worth)}; allowed are {count} ascending numbers, one for each "
                "level from the worst on"
            )


class RecordsEntry(Block):
    """One's own records: treatments of each unit, in order, with their outcomes."""

    name: Name = required("short, used in paths")
    title: Text = required("for figures")
    file: Text = required("CSV or Parquet, in the folder of this YAML, or absolute")
    layout: Literal["long", "wide"] = required(
        "long: a row per trial; wide: a row per unit, a column per treatment"
    )
    unit: Text = required("column that names the search: one patient's, one episode's")
    belongs_to: str | None = maybe(
        "column that groups units, such as the patient; never on both sides of the split"
    )
    step: Maybe[Text] = maybe("long: column that orders a unit's trials")
    treatment: Maybe[Text] = maybe("long: column of the treatment")
    outcome: Maybe[Text] = maybe("long: column of its outcome")
    treatments: Maybe[Columns] = maybe(
        "wide: name of each treatment → column of its outcome, empty where it was not tried"
    )
    order: Maybe[Literal["columns"] | Columns] = maybe(
        "wide: column of each treatment's step, or the word columns: they were tried in the order "
        "of the columns"
    )
    outcomes: OutcomesEntry = required()
    covariates: dict[str, LevelsEntry] = setting({}, "columns that a policy may read")
    confounders: dict[str, LevelsEntry] = setting(
        {}, "columns that decided which treatments were tried and that a policy does not read"
    )
    epsilon: NonNegative = setting(
        0.0, "an outcome is good enough if none is better by more than this, same unit"
    )
    delta: Annotated[Tuple[Probability], Len(1)] = setting(
        (0.2, 0.0, 0.1, 0.4),
        "probabilities of stopping too early that are tried; the first decides",
    )
    judging_share: Share = setting(0.5, "of the units that judge; the others are learned from")

    def _refusals(self) -> Iterator[str]:
        for name, keys in _BY_LAYOUT.items():
            for key in keys:
                if (getattr(self, key) is not None) != (name == self.layout):
                    problem = "is missing" if name == self.layout else "does not apply"
                    yield f".{key} {problem}; layout is {self.layout!r}"
        if isinstance(self.order, dict) and set(self.order) != set(self.treatments or {}):
            yield (
                f".order names {listed(self.order)}, `treatments` {listed(self.treatments or {})}; "
                "each treatment has its column of steps"
            )
