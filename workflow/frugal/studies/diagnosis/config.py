"""The block `diagnosis` of a config."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any, Literal

from annotated_types import Ge, Len
from pydantic import AfterValidator

from frugal.config.afape import TreeClassifierSettings
from frugal.config.blocks import (
    Amount,
    Block,
    Count,
    Name,
    Names,
    Positive,
    Positives,
    Seeds,
    Share,
    Shares,
    Two,
    Unique,
    UpToOne,
    Whole,
    WholeText,
    not_among,
    repeated,
    required,
    setting,
)
from frugal.config.declared import (
    Agent,
    Encoder,
    Imputer,
    Selection,
    declared_kinds,
    declared_union,
    is_filed,
)
from frugal.config.learners import BoostedSettings, SmDdpoMethod, SmDdpoTraining

EVERY = "all"  # families, where one is chosen
Criterion = Literal["f1", "am"]
if TYPE_CHECKING:
    GridSearch = Agent
else:
    GridSearch = declared_union(
        "frugal.studies.diagnosis.tabular_baselines", "Classifier", "Classifier"
    )
_OF_STUDY = ("baselines", "selection", "bayes")


def _not_of_study(name: str) -> str:
    if name in _OF_STUDY:
        raise ValueError(f" has the name {name!r}, which the study gives to a family of its own")
    return name


Family = Annotated[Name, AfterValidator(_not_of_study)]


def _declared(*kinds: str) -> list[str]:
    """Those of these kinds that there are: without the study `field` some are not."""
    return [kind for kind in kinds if kind in declared_kinds()]


class Pairs(Block):
    """Rewards of the front, every combination of a ratio and a penalty."""

    ratios: Positives = setting(
        [2, 4, 8], "λ: penalty of a missed ill unit over that of a false alarm"
    )
    penalties: Positives = setting(
        [2, 5, 10, 20, 30, 50, 75, 100], "−1/ρ: penalty of a false alarm, in mean panel costs"
    )
    group_size: Count = setting(12, "policies trained in lock-step by one job")


class ImputerComparison(Block):
    """Table 8."""

    seeds: Seeds = setting([0, 1, 2], "each draws rows, split and holes anew")
    most_rows: Annotated[int, Ge(20)] = setting(1500, "rows drawn of a table at most")
    train_share: Share = setting(0.7)
    validation_share: Share = setting(0.1)
    hidden_share: Share = setting(0.2, "of the entries of the other rows")
    imputers: dict[Name, Imputer] = required()

    def _refusals(self) -> Iterator[str]:
        if "mean" not in self.imputers:
            yield ".imputers lacks the key 'mean', with which the others are compared"
        if (used := self.train_share + self.validation_share) >= 1:
            yield (
                f".validation_share and train_share sum to {used:g}; allowed are sums below 1, as "
                "entries are hidden in the other rows"
            )


class DiagnosisFigures(Block):
    """Contents of the figures."""

    dataset: str = setting("clinical_simulator")
    method: str = setting("sm_ddpo_end2end")
    criterion: Criterion = setting("f1")
    seed: Whole = setting(0)
    budget_share: UpToOne = setting(
        0.4, "of the price of full observation; the policy that it leads to is drawn"
    )
    zoom_share: UpToOne = setting(0.5, "right end of the zoomed front, as a share of that price")
    group: str = setting("group", "column by which ordered panels are shown")


class DiagnosisQuestion(Block):
    """The question that `snakemake choose` answers."""

    dataset: str = setting("clinical_simulator")
    method: str = setting("all", "a family of the scenario, or all: the best of every family")
    criterion: Criterion = setting("f1")
    seed: Whole | WholeText = setting(0, "a text where it comes from --config")
    budget: Amount = setting(
        100.0,
        "most that a unit may cost on average, in the data set's unit; a text where it comes "
        "from --config",
    )


class DiagnosisScenario(Block):
    """One data set."""

    dataset: str = required("a name under datasets")
    encoder: str = setting("emflow", "a name under diagnosis.encoders")
    methods: Names = setting(
        ["sm_ddpo_end2end", "sm_ddpo_pretrain"],
        "names under diagnosis.methods; empty: SM-DDPO is left out, and `selection` too",
    )
    criteria: Annotated[list[Criterion], Len(1), Unique()] = setting(
        ["f1"], "by which weights are kept and policies chosen"
    )
    seeds: Seeds = setting(
        [0], "0: the data set's own parts; each other seed divides its rows anew"
    )
    baselines: Names = setting(["logistic", "forest", "xgboost", "lightgbm", "perceptron"])
    fixed_panels: Names = setting([], "panels of the baselines on fixed panels; empty: none")
    selection: Names = setting(_declared("random", "fixed", "greedy", "cwcf"))
    agents: Names = setting(
        _declared("cascade", "lattice", "permutation", "stacked"), "names under diagnosis.agents"
    )
    compare_imputers: bool = setting(False)


class Diagnosis(Block):
    """Which panels to order next, for every budget, when positives are rare and F1 counts."""

    pairs: Pairs = setting(Pairs())
    budget_shares: Shares = setting([0.1, 0.2, 0.4, 1.0], "of the price of full observation")
    resamples: Two = setting(2000, "of the intervals of AUROC and cost of a chosen policy")
    memory_gib: Positive = setting(
        4.0,
        "limit for the completed rows of all panel sets; beyond it rows are completed "
        "when requested",
    )
    encoders: Annotated[dict[Name, Encoder], Len(1)] = required("name → imputer of a state")
    imputer_comparison: ImputerComparison = required()
    training: SmDdpoTraining = setting(SmDdpoTraining(), "SM-DDPO; see docs/reference/diagnosis.md")
    methods: Annotated[dict[Family, SmDdpoMethod], Len(1)] = required(
        "name → a way to learn a front of policies"
    )
    baselines: dict[Name, GridSearch] = required(
        "name → classifier and its grid; every point is fitted, the best on validation counts"
    )
    selection_classifier_updates: Count = setting(1500, "minibatches of the classifier that random")
    selection: dict[Name, Selection] = required("name → another way to choose panels")
    tree_budget_shares: Shares = setting(
        [0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.6, 1.0],
        "of the price of full observation: a front of trees has its best policy for each",
    )
    agents: dict[Family, Agent | None] = required(
        "name → agent; of a kind that learns within budgets a front, of any other one policy"
    )
    classifier: TreeClassifierSettings = setting(
        TreeClassifierSettings(), "used by agents that only stop"
    )
    figures: DiagnosisFigures = setting(DiagnosisFigures())
    choose: DiagnosisQuestion = setting(DiagnosisQuestion())
    scenarios: Annotated[list[DiagnosisScenario], Len(1)] = required()

    def _refusals(self) -> Iterator[str]:
        if isinstance(self.training.classifier, BoostedSettings):
            yield (
                ".training.classifier is boosted; there a network is needed, which `selection` "
                "uses, too; a boosted one belongs under a method of `methods`"
            )
        yield from repeated((entry.dataset for entry in self.scenarios), "scenarios")
        for k, entry in enumerate(self.scenarios):
            yield from not_among(
                entry.encoder, self.encoders, f"scenarios[{k}].encoder", "encoders"
            )
            for key in ("methods", "selection", "baselines", "agents"):
                for name in getattr(entry, key):
                    subject = f"those under diagnosis.{key}"
                    yield from not_among(name, getattr(self, key), f"scenarios[{k}].{key}", subject)
        for name, agent in self.agents.items():
            if agent is None:
                if name in [agent_name for entry in self.scenarios for agent_name in entry.agents]:
                    yield f".agents.{name} is null, and a scenario names it; leave it out there"
                continue
            if name == EVERY:
                yield f".agents.{name}: {name} means every family in `choose`"
            if is_filed(agent.kind):
                yield f".agents.{name} acts by a file of one's own; here agents need no file"
            if name in self.methods:
                yield (
                    f".agents.{name}: {name} is a name under diagnosis.methods, too; take another"
                )
        yield from self._shown("figures", self.figures, [])
        yield from self._shown("choose", self.choose, [EVERY])

    def _shown(self, key: str, shown: Any, also: list[str]) -> Iterator[str]:
        """Check that everything drawn or chosen is trained."""
        scenarios = {entry.dataset: entry for entry in self.scenarios}
        yield from not_among(shown.dataset, scenarios, f"{key}.dataset", "the scenarios' data sets")
        entry = scenarios[shown.dataset]
        trained = [*entry.methods, *(entry.agents if also else []), *also]
        for name, value, allowed in (
            ("method", shown.method, trained),
            ("criterion", shown.criterion, entry.criteria),
            ("seed", int(shown.seed), entry.seeds),
        ):
            plural = {"method": "methods", "criterion": "criteria", "seed": "seeds"}[name]
            yield from not_among(value, allowed, f"{key}.{name}", f"the scenario's {plural}")
