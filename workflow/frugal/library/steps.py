"""The stages of `decide` that the library runs: what each reads, makes and is set to.

The rules under `workflow/rules` say the same to Snakemake; `tests/unit/test_library_steps.py`
compares both, command by command.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from frugal.library.asked import Asked

Keys = Mapping[str, str]
_DATA = "results/{kind}/dataset={dataset}"
_SCENARIO = f"{_DATA}/mechanism={{mechanism}}"
_AGENT = f"{_SCENARIO}/agent={{agent}}"


@dataclass(frozen=True)
class Step:
    """One stage in the chain.

    Attributes:
        reads: in the order of the command line: `stage.output`; with `[]` that of every scenario
            or agent, as one table; `policy`, `policies`, `description` and `raw` for what the study
            names itself; `name=stage.output` where the input has another name.
        makes: output → path; a word in braces is a wildcard.
        keys: wildcards of the step.
        settings: what the config says to it.
    """

    reads: tuple[str, ...]
    makes: Mapping[str, str]
    keys: tuple[str, ...]
    settings: Callable[["Asked", Keys], Any]

    def paths(self, keys: Keys) -> dict[str, str]:
        """The outputs of one job, from the working folder on.

        Bundles of the answer's policies lie where the workflow puts them, those of `train` apart.
        """
        kept = "bundles" if "held_out" in keys else "trained"
        return {name: path.format(bundles=kept, **keys) for name, path in self.makes.items()}

    def own(self, keys: Keys) -> dict[str, str]:
        """Those of these wildcards that are the step's."""
        return {name: keys[name] for name in self.keys}


def _files(kind: str, folder: str, *names: str) -> dict[str, str]:
    """Output → path, each named as its file."""
    place = folder.replace("{kind}", kind)
    return {Path(name).stem: f"{place}/{name}" for name in names}


def _none(asked: "Asked", keys: Keys) -> None:
    del asked, keys


def _of_afape(key: str) -> Callable[["Asked", Keys], Any]:
    return lambda asked, keys: asked.study.config["afape"][key]


def _of_agent(asked: "Asked", keys: Keys) -> Any:
    return asked.study.agents[keys["agent"]]


def _of_verdicts(asked: "Asked", keys: Keys) -> Any:
    del keys
    evaluation = asked.study.config["afape"]["evaluation"]
    gammas = evaluation["hidden_causes"]["gammas"]
    margin = float(asked.study.config["margin"])
    return {"cost_units": asked.study.cost_units(), "gammas": gammas, "margin": margin}


_TABLE = ("prepare_data.table", "prepare_data.catalogue")
_MASKS = "draw_missingness.masks"
_GRAPH = ("draw_missingness.graph", "draw_missingness.identification")
_CLASSIFIER = "fit_classifier.classifier"
_PLACE = ("dataset", "mechanism")

STEPS: Mapping[str, Step] = {
    "prepare_data": Step(
        ("description", "raw"),
        _files("data", _DATA, "table.parquet", "catalogue.json"),
        ("dataset",), _none,
    ),
    "draw_missingness": Step(
        _TABLE,
        _files("missingness", _SCENARIO, "masks.parquet", "graph.json", "identification.json"),
        _PLACE, lambda asked, keys: asked.study.missingness_settings(**keys),
    ),
    "impute_features": Step(
        (*_TABLE, _MASKS),
        _files("imputations", _SCENARIO, "imputed.parquet", "rounds.parquet"),
        _PLACE, _of_afape("imputation"),
    ),
    "fit_classifier": Step(
        _TABLE, _files("classifiers", _DATA, "classifier.safetensors"),
        ("dataset",), _of_afape("classifier"),
    ),
    "train_agent": Step(
        (*_TABLE, _CLASSIFIER, _MASKS),
        _files("agents", _AGENT, "policy.safetensors", "training.parquet"),
        (*_PLACE, "agent"), _of_agent,
    ),
    "learn_candidates": Step(
        (*_TABLE, _MASKS),
        _files("candidates", f"{_SCENARIO}/held_out={{held_out}}",
               "paths.parquet", "policies.safetensors"),
        (*_PLACE, "held_out"), lambda asked, keys: asked.study.candidate_settings(),
    ),
    "judge_candidates": Step(
        (*_TABLE, _MASKS, "draw_missingness.graph", "learn_candidates.paths[]",
         "refitted=learn_candidates.paths"),
        _files("candidates", _SCENARIO, "choice.json", "outcomes.parquet", "terms.parquet"),
        _PLACE, lambda asked, keys: asked.study.judging_settings(),
    ),
    "bundle_agent": Step(
        ("policy", "description", *_TABLE, _CLASSIFIER),
        _files("{bundles}", _AGENT, "policy.safetensors", "classifier.safetensors", "cases.json"),
        (*_PLACE, "agent"), _of_agent,
    ),
    "roll_out": Step(
        ("policy", *_TABLE, _CLASSIFIER, _MASKS, *_GRAPH, "impute_features.imputed",
         "impute_features.rounds"),
        _files("rollouts", _AGENT, "blocked.parquet", "worlds.parquet", "decisions.parquet"),
        (*_PLACE, "agent"), _of_agent,
    ),
    "fit_nuisances": Step(
        ("policies", *_TABLE, _MASKS, *_GRAPH, "roll_out.blocked[]"),
        _files("nuisances", _SCENARIO, "propensities.parquet", "agents.parquet",
               "calibration.parquet", "overlap.parquet", "losses.parquet"),
        _PLACE, lambda asked, keys: asked.study.nuisance_settings(**keys),
    ),
    "estimate_costs": Step(
        (*_TABLE, _MASKS, *_GRAPH, "roll_out.blocked[]", "roll_out.worlds[]",
         "fit_nuisances.propensities", "fit_nuisances.agents"),
        _files("estimates", _SCENARIO, "estimates.parquet", "resamples.parquet",
               "convergence.parquet", "frequencies.parquet", "efficiency.parquet",
               "comparisons.parquet", "groups.parquet", "sensitivity.parquet", "tipping.parquet"),
        _PLACE, _of_afape("evaluation"),
    ),
    "check_graph": Step(
        (*_TABLE, _MASKS, "draw_missingness.identification", "fit_nuisances.propensities"),
        _files("nuisances", _SCENARIO, "contrasts.parquet", "graph_check.parquet"),
        _PLACE, _none,
    ),
    "summarise_afape": Step(
        ("estimate_costs.estimates[]",), {"summary": "results/summary/afape.parquet"}, (), _none
    ),
    "give_verdicts": Step(
        ("summarise_afape.summary", "check_graph.graph_check[]", "estimate_costs.comparisons[]",
         "estimate_costs.groups[]", "estimate_costs.sensitivity[]", "estimate_costs.tipping[]"),
        _files("", "results/summary", "comparisons.parquet", "groups.parquet",
               "sensitivity.parquet", "verdicts.parquet")
        | {"sentence": "results/summary/verdict.txt"},
        (), _of_verdicts,
    ),
    "write_answer": Step(
        ("judge_candidates.choice", "judge_candidates.outcomes", "prepare_data.catalogue"),
        {"text": "results/verdict.txt", "page": "results/answer.html",
         "document": "results/answer.json"},
        (), lambda asked, keys: asked.decision.answer_settings(),
    ),
}  # fmt: skip
