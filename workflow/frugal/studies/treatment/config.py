"""The block `treatment` of a config."""

from typing import Annotated, Literal

from annotated_types import Len
from typing_extensions import TypeAliasType

from frugal.config.blocks import (
    AtLeastOne,
    Block,
    Count,
    Counts,
    Name,
    NonNegative,
    NonNegatives,
    OneOf,
    Positive,
    Probability,
    Share,
    Unique,
    optional,
    required,
    setting,
)
from frugal.config.declared import placed

OutcomeModel = Literal["smoothed", "uninformed", "forest", "true"]
Bound = Literal["upper", "lower", "exact"]
_PLANNERS = placed("frugal.studies.treatment.planners", "SearchPlanner")
_BOUNDED = [name for name, planner in _PLANNERS.items() if planner.literals["reads"] == "bound"]
Planner = TypeAliasType("Planner", Annotated[str, OneOf([*_PLANNERS])])
BoundedPlanner = Annotated[str, OneOf(_BOUNDED)]


class TreatmentForest(Block):
    """A forest as outcome model."""

    action_code: Literal["onehot", "ordinal"] = setting("onehot")
    trees: Count = setting(50)
    max_depth: Count | None = setting(None)
    min_leaf_trials: Count = setting(10)


class Prescribing(Block):
    """The rule that simulates earlier treatments where a table has none."""

    susceptible_share_weight: float = setting(
        2.0, "weight of the share of susceptible units in the same context"
    )
    hidden_weight: NonNegative = setting(
        0.0, "weight of the unit's own result, which no record holds: unmeasured confounding"
    )
    stop_after_best: Probability = setting(
        0.9, "probability, after a trial, of stopping once the best outcome is known"
    )
    stop_otherwise: Probability = setting(0.1)


class DrawnTree(Block):
    """The policy that is drawn as a tree; one of the sweep."""

    planner: BoundedPlanner = setting("cdp")
    outcome_model: OutcomeModel = setting("smoothed")
    bound: Bound = setting("upper")
    delta: NonNegative = setting(0.4)


class TreatmentFigures(Block):
    """Contents of the figures."""

    delta: NonNegative = setting(0.0, "δ of the search curves; one of the sweep")
    trial_price: NonNegative = setting(0.35, "λ of the search curves; one of the sweep")
    tree: DrawnTree = setting(DrawnTree())


class SearchGrid(Block):
    """Every policy that the lists combine to."""

    n_train: Counts | None = setting(
        None, "training units; null for all units of a table's training patients"
    )
    planners: Annotated[list[Planner], Len(1), Unique()] = setting(["cdp", "cg", "ndp"])
    outcome_models: Annotated[list[OutcomeModel], Len(1), Unique()] = setting(["smoothed"])
    bounds: Annotated[list[Bound], Len(1), Unique()] = setting(["upper"])
    deltas: NonNegatives = setting([0.4], "confidence parameters δ of cdp and cg")
    trial_prices: NonNegatives = setting([0.35], "λ of ndp")


class SearchGrids(Block):
    """Grids of policies."""

    sizes: SearchGrid = optional("over sizes of the training set; worlds only")
    sweep: SearchGrid = required("over thresholds")


class TreatmentScenario(Block):
    """One data set or world."""

    dataset: str = required("a name under datasets")
    seeds: Count = setting(20, "realisations of a world or splits of a table")
    redraw_world: bool = setting(
        True, "a new world in each realisation, or one world and new units; worlds only"
    )
    grids: SearchGrids = required()


class Treatment(Block):
    """Which treatment to try next, and when to stop, given records of earlier searches."""

    epsilon: NonNegative = setting(0.0, "slack of near-optimality, unit of the outcome")
    alpha: AtLeastOne = setting(
        1.0, "influence of unmeasured confounding on the treatments tried (theorem 2); 1: none"
    )
    stop_rule: Literal["<=", "<", "release"] = setting(
        "<=",
        "how the stopping statistic is compared with δ/α; release: < for the two bounds, <= "
        "for the exact statistic",
    )
    ties: Literal["improving", "lowest"] = setting("improving", "which of equally short searches")
    smoothing: Literal["release", "paper"] = setting("release", "form of the historical prior")
    pseudo_count: NonNegative = setting(0.0, "of each outcome in the uninformed tables")
    price_offset: NonNegative = setting(0.0001, "added to every λ")
    memory_gib: Positive = setting(4.0, "limit for the tables of one policy")
    forest: TreatmentForest = setting(TreatmentForest())
    prescribing: Prescribing = setting(Prescribing())
    test_share: Share = setting(0.3, "share of the patients that judge the policies")
    figures: TreatmentFigures = setting(TreatmentFigures())
    scenarios: Annotated[dict[Name, TreatmentScenario], Len(1)] = required(
        "name → data set, repeats and grids of policies"
    )
