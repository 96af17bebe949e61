"""A tiny simulated clinic taken through every stage of `diagnosis`, in memory."""

import copy
import inspect
from pathlib import Path
from typing import Any, cast

import pandas as pd
import yaml
from frugal.answer.stages.data import prepare_data
from frugal.core.context import Context
from frugal.core.schema_check import read_yaml
from frugal.core.stored import StoredArrays
from frugal.core.streams import Streams
from frugal.data.description import load_description
from frugal.results.replacing import Growing, collected
from frugal.studies.diagnosis.spec import DiagnosisStudy
from frugal.studies.diagnosis.stages.beliefs import (
    apply_bayes_rule,
    tabulate_states,
    train_baselines,
    train_encoder,
    train_trees,
)
from frugal.studies.diagnosis.stages.fronts import roll_out_front, train_front, train_selection
from frugal.studies.diagnosis.stages.tables import recount_diagnoses, summarise_diagnosis

from tests.defaults import DEFAULT
from tests.unit.stored_bundles import as_read

ROOT = Path(__file__).parents[3]
NAME, FRONT = "tiny_clinic", "sm_ddpo_end2end"
PARTS = {"encoder": 200, "encoder_validation": 60, "agent": 400, "validation": 200, "test": 160}
SHARES = {"budget_shares": [0.05, 0.4, 1.0]}
DQN: dict[str, Any] = {"hidden": [8], "double": True, "dueling": False, "huber_bound": None}
DQN |= {"learning_rate": 0.001, "learning_rate_last": 0.001, "discount": 1.0, "batch": 16}
DQN |= {"memory": 500, "learning_starts": 64, "transitions_per_update": 16, "target_every": 64}
DQN |= {"exploration_share": 0.5, "epsilon_first": 1.0, "epsilon_last": 0.1}
DQN |= {"max_gradient_norm": 10.0, "episodes": 16, "transitions": 320}


def tiny_block() -> dict[str, Any]:
    """The diagnosis block of config.yaml, cut down to seconds."""
    block = copy.deepcopy(DEFAULT["diagnosis"])
    block["pairs"] = {"ratios": [2, 8], "penalties": [5, 60], "group_size": 3}
    block["encoders"] = {"mean": {"kind": "mean"}}
    block["training"] |= {"outer_loops": 4, "watched_units": 100, "visited_states": 1000}
    block["training"]["ppo"] |= {"hidden": [16], "steps": 128, "episodes": 16, "batch": 64}
    block["training"]["classifier"] |= {"hidden": [16]}
    grid = {"C": [0.1], "positive_weight": [1, 3]}
    block["baselines"] = {"logistic": {"kind": "logistic", "grid": grid}}
    block["selection_classifier_updates"] = 100
    block["selection"] = {
        "random": {"kind": "random", "lengths": [1, 3]},
        "fixed": {"kind": "fixed", "lengths": [2]},
        "greedy": {"kind": "greedy", "units": 60, "neighbours": 10, "least_gains": [0.01, 0.05]},
        "cwcf": {"kind": "cwcf", "cost_weights": [0.01, 0.1], "class_weights": [1, 3], "dqn": DQN},
    }
    block["agents"] = {name: _few(agent) for name, agent in block["agents"].items()}
    block["scenarios"] = [
        {
            "dataset": NAME,
            "encoder": "mean",
            "methods": [FRONT],
            "criteria": ["f1"],
            "seeds": [0, 1],
            "baselines": ["logistic"],
            "fixed_panels": ["blood count"],
            "selection": list(block["selection"]),
            "agents": list(block["agents"]),
            "compare_imputers": False,
        }
    ]
    shown = {"dataset": NAME, "method": FRONT, "criterion": "f1", "seed": 0}
    block["figures"] |= shown
    block["choose"] |= shown | {"method": "all"}
    return block


FEW: dict[str, Any] = {"trees": 20, "repeats": 1, "folds": 2, "min_leaf": 10, "gates": 2, "sets": 8}
FEW |= {"windows": 4, "linear": False, "price_weights": 3, "levels": 4, "copies": 2, "units": 100}
FEW |= {"neighbours": 20, "updates": 20, "batch": 16, "hidden": 8, "epochs": 2}


def _few(agent: dict[str, Any]) -> dict[str, Any]:
    """An agent that learns from trees or beliefs, with little of everything."""
    few = {key: FEW.get(key, value) for key, value in agent.items()}
    inner = {key: _few(value) for key, value in few.items() if isinstance(value, dict)}
    return few | inner | ({"dqn": DQN} if "dqn" in few else {})


def tiny_description(folder: Path) -> Path:
    """The clinic's YAML with few patients."""
    document = read_yaml(ROOT / "config/datasets/clinical_simulator.yaml")
    document["name"] = NAME
    document["split"]["parts"] = PARTS
    path = folder / f"{NAME}.yaml"
    path.write_text(yaml.safe_dump(document, allow_unicode=True))
    return path


def run(stage, settings, wildcards, **inputs):
    """A stage as the command line calls it."""
    streams = Streams(7, stage.__name__, {"dataset": NAME, **wildcards})
    made: Any = stage(context=Context(settings or {}, streams), **inputs)
    return collected(cast(Growing, made)) if inspect.isgenerator(made) else made


def keyed(frame: pd.DataFrame, run_of: tuple[str, str, str, str]) -> pd.DataFrame:
    """A run's frame with the keys of its folder."""
    keys = dict(zip(("dataset", "family", "criterion", "seed"), run_of, strict=True))
    return frame.assign(**keys)


class TinyRun:
    """Every file of the tiny study, by name."""

    def __init__(self, folder: Path) -> None:
        path = tiny_description(folder)
        self.study = DiagnosisStudy(tiny_block(), {NAME: load_description(path)})
        self.data = run(prepare_data, None, {}, description=path)
        self.runs: dict[tuple[str, str, str, str], dict[str, pd.DataFrame]] = {}
        self.encoders, self.fronts, self.given, self.path = {}, {}, {}, path
        for seed in ("0", "1"):
            self._seed(seed)
        every = {
            name: pd.concat([keyed(r[name], key) for key, r in self.runs.items()])
            for name in ("scores", "recounted")
        }
        self.scores, self.recounted = every["scores"], every["recounted"]
        self.summary = run(summarise_diagnosis, SHARES, {}, scores=self.scores)

    def _seed(self, seed: str) -> None:
        study, wild = self.study, {"seed": seed}
        encoder = run(train_encoder, {"kind": "mean"}, wild, **self.data)
        self.encoders[seed] = encoder
        given = self.data | {"encoder": encoder["encoder"]}
        made = run(tabulate_states, {"memory_gib": 1.0}, wild, **given)["states"]
        states = {"states": StoredArrays(made, "states.safetensors")}
        given |= states
        self.given[seed] = given
        fronts = [
            run(
                train_front,
                study.training_settings(FRONT, "f1", g),
                wild | {"group": str(g)},
                **given,
            )
            for g in range(len(study.groups()))
        ]
        self.fronts[seed] = fronts
        policies = {f"policies_{g}": as_read(front["policies"]) for g, front in enumerate(fronts)}
        made = {
            FRONT: run(
                roll_out_front,
                study.rollout_settings(FRONT),
                wild,
                **self.data,
                **states,
                **policies,
            )
        }
        made["baselines"] = run(
            train_baselines, study.baseline_settings(NAME, "f1"), wild, **self.data
        )
        decisions = made[FRONT]["decisions"]
        made["selection"] = run(
            train_selection,
            study.selection_settings(NAME, "f1"),
            wild,
            **given,
            decisions=decisions,
        )
        for family in study.agent_families():
            made[family] = run(
                train_trees,
                study.agent_settings(family, "f1"),
                wild | {"trees": family},
                **self.data,
            )
        made["bayes"] = run(
            apply_bayes_rule, {"criterion": "f1"}, wild, **self.data, description=self.path
        )
        for family, frames in made.items():
            again = run(
                recount_diagnoses,
                None,
                wild,
                outcomes=frames["outcomes"],
                decisions=frames["decisions"],
            )
            self.runs[NAME, family, "f1", seed] = frames | again
