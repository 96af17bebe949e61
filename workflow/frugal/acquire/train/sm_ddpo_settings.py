"""How the loops of SM-DDPO run: a block of config as values that are checked."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal

from frugal.acquire.acquisition import Start
from frugal.acquire.train.boosted_beliefs import BoostedSettings
from frugal.acquire.train.lockstep_classifier import ClassifierSettings
from frugal.acquire.train.lockstep_ppo import PpoSettings
from frugal.core.errors import ConfigError


@dataclass(frozen=True)
class SmDdpoSettings:
    """How the loops of Algorithm 1 run.

    Attributes:
        ppo: of the panel selectors.
        classifier: of f_φ, networks or one boosted model for all learners.
        variant: "end2end": the classifier starts from nothing; "pretrained": it is first fitted
            on randomly masked states.
        pretraining_updates: minibatches of that; read by "pretrained" only.
        tuned: whether a pretrained classifier goes on learning; read by "pretrained" only.
        verdict: "actor": its ends say the class; "belief": the classifier's belief does, from the
            threshold on that serves `criterion` best on the validation units.
        outer_loops: at most, L.
        policy_updates: rollouts and updates of PPO in an outer loop, L1.
        classifier_updates: minibatches of the classifier in an outer loop, L2.
        visited_states: the latest states of each learner that are kept for the classifier, Q.
        input_bound: completed values are clipped to ± this many standard deviations.
        start: of training episodes: "random" panels, at no cost, the "free" block alone, or
            "mixed", half of them each.
        validate_every: outer loops between two looks at the validation units.
        patience: looks without improvement, for every learner, after which training stops.
        criterion: what the best weights are kept by: "f1", "am" or "value" (mean sum of rewards).
        watched_units: training units on which the curves of training are drawn, at most.
    """

    ppo: PpoSettings
    classifier: ClassifierSettings | BoostedSettings
    variant: Literal["end2end", "pretrained"]
    pretraining_updates: int
    tuned: bool
    verdict: Literal["actor", "belief"]
    outer_loops: int
    policy_updates: int
    classifier_updates: int
    visited_states: int
    input_bound: float
    start: Start
    validate_every: int
    patience: int
    criterion: Literal["f1", "am", "value"]
    watched_units: int

    @classmethod
    def of(cls, settings: Mapping[str, Any]) -> "SmDdpoSettings":
        """From a block of config.

        Raises:
            ConfigError: a key is missing or unknown.
        """
        known = {field.name for field in fields(cls)}
        if odd := known.symmetric_difference(settings):
            raise ConfigError(
                f"settings of SM-DDPO: {', '.join(sorted(odd))} missing or unknown; "
                f"allowed and needed are {', '.join(sorted(known))}"
            )
        parts = {
            "ppo": PpoSettings.of(settings["ppo"]),
            "classifier": _belief_settings(settings["classifier"]),
        }
        return cls(**{**settings, **parts, "input_bound": float(settings["input_bound"])})

    @property
    def classifier_learns(self) -> bool:
        """Whether the classifier learns from visited states."""
        return self.variant == "end2end" or self.tuned


def _belief_settings(settings: Mapping[str, Any]) -> ClassifierSettings | BoostedSettings:
    boosted = "boosting" in settings
    return BoostedSettings.of(settings) if boosted else ClassifierSettings.of(settings)
