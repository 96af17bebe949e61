"""Evaluation of policies: what each would cost at run time, by every estimator."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, overload

from frugal.core.errors import ConfigError
from frugal.library.chain import (
    classifier_of,
    missingness_of,
    payloads_of,
    policies_of,
    records_of,
    run_stage,
)
from frugal.library.folder import SCENARIO, Payloads, Steps
from frugal.library.objects import Answer, ComparedPolicies, Policy, html_of
from frugal.library.question import Question, door, require, require_entries

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Evaluation", "Rollouts", "evaluate", "roll_out", "verdict"]


def _episodes(question: Question, agent: str) -> Payloads:
    study, records = question.study, records_of(question)
    imputation = study.config["afape"]["imputation"]
    inputs = {**records_of(question, "graph", "identification"), **classifier_of(question)}
    inputs |= run_stage(question, "impute_features", question.keys, imputation, records)
    inputs |= dict(zip(["policy"], policies_of(question, [agent]), strict=False))
    return run_stage(question, "roll_out", question.keys_of(agent), study.agents[agent], inputs)


def _costs(question: Question) -> tuple[Payloads, Payloads]:
    """Costs of every policy by every estimator, and the check of the graph."""
    study, records = question.study, records_of(question, "graph", "identification")
    episodes = {agent: _episodes(question, agent) for agent in study.agents}
    blocked, worlds = (
        [(question.keys_of(agent), payloads[name]) for agent, payloads in episodes.items()]
        for name in ("blocked", "worlds")
    )
    inputs = {
        f"policy_{k}": policy for k, policy in enumerate(policies_of(question, [*study.agents]))
    }
    inputs |= {**records, "blocked": blocked}
    settings = study.nuisance_settings(**question.keys)
    fitted = run_stage(question, "fit_nuisances", question.keys, settings, inputs)
    propensities = {"propensities": fitted["propensities"]}
    inputs = {**records, "blocked": blocked, "worlds": worlds, **propensities}
    inputs["agents"] = fitted["agents"]
    evaluation = study.config["afape"]["evaluation"]
    costs = run_stage(question, "estimate_costs", question.keys, evaluation, inputs)
    inputs = {**records_of(question, "identification"), **propensities}
    return costs, run_stage(question, "check_graph", question.keys, None, inputs)


def _summary(question: Question) -> Payloads:
    costs, _ = _costs(question)
    inputs = {"estimates": [(question.keys, costs["estimates"])]}
    return run_stage(question, "summarise_afape", {}, None, inputs)


def _verdicts(question: Question) -> Payloads:
    costs, check = _costs(question)
    frames = {"graph_check": check["graph_check"]}
    frames |= {name: costs[name] for name in ("comparisons", "groups", "sensitivity", "tipping")}
    inputs = {name: [(question.keys, frame)] for name, frame in frames.items()}
    settings = question.study.verdict_settings()
    return run_stage(question, "give_verdicts", {}, settings, {**_summary(question), **inputs})


_STEPS = Steps(
    {
        "roll_out": _episodes,
        "check_graph": lambda question: _costs(question)[1],
        "summarise_afape": _summary,
        "give_verdicts": _verdicts,
    },
    {
        "roll_out": (
            f"rollouts/{SCENARIO}/agent={{agent}}",
            "blocked.parquet worlds.parquet decisions.parquet",
        ),
        "check_graph": (f"nuisances/{SCENARIO}", "graph_check.parquet"),
        "summarise_afape": ("summary", "summary=afape.parquet"),
        "give_verdicts": (
            "summary",
            "sentence=verdict.txt comparisons.parquet groups.parquet sensitivity.parquet "
            "verdicts.parquet",
        ),
    },
    {"summarise_afape": "give_verdicts", "check_graph": "give_verdicts"},
)
_payloads = partial(payloads_of, steps=_STEPS)


@dataclass(frozen=True, eq=False, repr=False)
class Rollouts:
    """The decisions of a policy on a table.

    Attributes:
        policy: whose decisions they are.
    """

    policy: Policy

    @property
    def blocked(self) -> "pd.DataFrame":
        """Run on the records: missing panels cannot be acquired. A row for each unit and seed."""
        return self._made["blocked"]

    @property
    def worlds(self) -> "pd.DataFrame":
        """Run on the full table, where there is one, and on imputed ones."""
        return self._made["worlds"]

    @property
    def decisions(self) -> "pd.DataFrame":
        """Every decision with its probability."""
        return self._made["decisions"]

    def __repr__(self) -> str:
        return f"Rollouts({self.policy.name!r})"

    @property
    def _made(self) -> Mapping[str, Any]:
        return _payloads(self.policy.question, "roll_out", agent=self.policy.name)


@dataclass(frozen=True, eq=False, repr=False)
class Evaluation(ComparedPolicies):
    """Policies, evaluated by every estimator of the study."""

    def _repr_html_(self) -> str:
        parts = {"Verdict": self.verdict.splitlines(), "Policies": self.policies}
        return html_of(f"Evaluation of {self.question.dataset}", parts)

    @property
    def verdict(self) -> str:
        """Which policy to use, at what cost and how sure; as `results/summary/verdict.txt`."""
        return _payloads(self.question, "give_verdicts")["sentence"].decode().strip()

    @property
    def best(self) -> str | None:
        """The policy that the verdict of the first scenario names; None where it names none."""
        return str(self.verdicts["agent"].iloc[0]) or None

    @property
    def estimates(self) -> "pd.DataFrame":
        """Cost per unit by policy, estimator and seed; as `results/summary/afape.parquet`."""
        return _payloads(self.question, "summarise_afape")["summary"]

    @property
    def comparisons(self) -> "pd.DataFrame":
        """Differences between policies on the same rows; `results/summary/comparisons.parquet`."""
        return _payloads(self.question, "give_verdicts")["comparisons"]

    @property
    def groups(self) -> "pd.DataFrame":
        """Costs and error rates of each group; `results/summary/groups.parquet`."""
        return _payloads(self.question, "give_verdicts")["groups"]

    @property
    def sensitivity(self) -> "pd.DataFrame":
        """How far hidden causes would move estimates; `results/summary/sensitivity.parquet`."""
        return _payloads(self.question, "give_verdicts")["sensitivity"]

    @property
    def verdicts(self) -> "pd.DataFrame":
        """The verdict of each seed in columns; `results/summary/verdicts.parquet`."""
        return _payloads(self.question, "give_verdicts")["verdicts"]

    @property
    def graph_check(self) -> "pd.DataFrame":
        """Where the records contradict the assumptions on missing values."""
        return _payloads(self.question, "check_graph")["graph_check"]

    @door
    def policy(self, name: str) -> Policy:
        """One of the policies, for new cases.

        Raises:
            ConfigError: no policy of that name was evaluated.
        """
        self._require(name)
        return Policy(self.question, name)


@door
def roll_out(policy: Policy) -> Rollouts:
    """Run a policy on the records, on the full table and on imputed ones.

    Raises:
        FrugalError: the stage refuses the policy.
    """
    require("policy", policy, Policy, "the result of train")
    _payloads(policy.question, "roll_out", again=True, agent=policy.name)
    return Rollouts(policy)


@overload
def evaluate(policies: Iterable[Policy | Rollouts]) -> Evaluation: ...
@overload
def evaluate(policies: Any, X: Any, y: Any, **terms: Any) -> "pd.DataFrame": ...
@door
def evaluate(
    policies: Any, X: Any = None, y: Any = None, **terms: Any
) -> "Evaluation | pd.DataFrame":
    """Costs of policies per unit at run time, by every estimator, and which to use.

    With records X it judges any object that has next_panel(X) and predict(X), as
    `frugal.sklearn.evaluate` does, whose arguments and result are the same.

    Args:
        policies: of one table and missingness; each has a name of its own. Or one such object.
        X: records, NaN where a value was not acquired. (n, d)
        y: labels. (n,)
        terms: prices, errors, panels, positive, causes and cv of `frugal.sklearn.evaluate`.

    Raises:
        ConfigError: there are none, two of one name, or they are of several tables.
        FrugalError: a stage refuses.
    """
    if X is not None or y is not None or terms:
        from frugal.library.evaluation import evaluate as evaluate_records

        return evaluate_records(policies, X, y, **terms)
    policies_used = [
        policy_or_rollouts.policy
        if isinstance(policy_or_rollouts, Rollouts)
        else policy_or_rollouts
        for policy_or_rollouts in require_entries(
            "policies", policies, "a list of results of train or roll_out"
        )
    ]
    for policy in policies_used:
        require("a policy", policy, Policy, "a result of train or roll_out")
    _require_one_table(policies_used)
    question = policies_used[0].question
    settings = {policy.name: dict(policy.settings) for policy in policies_used}
    others = dict.fromkeys(name for name in question.study.agents if name not in settings)
    functions = {
        policy.name: policy.question.functions[policy.name]
        for policy in policies_used
        if policy.name in policy.question.functions
    }
    question = question.with_agents({**settings, **others}, functions)
    for policy in policies_used:  # those from pickles bring what they have computed
        question.memory.update(policy.question.memory)
    _payloads(question, "give_verdicts", again=True)
    return Evaluation(question)


@door
def verdict(answer: Answer | Evaluation) -> str:
    """Which policy to use, at which cost and how sure, in words."""
    require("answer", answer, (Answer, Evaluation), "a result of evaluate or decide")
    return answer.summary() if isinstance(answer, Answer) else answer.verdict


def _require_one_table(policies: Sequence[Policy]) -> None:
    """Refuse policies that cannot be evaluated together."""
    if not policies:
        raise ConfigError("policies are none; evaluate takes at least one")
    names = [policy.name for policy in policies]
    for name in names:
        if names.count(name) > 1:
            raise ConfigError(f"two policies have the name {name!r}; train one under another name")
    place, *others = [_judged_alike(policy.question) for policy in policies]
    for policy, other in zip(policies[1:], others, strict=True):
        if other != place:
            raise ConfigError(
                f"{policy.name!r} is of another table or missingness than {names[0]!r}, or was "
                "loaded with other settings; policies that are evaluated together share them"
            )


def _judged_alike(question: Question) -> tuple[Any, ...]:
    """What questions share whose policies are evaluated together: all but their policies."""
    block = question.study.config["afape"]
    of_policies = ("agents", "figures", "grid", "answer")
    settings = {key: value for key, value in block.items() if key not in of_policies}
    identity = question.folder or missingness_of(question)["masks"].identity
    return str(identity), question.keys, settings, question.study.config["margin"]
