"""The block `afape` of a config."""

from collections.abc import Iterator
from typing import Annotated, Any, Literal

from annotated_types import Ge, Le, Len
from pydantic import Field

from frugal.config.blocks import (
    AtLeastOne,
    Block,
    Count,
    Name,
    NonNegative,
    Positive,
    Probability,
    Seeds,
    Share,
    SomeNames,
    Text,
    Two,
    Unique,
    Whole,
    not_among,
    optional,
    required,
    setting,
)
from frugal.config.declared import Agent, Estimator, is_filed
from frugal.config.learners import ChainedTreesSettings, MissForest
from frugal.core.schema_check import did_you_mean, listed

NuisanceMethod = Literal["lowest_loss", "network", "logistic", "boosting"]


class Ends(Block):
    """Range of a column."""

    low: float | None = optional("least value", name="from")
    below: float | None = optional("values lie below it")

    def _refusals(self) -> Iterator[str]:
        ends = [end for end in (self.low, self.below) if isinstance(end, float)]
        if len(ends) == 2 and ends[0] >= ends[1]:
            yield f".from is {ends[0]:g}; it must lie below 'below', {ends[1]:g}"


class RecordedSet(Block):
    """Panels that are recorded together."""

    panels: SomeNames = required("of the table")
    probability: Probability | Text = required(
        "that a case of the stratum gets the set; a text is a column that all rows have"
    )


class Stratum(Block):
    """Cases with the same probabilities."""

    where: dict[str, Ends] = setting({}, "encoded column that all rows have → range; none: all")
    record: list[RecordedSet] = required(
        "sets, of which each case gets one or, with the remaining probability, none"
    )

    def _refusals(self) -> Iterator[str]:
        numbers = [s.probability for s in self.record if not isinstance(s.probability, str)]
        if (total := sum(numbers)) > 1 + 1e-6:
            yield f".record has probabilities that sum to {total:g}; allowed are sums up to 1"


class Protocol(Block):
    """Known probabilities by which rows were recorded."""

    first_row: Count | None = setting(
        None, "of the rows recorded by it, counted from 1; it goes on to the end. null: all rows"
    )
    strata: Annotated[list[Stratum], Len(1)] = required("a row is in the first that it fits")


class AnswerSettings(Block):
    """Of tables that are divided into folds."""

    prefer: list[str] = setting(
        [],
        "policies, the first whose cost is near the lowest is named; others follow in their order",
    )
    practice: str = setting(
        "always", "the policy whose models decide on the panels acquired in the records"
    )
    repeats: Count | None = setting(
        None,
        "times that rows are divided into folds anew; null: up to 3, so that rows times repeats "
        "are at most 1,500",
    )
    budgets: list[NonNegative] = setting(
        [], "of objective f1, that of the answer first: most that panels may cost a case"
    )
    gamma: AtLeastOne = setting(
        10.0, "the largest shift of odds by hidden causes that is looked at"
    )
    recorded: Protocol | None = setting(
        None, "protocol by which rows were recorded; `decide` reads it from the file `recorded`"
    )
    instead: dict[Name, dict[str, Any]] = setting(
        {}, "data set → keys that replace those of its YAML; `decide` sets split and groups"
    )


class TreeClassifierSettings(Block):
    """The classifier of agents that do not predict a class themselves."""

    kind: Literal["forest", "boosting"] = setting(
        "forest",
        "forest: impute-then-regress random forest; boosting: takes missing values natively",
    )
    trees: Count = setting(100)
    min_leaf: Count = setting(5, "rows")
    subsample_probability: Probability = setting(
        0.5, "that a panel is kept in the subsampled copy of the training rows"
    )
    leaves: Two = setting(31, "boosting only")
    learning_rate: Positive = setting(0.1, "boosting only")


class NuisanceNetwork(Block):
    """Networks of the probabilities."""

    hidden: Count = setting(32, "units per hidden layer")
    layers: Count = setting(2, "hidden layers")
    epochs: Count = setting(8)
    batch: Count = setting(512, "rows")
    learning_rate: Positive = setting(0.01, "peak of the one-cycle schedule")
    ridge: NonNegative = setting(2.0, "½·ridge·Σ weights² is added to the sum of the losses")


class NuisanceLogistic(Block):
    """Logistic regressions of the probabilities."""

    C: Positive = setting(1.0, "inverse of the ridge penalty")


class NuisanceBoosting(Block):
    """Boosted trees of the probabilities."""

    trees: Count = setting(100)
    leaves: Two = setting(15)
    learning_rate: Positive = setting(0.05)
    min_leaf: Count = setting(20)


class Nuisance(Block):
    """Models of the probabilities of gaps and of mean costs."""

    method: NuisanceMethod = setting(
        "network", "lowest_loss: for each probability the one of least cross-fitted log-loss"
    )
    outcome_method: Literal["lowest_loss", "network", "boosting"] = setting(
        "network", "of mean costs; lowest_loss: by squared error"
    )
    folds: Two = setting(
        5, "of cross-fitting; where the data set has a part called nuisance, of the choice alone"
    )
    rows: Count = setting(
        1000000,
        "most test rows that models learn from; of more a random sample, which standard "
        "errors count",
    )
    network: NuisanceNetwork = setting(NuisanceNetwork())
    logistic: NuisanceLogistic = setting(NuisanceLogistic())
    boosting: NuisanceBoosting = setting(NuisanceBoosting())
    bins: Count = setting(10, "of the calibration curves")


class MultipleImputation(Block):
    """Several imputed copies."""

    draws: Two = setting(5)
    rounds: Count = setting(3)
    trees: Count = setting(20, "most of a regression; held-out rows determine how many are kept")
    leaves: Two = setting(8)
    learning_rate: Positive = setting(0.3)
    min_leaf: Count = setting(20)
    linear_penalty: Positive = setting(1.0, "of squared slopes, in standard deviations")


class Imputation(Block):
    """Imputers of the estimators by imputation."""

    chained_trees: ChainedTreesSettings | None = setting(
        ChainedTreesSettings(), "null leaves the estimators out"
    )
    missforest: MissForest | None = setting(None, "null leaves the estimators out")
    multiple: MultipleImputation | None = setting(
        MultipleImputation(), "null leaves the estimators out"
    )


class HiddenCauses(Block):
    """How far causes that no record holds may move estimates."""

    gammas: Annotated[list[AtLeastOne], Len(1), Unique()] = setting(
        [1, 1.1, 1.25, 1.5, 1.75, 2, 2.5, 3, 4, 5, 7, 10],
        "bounds of the factor by which hidden causes change the odds of a set",
    )
    folds: Two = setting(5, "of the quantiles of the cost, for the sharp ranges")
    leaves: Two = setting(16, "cells of columns known in every row, at most")
    leaf_rows: Count = setting(50, "in a cell, at least")
    rows: Count = setting(
        1000000, "most rows that cells of the cost are learned from; of more a random sample"
    )


class EvaluationSettings(Block):
    """How policies are judged."""

    resamples: Two = setting(300)
    resample_share: Share = setting(0.7, "rows in a resample, drawn without replacement")
    positivity_threshold: Share = setting(0.01)
    convergence_sizes: Annotated[list[Count], Unique()] = setting(
        [250, 500, 1000, 2500, 5000, 10000, 25000, 50000, 100000], "rows"
    )
    hidden_causes: HiddenCauses = setting(
        HiddenCauses(),
        "how far estimates move where causes that no record holds shift the odds of a set of "
        "panels being recorded",
    )


class AfapeFigures(Block):
    """Contents of the figures."""

    frequency_agent: str = setting("dqn", "agent whose acquisition frequencies are drawn")
    convergence_agents: Annotated[list[str], Len(1)] = setting(["random_10", "random_90"], "Fig. 5")
    estimators: Annotated[list[Estimator], Len(1)] = setting(
        [
            "ground_truth",
            "blocking",
            "complete_case",
            "imputation_chained_trees",
            "stabilised_ipw",
            "stabilised_afais_s",
            "stabilised_afais_s_policy",
        ],
        "those in the figures of the paper",
    )


class WorldGrid(Block):
    """Worlds of known truth in which verdicts are counted as right or wrong."""

    datasets: SomeNames = setting(
        ["synthetic_mnar"],
        "names under datasets; gaps of a table are filled by values of the same column",
    )
    mechanisms: Annotated[list[Literal["mcar", "mar", "mnar", "self"]], Len(1), Unique()] = setting(
        ["mnar"],
        "causes of gaps of a panel: nothing, an always-known column, a column of the panel "
        "before it, its own column",
    )
    missing_shares: Annotated[list[Share], Len(1), Unique()] = setting(
        [0.5], "of the rows, in every panel that can be missing"
    )
    panels: Annotated[int, Ge(1), Le(16)] = setting(4, "that can be missing")
    rows: Count = setting(2000, "of a draw, at most")
    draws: Count = setting(10, "of rows and gaps in every world")
    imputed_draws: Whole = setting(
        1, "of these, the first ones, in which policies also act on imputed copies"
    )
    agents: SomeNames = setting(["never", "random_50", "always"], "names under agents")
    nuisance_method: NuisanceMethod = setting("logistic")


class InducedPanel(Block):
    """When a panel is recorded."""

    intercept: float = required("logit of the probability that the panel is recorded")
    values: dict[str, float] = optional("column → weight (X → R edges)")
    indicators: dict[str, float] = optional("panel → weight (R → R edges)")


class InducedGaps(Block):
    """Gaps that are drawn."""

    source: Literal["induced"]
    standardise: bool = setting(True, "scale parent columns to mean 0 and standard deviation 1")
    complete_share: Share | None = setting(
        None, "wanted share of complete cases; null keeps the intercepts unchanged"
    )
    panels: Annotated[dict[str, InducedPanel], Len(1)] = required()


class OwnPanel(Block):
    """The causes of a panel's gaps that are assumed."""

    values: list[str] = optional("columns (X → R edges)")
    indicators: list[str] = optional("panels (R → R edges)")


class OwnGaps(Block):
    """Gaps that the table has."""

    source: Literal["own"]
    panels: dict[str, OwnPanel] | None = required(
        "the causes assumed for each panel with missing values; null, as of `decide`: columns of "
        "panels that all rows have, and which of the panels before it are recorded"
    )


Missingness = Annotated[InducedGaps | OwnGaps, Field(discriminator="source")]


class AfapeScenario(Block):
    """One data set and mechanism of its gaps."""

    dataset: str = required("a name under datasets")
    mechanism: Name = required()
    missingness: Missingness = required()
    nuisance_method: NuisanceMethod | None = setting(None, "null takes afape.nuisance.method")
    s: list[str] | None = setting(
        None,
        "panels that must be recorded for a row to be used; null takes the smallest set by "
        "the graph",
    )


class Afape(Block):
    """Cost of an acquisition policy, estimated from records with missing features."""

    seeds: Seeds = setting(
        [0, 1, 2], "each is one draw of the masks and of the policies' randomness"
    )
    job_rows: Annotated[int, Ge(131072)] = setting(
        1048576,
        "rows × seeds that one job takes: seeds of a larger scenario are judged by several "
        "jobs, rows of a larger table rolled out by several",
    )
    answer: AnswerSettings = setting(AnswerSettings())
    classifier: TreeClassifierSettings = setting(TreeClassifierSettings())
    agents: Annotated[dict[Name, Agent | None], Len(1)] = required(
        "name → acquisition policy; null leaves out one that config.yaml has"
    )
    nuisance: Nuisance = setting(Nuisance())
    imputation: Imputation = setting(Imputation())
    evaluation: EvaluationSettings = setting(EvaluationSettings())
    figures: AfapeFigures = setting(AfapeFigures())
    grid: WorldGrid = setting(WorldGrid())
    scenarios: Annotated[list[AfapeScenario], Len(1)] = required(
        "data set × missingness; see docs/reference/afape.md for the keys"
    )

    def _refusals(self) -> Iterator[str]:
        pairs = [(entry.dataset, entry.mechanism) for entry in self.scenarios]
        for dataset, mechanism in pairs:
            if pairs.count((dataset, mechanism)) > 1:
                yield f".scenarios has {dataset} with {mechanism} twice"
        agents = {name: chosen for name, chosen in self.agents.items() if chosen is not None}
        if not agents:
            yield ".agents has no agent that is not null; at least one is needed"
        for name in [self.figures.frequency_agent, *self.figures.convergence_agents]:
            if name not in agents:
                yield (
                    f".figures names agent {name!r}; under 'afape.agents' there are "
                    f"{listed(agents)}{did_you_mean(name, agents)}"
                )
        named = self.grid.agents
        for name in named:
            yield from not_among(name, self.agents, "grid.agents", "under 'afape.agents' there")
            if (chosen := self.agents[name]) is not None and is_filed(chosen.kind):
                yield (
                    f".grid.agents names {name!r}, which acts by a file of one's own; allowed are "
                    "agents that need no file"
                )
        files_alone = all(is_filed(chosen.kind) for chosen in agents.values())
        if not set(named) & set(agents) and not files_alone:  # then the grid alone refuses
            yield (
                f".grid.agents names {listed(named)}, and each of them is null under "
                "'afape.agents'; name one that is there"
            )
