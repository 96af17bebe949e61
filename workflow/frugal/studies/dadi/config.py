"""The block `dadi` of a config."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Literal

from annotated_types import Ge, Len
from pydantic import StringConstraints

from frugal.config.afape import TreeClassifierSettings
from frugal.config.blocks import (
    Block,
    Count,
    Gammas,
    Name,
    Names,
    Positive,
    Probability,
    Seeds,
    Share,
    Two,
    not_among,
    repeated,
    required,
    setting,
)
from frugal.config.declared import Agent, declared_union, is_filed
from frugal.config.learners import Boosting, DadiNetworks, DadiTraining

if TYPE_CHECKING:
    DadiBaseline = Agent
else:
    DadiBaseline = declared_union("frugal.studies.dadi.fair_baselines", "FairBaseline", "Baseline")
BaselineName = Annotated[str, StringConstraints(min_length=1)]


class DadiFolds(Block):
    """Folds of the rows."""

    count: Two = setting(6, "equal parts of the rows; each is the test part of one fold")
    run: Seeds = setting([0, 1], "folds that are run, from 0")
    validation_share: Share = setting(0.1333333, "of all rows")

    def _refusals(self) -> Iterator[str]:
        for fold in self.run:
            if fold >= self.count:
                yield f".run names fold {fold}; there are {self.count}, from 0"
        if self.validation_share >= 1 - 1 / self.count:
            yield (
                f".validation_share is {self.validation_share:g}; with a test part of "
                f"1/{self.count} no row is left to train on"
            )


class AuditLogistic(Block):
    """Logistic regressions of the audit."""

    ridge: Positive = setting(0.0001)


class AuditNetwork(Block):
    """Set network of the audit."""

    iterations: Count = setting(1000, "batches, as large as training.agents")


class DadiAudit(Block):
    """Outsiders trained afterwards on the collected sets."""

    rows: Count = setting(10000, "training rows whose sets they learn from")
    logistic: AuditLogistic = setting(AuditLogistic())
    boosting: Boosting = setting(Boosting())
    set_network: AuditNetwork = setting(AuditNetwork())


class BaselineOptions(Block):
    """Settings shared by baselines."""

    ridge: Positive = setting(0.0001, "of logistic regressions")
    selection_rows: Count = setting(
        10000, "training rows that LASSO, forward selection and reductions read"
    )
    boosting: Boosting = setting(Boosting())


class DadiComparison(Block):
    """Who is fairest among those nearly as accurate as a baseline."""

    reference: str = setting("full_features", "a name under baselines")
    auc_slack: Probability = setting(0.02, "AUC that may be given up")


class DadiScenario(Block):
    """One data set."""

    dataset: str = required("a name under datasets")
    rows: Annotated[int, Ge(100)] | None = setting(None, "rows drawn at random; null takes all")
    withheld_panels: Names = setting([], "panels that may not be acquired")
    networks: DadiNetworks = setting(DadiNetworks())
    gammas: Gammas | None = setting(None, "null takes dadi.gammas")
    selection_by: str | None = setting(None, "panel by whose levels selection is shown; null: by γ")
    shown_gammas: Gammas = required("of Fig. 3; by levels, the first")
    caution: str | None = setting(None, "statement about the data on every figure")


class Dadi(Block):
    """Which features may be collected from a person, so predictions are accurate and fair."""

    folds: DadiFolds = setting(DadiFolds())
    gammas: Gammas = setting(
        [0.0, 0.25, 0.5, 0.75, 1.0], "weight of accuracy; 1: plain acquisition, blind to the group"
    )
    threshold: Probability | Literal["label_share"] = setting(
        "label_share",
        "least probability of the label that is decided as 1; label_share: chosen on "
        "validation rows, of which as many are decided 1 as have the label",
    )
    resamples: Count = setting(1000, "of the bootstrap of disparity")
    training: DadiTraining = setting(DadiTraining())
    audit: DadiAudit = setting(DadiAudit())
    baseline_options: BaselineOptions = setting(BaselineOptions())
    baselines: dict[BaselineName, DadiBaseline | None] = required(
        "name → baseline; null leaves out one that config.yaml has"
    )
    agents: dict[Name, Agent | None] = setting(
        {}, "name → agent of another kind, audited in the same way; the name begins with its kind"
    )
    error_weight: Positive = setting(
        1.0,
        "of the table's costs of errors, for which agents of other kinds learn; the larger, the "
        "more they collect",
    )
    classifier: TreeClassifierSettings = setting(
        TreeClassifierSettings(), "used by agents that only stop"
    )
    comparison: DadiComparison = setting(DadiComparison())
    scenarios: Annotated[list[DadiScenario], Len(1)] = required()

    def _refusals(self) -> Iterator[str]:
        for name, agent in self.agents.items():
            if agent is None:
                continue
            if is_filed(agent.kind):
                yield f".agents.{name} acts by a file of one's own; here agents need no file"
            if name != agent.kind and not name.startswith(f"{agent.kind}_"):
                yield f".agents.{name} is of kind {agent.kind!r}, with which its name begins"
            if name in ("dadi", *self.baselines):
                yield f".agents.{name}: {name} is another method of the study; take another name"
        yield from repeated((entry.dataset for entry in self.scenarios), "scenarios")
        for k, entry in enumerate(self.scenarios):
            for gamma in entry.shown_gammas:
                gammas = entry.gammas or self.gammas
                yield from not_among(gamma, gammas, f"scenarios[{k}].shown_gammas", "its gammas")
