"""The block `recourse` of a config."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal

from annotated_types import Len
from typing_extensions import TypeAliasType

from frugal.config.blocks import (
    KIND,
    Block,
    Count,
    Filled,
    Maybe,
    Name,
    Names,
    NonNegative,
    Probability,
    Seeds,
    Share,
    Text,
    Unique,
    Whole,
    maybe,
    not_among,
    repeated,
    required,
    setting,
)
from frugal.config.declared import declared_union, placed
from frugal.core.schema_check import did_you_mean, listed
from frugal.studies.recourse import methods

_FOLDER, _OF = methods.GENERATORS.package, methods.GENERATORS.of
GENERATORS = placed(_FOLDER, _OF)
if TYPE_CHECKING:
    from frugal.config.declared import Agent as Generator
else:
    _union = declared_union(_FOLDER, _OF, "Generator", more=methods.GENERATORS.more)
    Generator = TypeAliasType("Generator", _union)


class Capability(Block):
    """A yes/no feature: a column's text is one of `levels`, or its number is within bounds."""

    name: Text = required()
    column: str = required("raw column")
    levels: Filled[str] = setting(())
    at_least: Maybe[float] = maybe()
    at_most: Maybe[float] = maybe()

    def _refusals(self) -> Iterator[str]:
        if bool(self.levels) != (self.at_least is None and self.at_most is None):
            yield (
                f" ({self.name!r}) needs either 'levels' or bounds ('at_least', 'at_most'), and "
                "not both"
            )
        low, high = self.at_least, self.at_most
        if low is not None and high is not None and low > high:
            yield f" ({self.name!r}) has 'at_least' {low:g} above 'at_most' {high:g}"


class CostedAction(Block):
    """An action, its cost and source, and the capabilities that it gives."""

    name: Text = required()
    cost: NonNegative = required()
    assumption: Text = required("why that cost")
    provides: Filled[str] = required("names of capabilities")


class RecourseRules(Block):
    """A recourse catalogue on a real table."""

    dataset: str = required("name of the data set whose raw records are read")
    note: str = required("assumptions, with reasons")
    cost_unit: Text = required("of every cost")
    capabilities: Filled[Capability] = required("a positive decision needs all of them")
    actions: Filled[CostedAction] = required()

    def _refusals(self) -> Iterator[str]:
        names = [capability.name for capability in self.capabilities]
        actions = [action.name for action in self.actions]
        for key, written in (("capabilities", names), ("actions", actions)):
            if twice := [name for name in written if written.count(name) > 1]:
                yield f".{key}: {twice[0]!r} is written twice; each name must be unique"
        for i, action in enumerate(self.actions):
            for name in action.provides:
                if name not in names:
                    yield (
                        f".actions[{i}] ({action.name!r}) provides {name!r}, which is no "
                        f"capability; there are {listed(names)}{did_you_mean(name, names)}"
                    )


MANUAL_GROUPS = 5
FILES = {  # kind of source → keys that name files
    "simulated": (),
    "table": ("description", "rules"),
    "own": ("catalogue", "units"),
}


class Augmentation(Block):
    """Worse-off copies of training units."""

    per_unit: Count = setting(20, "worse-off copies drawn of each training unit")
    balanced_frequency: Count = setting(40, "units of an explanation from which AG1 adds none")
    rare_frequency: Count = setting(20, "the same of AG2")
    leaky: bool = setting(False, "hand out copies that are test units")


class RecourseFigures(Block):
    """Contents of the figures."""

    dataset: str = setting("simulated")
    variant: str = setting("dim_20")
    seed: Whole = setting(0)
    subset: str = setting("all")
    mistakes_of: Annotated[list[str], Len(1)] = setting(
        ["hamming", "dense_named"], "generators of Fig. 8"
    )


class SimulatedUnits(Block):
    """A simulated world  [recourse, sec. 4.1]."""

    kind: Literal["simulated"]
    world: Literal[
        "dim_20",
        "dim_50",
        "dim_100",
        "manual_groups",
        "probabilistic_groups",
        "first_5",
        "first_10",
        "mid_5",
        "last_5",
        "last_10",
    ]
    draws: Count = setting(12000, "units before equal ones are dropped")
    feature_probability: Probability = setting(0.68)
    actions: Count = setting(100)
    action_probability: Probability = setting(0.5)

    def _refusals(self) -> Iterator[str]:
        if self.world == "manual_groups" and self.actions < MANUAL_GROUPS:
            yield (
                f".actions is {self.actions}; each manual group may take a fifth of the actions, "
                f"so allowed are values from {MANUAL_GROUPS} on"
            )


class TableUnits(Block):
    """A table with rules of capabilities and actions."""

    kind: Literal["table"]
    description: str = required("YAML of the data set")
    rules: str = required("YAML of capabilities and actions")


class OwnUnits(Block):
    """One's own catalogue."""

    kind: Literal["own"]
    catalogue: str = required("CSV of actions × features, costs, thresholds")
    units: str = required("CSV of units")


Source = Annotated[SimulatedUnits | TableUnits | OwnUnits, KIND]


class RecourseScenario(Block):
    """One table of units."""

    dataset: Name = required()
    variant: Name = required()
    seeds: Seeds = setting([0])
    subsets: Names = setting([], "empty makes labels only")
    generators: Names = setting([])
    source: Source = required()


class Recourse(Block):
    """The cheapest set of actions that turns a negative decision, solved and learnt."""

    most_actions: Count = setting(3, "larger cheapest sets are no labels")
    max_nodes: Count = setting(10000000, "branches after which the search of one unit stops")
    train_share: Share = setting(0.8)
    subsets: dict[Name, Whole] = setting(
        {"all": 0, "more_than_10": 10, "more_than_40": 40},
        "name → an explanation is kept if it is that of more than so many units",
    )
    augmentation: Augmentation = setting(Augmentation())
    generators: dict[Name, Generator] = required("name → generator; a name begins with its kind")
    bins: Count = setting(10, "of the confidence")
    frequency_edges: Annotated[list[Whole], Len(2), Unique()] = setting(
        [0, 1, 2, 6, 21, 41], "first training frequency of each class, from 0"
    )
    figures: RecourseFigures = setting(RecourseFigures())
    scenarios: Annotated[list[RecourseScenario], Len(1)] = required()

    def _refusals(self) -> Iterator[str]:
        for name, chosen in self.generators.items():
            yield from _misnamed(name, chosen.kind)
        edges = self.frequency_edges
        if edges[0] != 0 or edges != sorted(edges):
            yield (
                f".frequency_edges is {edges}; allowed are whole numbers that begin with 0 and "
                "ascend"
            )
        pairs = [f"{entry.dataset} with variant {entry.variant}" for entry in self.scenarios]
        yield from repeated(pairs, "scenarios")
        for k, entry in enumerate(self.scenarios):
            for key in ("generators", "subsets"):
                for name in getattr(entry, key):
                    subject = f"under recourse.{key} there"
                    yield from not_among(name, getattr(self, key), f"scenarios[{k}].{key}", subject)
            if bool(entry.generators) != bool(entry.subsets):
                yield (
                    f".scenarios[{k}] has generators or subsets, but not both; name both to learn, "
                    "or leave both empty to solve only"
                )
        yield from self._shown()

    def _shown(self) -> Iterator[str]:
        """Some scenario is learnt, and the figures show one of these."""
        learnt = [entry for entry in self.scenarios if entry.subsets]
        if not learnt:
            yield (
                ".scenarios has none with subsets and generators, so there is no table to "
                "summarise; for labels only, keep a scenario that learns or run the stage by hand, "
                "as docs/reference/recourse.md shows under 'A catalogue of one's own'"
            )
        shown = self.figures
        for key in ("dataset", "variant"):
            names = dict.fromkeys(getattr(entry, key) for entry in learnt)
            yield from not_among(
                getattr(shown, key), names, f"figures.{key}", "scenarios that learn"
            )
            learnt = [entry for entry in learnt if getattr(entry, key) == getattr(shown, key)]
        entry = learnt[0]
        yield from not_among(shown.seed, entry.seeds, "figures.seed", "the scenario's seeds")
        yield from not_among(
            shown.subset, entry.subsets, "figures.subset", "the scenario's subsets"
        )
        for name in shown.mistakes_of:
            generators = entry.generators
            yield from not_among(
                name, generators, "figures.mistakes_of", "the scenario's generators"
            )


def _misnamed(name: str, kind: str) -> Iterator[str]:
    """Every name begins with its kind, by which figures know it."""
    begins = [k for k in GENERATORS if name == k or name.startswith(f"{k}_")]
    if not begins:
        yield (
            f".generators.{name} has a name that figures do not know; it begins with its kind: "
            f"call it {kind!r} or {f'{kind}_{name}'!r}"
        )
    if (longest := max(begins, key=len)) != kind:
        yield (
            f".generators.{name} is of kind {kind!r}, but by its name figures would show it as "
            f"{longest!r}; a name begins with its kind: {kind!r}, or {kind}_ and more"
        )


class LabelSettings(Block):
    """Settings that decide the labels of units, where that step is run by hand."""

    source: Source
    most_actions: Count
    max_nodes: Count

    @classmethod
    def check(cls, settings: Any) -> None:
        """Refuse settings that the config would not allow; files of the source may be left out.

        Raises:
            ConfigError: the first violation: its key, the value found, the values allowed.
        """
        source = settings.get("source") if isinstance(settings, Mapping) else None
        if isinstance(source, Mapping):
            files = dict.fromkeys(FILES.get(str(source.get("kind")), ()), "")
            settings = {**settings, "source": {**files, **source}}
        cls.read(settings, where="settings")
