"""The `diagnosis` study that a config describes: fronts, groups of reward pairs, files of steps.

Read by the Snakefile, so it imports nothing heavy. Knows which policies are trained together and
which files a step reads; knows nothing of how a policy is trained.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from frugal.config.blocks import not_among
from frugal.config.declared import kinds_with
from frugal.core.errors import ConfigError
from frugal.core.schema_check import listed
from frugal.data.description import Description
from frugal.results.files import all_digits
from frugal.studies.diagnosis.config import EVERY

PARTS = ("encoder", "agent", "encoder_validation", "validation", "test")
BASELINES = "baselines"  # family of classifiers on fixed sets of panels
SELECTION = "selection"  # family of the other ways to choose panels
BAYES = "bayes"  # family of the exact rules of a simulator
RUN_FILES = ("scores", "outcomes", "decisions")


@dataclass(frozen=True, eq=False)
class DiagnosisStudy:
    """A validated diagnosis block.

    Attributes:
        block: of the config.
        descriptions: data set → description.
    """

    block: Mapping[str, Any]
    descriptions: Mapping[str, Description]

    def scenario(self, dataset: str) -> Mapping[str, Any]:
        """Settings of one data set."""
        for entry in self.block["scenarios"]:
            if entry["dataset"] == dataset:
                return entry
        raise ConfigError(f"diagnosis.scenarios has no {dataset}")

    def pairs(self) -> list[tuple[float, float]]:
        """(ratio, penalty) of every policy of a front, the ratio outermost; index = pair."""
        grid = self.block["pairs"]
        return [(float(r), float(w)) for r in grid["ratios"] for w in grid["penalties"]]

    def groups(self) -> list[list[int]]:
        """Pairs that are trained in lock-step: group g holds g, g + groups, g + 2·groups, …

        So every group has rewards of all sizes, and groups differ by one policy at most.
        """
        count = len(self.pairs())
        groups = -(-count // self.block["pairs"]["group_size"])
        return [list(range(g, count, groups)) for g in range(groups)]

    def encoder_of(self, dataset: str, seed: str) -> str:
        """Path of the encoder that a data set's policies read through."""
        name = self.scenario(dataset)["encoder"]
        folder = f"results/encoders/dataset={dataset}/encoder={name}/seed={seed}"
        return f"{folder}/encoder.safetensors"

    def table_inputs(self, dataset: str) -> dict[str, str]:
        """The table and catalogue of a data set."""
        folder = f"results/data/dataset={dataset}"
        return {"table": f"{folder}/table.parquet", "catalogue": f"{folder}/catalogue.json"}

    def completed_inputs(self, dataset: str, seed: str) -> dict[str, str]:
        """Table, catalogue, encoder, and the states that it completed."""
        encoder = self.encoder_of(dataset, seed)
        states = {"encoder": encoder, "states": _states_of(encoder)}
        return self.table_inputs(dataset) | states

    def front_inputs(self, dataset: str, family: str, criterion: str, seed: str) -> dict[str, str]:
        """Inputs of `roll_out_front`: table, states, and the policies of every group."""
        groups = {
            f"policies_{g}": f"{front_folder(dataset, family, criterion, seed)}/group={g}"
            "/policies.safetensors"
            for g in range(len(self.groups()))
        }
        states = {"states": _states_of(self.encoder_of(dataset, seed))}
        return self.table_inputs(dataset) | states | groups

    def selection_inputs(self, dataset: str, criterion: str, seed: str) -> dict[str, str]:
        """Inputs of `train_selection`: table, states, and a front, whose panels `fixed` takes."""
        family = self.scenario(dataset)["methods"][0]
        decisions = f"{run_folder(dataset, family, criterion, seed)}/decisions.parquet"
        return self.completed_inputs(dataset, seed) | {"decisions": decisions}

    def described_inputs(self, dataset: str) -> dict[str, str]:
        """Inputs of `apply_bayes_rule`: the table and the description of its simulator."""
        path = self.descriptions[dataset].path
        return self.table_inputs(dataset) | {"description": str(path)}

    def figure_inputs(self) -> dict[str, Any]:
        """Inputs of `draw_diagnosis_figures` other than the summary: curves, log, table, groups."""
        shown = self.block["figures"]
        front = tuple(str(shown[key]) for key in ("dataset", "method", "criterion", "seed"))
        curves = [
            f"{front_folder(*front)}/group={g}/curves.parquet" for g in range(len(self.groups()))
        ]
        files = {name: f"{run_folder(*front)}/{name}.parquet" for name in RUN_FILES}
        return self.table_inputs(shown["dataset"]) | {"curves": curves} | files

    def training_settings(self, family: str, criterion: str, group: int) -> dict[str, Any]:
        """Settings of `train_front`: pairs of the group, training, stopping rule."""
        pairs, indices = self.pairs(), self.groups()[group]
        return {
            "pairs": [[k, *pairs[k]] for k in indices],
            "criterion": criterion,
            "training": dict(self.block["training"]) | dict(self.block["methods"][family]),
        }

    def rollout_settings(self, family: str) -> dict[str, Any]:
        """Settings of `roll_out_front`: pairs of every group."""
        pairs = self.pairs()
        return {
            "groups": [[[k, *pairs[k]] for k in group] for group in self.groups()],
            "method": family,
        }

    def choice_settings(
        self, dataset: str, family: str, criterion: str, seed: str, budget: str
    ) -> dict[str, Any]:
        """Settings of `choose_policy`, with the file and place of every policy of the front.

        Of a family that keeps no weights (baselines, selection, exact rules) no place is named.
        """
        return {
            "budget": float(budget),
            "score": criterion,
            "cost_unit": self.descriptions[dataset].cost_unit,
            "positive": self.descriptions[dataset].label.classes[1],
            "resamples": self.block["resamples"],
            "policies": {
                name: self._places(front_folder(dataset, name, criterion, seed), name)
                for name in self._families(dataset, family, criterion, seed)
            },
        }

    def choice_inputs(
        self, dataset: str, family: str, criterion: str, seed: str
    ) -> dict[str, list[str]]:
        """Inputs of `choose_policy`: of one family, or of all that diagnose the data set."""
        names = self._families(dataset, family, criterion, seed)
        folders = {name: run_folder(dataset, name, criterion, seed) for name in names}
        inputs = {
            part: [f"{folder}/{part}.parquet" for folder in folders.values()]
            for part in ("scores", "outcomes")
        }
        pooled = [
            f"{folders[name]}/pooled.parquet" for name in names if name in self.block["agents"]
        ]
        return inputs | ({"pooled": pooled} if pooled else {})

    def cases_settings(self, dataset: str) -> dict[str, Any]:
        """Settings of `show_diagnosis_cases` but for `units`: the first criterion and seed."""
        scenario = self.scenario(dataset)
        return {
            "criterion": scenario["criteria"][0],
            "seed": scenario["seeds"][0],
            "budget_shares": self.block["budget_shares"],
            "budget_share": self.block["figures"]["budget_share"],
        }

    def cases_inputs(self, dataset: str) -> dict[str, Any]:
        """Scores, outcomes and decisions of all families of that criterion and seed."""
        first = self.cases_settings(dataset)
        inputs = self.choice_inputs(dataset, EVERY, first["criterion"], str(first["seed"]))
        logs = [f.replace("outcomes.parquet", "decisions.parquet") for f in inputs["outcomes"]]
        return self.table_inputs(dataset) | inputs | {"decisions": logs}

    def bundle_inputs(
        self, dataset: str, family: str, criterion: str, seed: str, budget: str
    ) -> dict[str, str]:
        """Inputs of `bundle_choice`: the choice, the table, and every file it may name."""
        folder = run_folder(dataset, family, criterion, seed)
        choice = f"{folder.replace('results/diagnoses', 'results/choices')}/budget={budget}"
        places = self.choice_settings(dataset, family, criterion, seed, budget)["policies"]
        files = dict.fromkeys(
            place["file"]
            for places_of_family in places.values()
            for place in places_of_family.values()
        )
        named = {f"policy_{k}": path for k, path in enumerate(files)}
        return self.described_inputs(dataset) | {"choice": f"{choice}/choice.json"} | named

    def _families(self, dataset: str, family: str, criterion: str, seed: str) -> list[str]:
        """One family, or all of the same data set, criterion and seed."""
        if family != EVERY:
            return [family]
        run_key = (dataset, criterion, seed)
        runs = [run for run in self.runs() if (run[0], *run[2:]) == run_key]
        return [name for _, name, *_ in runs if name != BAYES]

    def _places(self, folder: str, family: str) -> dict[str, dict[str, Any]]:
        """Pair → file and position of the policy; of a family that keeps no weights, nothing."""
        if family in self.block["agents"]:
            return {
                str(pair): {"file": f"{folder}/policies.safetensors", "position": pair}
                for pair in range(len(self.tree_budget_shares()))
            }
        return {
            str(pair): {"file": f"{folder}/group={g}/policies.safetensors", "position": k}
            for g, group in enumerate(self.groups() if family in self.block["methods"] else [])
            for k, pair in enumerate(group)
        }

    def chosen_file(self, name: str) -> str:
        """Files that answer the config's own choice."""
        chosen = self.block["choose"]
        front = (str(chosen[key]) for key in ("dataset", "method", "criterion", "seed"))
        folder = run_folder(*front).replace("results/diagnoses", "results/choices")
        return f"{folder}/budget={all_digits(float(chosen['budget']))}/{name}"

    def bundle_file(self) -> str:
        """File by which new cases are read for the policy of `chosen_file`."""
        return self.chosen_file("cases.json").replace("results/choices", "results/bundles")

    def figure_settings(self) -> dict[str, Any]:
        """Settings of `draw_diagnosis_figures`."""
        shown = self.block["figures"]
        described = self.descriptions[shown["dataset"]]
        return dict(shown) | {"cost_unit": described.cost_unit, "title": described.title}

    def selection_settings(self, dataset: str, criterion: str) -> dict[str, Any]:
        """Settings of `train_selection`: the other ways of choosing panels, by name."""
        names = self.scenario(dataset)["selection"]
        return {
            "selection": {name: dict(self.block["selection"][name]) for name in names},
            "criterion": criterion,
            "classifier_updates": self.block["selection_classifier_updates"],
            "training": dict(self.block["training"]),
        }

    def tree_budget_shares(self) -> list[float]:
        """Budgets within which a front of trees has its best policy, the smallest first."""
        return sorted({*self.block["tree_budget_shares"], *self.block["budget_shares"]})

    def agent_settings(self, family: str, criterion: str) -> dict[str, Any]:
        """Settings of `train_trees`: the agent, its objective, and its limits."""
        agent = dict(self.block["agents"][family])
        settings = {"name": family, "agent": agent, "criterion": criterion}
        if agent["kind"] in kinds_with("front"):
            return settings | {"budget_shares": self.tree_budget_shares()}
        return settings | {"classifier": self.block["classifier"]}

    def baseline_settings(self, dataset: str, criterion: str) -> dict[str, Any]:
        """Settings of `train_baselines`: classifiers by name, and the panels each is given."""
        entry = self.scenario(dataset)
        return {
            "criterion": criterion,
            "baselines": {name: dict(self.block["baselines"][name]) for name in entry["baselines"]},
            "fixed_panels": entry["fixed_panels"],
        }

    def families(self) -> list[str]:
        """Families that are trained as a front."""
        return [*self.block["methods"], *self.agent_families()]

    def agent_families(self) -> list[str]:
        """Families of agents: a front each, or a single policy."""
        return [name for name, agent in self.block["agents"].items() if agent is not None]

    def comparison_files(self) -> list[str]:
        """Comparisons of imputers, one per data set."""
        names = [e["dataset"] for e in self.block["scenarios"] if e["compare_imputers"]]
        return [f"results/imputers/dataset={name}/comparison.parquet" for name in names]

    def wanted_rows(self) -> list[list[str]]:
        """[dataset, family, criterion, seed, method] of every method that the config requests."""
        return [
            [*run, method]
            for run in self.runs()
            for method in self._methods(self.scenario(run[0]), run[1])
        ]

    def _methods(self, entry: Mapping[str, Any], family: str) -> list[str]:
        """Methods of a family, as the summary names them."""
        if family == BASELINES:
            panels = self.descriptions[entry["dataset"]].panels
            sets = ["full"] + ["fixed"] * bool(entry["fixed_panels"])
            sets += ["free"] * any(panel.free for panel in panels)
            return [f"{name}_{which}" for name in entry["baselines"] for which in sets]
        if family == SELECTION:
            return list(entry["selection"])
        return ["bayes_static"] if family == BAYES else [family]

    def fronts(self) -> list[tuple[str, str, str, str]]:
        """(dataset, family, criterion, seed) of every front of learned policies."""
        return [
            (entry["dataset"], family, criterion, str(seed))
            for entry in self.block["scenarios"]
            for family in entry["methods"]
            for criterion in entry["criteria"]
            for seed in entry["seeds"]
        ]

    def runs(self) -> list[tuple[str, str, str, str]]:
        """(dataset, family, criterion, seed) of everything that diagnoses units."""
        others = []
        for entry in self.block["scenarios"]:
            name, seeds = entry["dataset"], [str(seed) for seed in entry["seeds"]]
            if entry["baselines"]:
                others += [(name, BASELINES, c, s) for c in entry["criteria"] for s in seeds]
            others += [
                (name, f, c, s) for f in entry["agents"] for c in entry["criteria"] for s in seeds
            ]
            if entry["selection"]:
                others += [(name, SELECTION, entry["criteria"][0], s) for s in seeds]
            if self.has_bayes_rule(name):
                others += [(name, BAYES, c, s) for c in entry["criteria"] for s in seeds]
        return self.fronts() + others

    def run_files(self, name: str) -> list[str]:
        """One path per run."""
        return [f"{run_folder(*run)}/{name}" for run in self.runs()]

    def summary_inputs(self) -> dict[str, list[str]]:
        """Inputs of `summarise_diagnosis`: scores of every run, out-of-fold scores of trees."""
        pooled = [
            f"{run_folder(*run)}/pooled.parquet"
            for run in self.runs()
            if run[1] in self.block["agents"]
        ]
        return {"scores": self.run_files("scores.parquet")} | ({"pooled": pooled} if pooled else {})

    def datasets(self) -> list[str]:
        """The data sets of the scenarios."""
        return [entry["dataset"] for entry in self.block["scenarios"]]

    def fronts_settings(self, dataset: str) -> dict[str, Any]:
        """Settings of `draw_fronts`: the data set, title, unit of cost, families."""
        described = self.descriptions[dataset]
        scenario = self.scenario(dataset)
        return {
            "dataset": dataset,
            "title": described.title,
            "cost_unit": described.cost_unit,
            "criterion": scenario["criteria"][0],
            "seed": scenario["seeds"][0],
            "budget_share": self.block["figures"]["budget_share"],
        }

    def belief_inputs(self, dataset: str) -> dict[str, list[str]]:
        """Outcomes of all families whose predicted probabilities `draw_fronts` draws."""
        settings = self.fronts_settings(dataset)
        inputs = self.choice_inputs(dataset, EVERY, settings["criterion"], str(settings["seed"]))
        return {"outcomes": inputs["outcomes"]}

    def has_bayes_rule(self, dataset: str) -> bool:
        """True for a simulator whose posterior is known exactly."""
        generator = self.descriptions[dataset].source.generator
        return generator is not None and generator.name == "clinical_simulator"


def _states_of(encoder: str) -> str:
    """The file of the states that an encoder's file completed, in the same folder."""
    return encoder.replace("/encoder.safetensors", "/states.safetensors")


def front_folder(dataset: str, family: str, criterion: str, seed: str) -> str:
    """Folder of the policies trained for one front."""
    return f"results/agents/dataset={dataset}/family={family}/criterion={criterion}/seed={seed}"


def run_folder(dataset: str, family: str, criterion: str, seed: str) -> str:
    """Folder of the diagnoses of one run."""
    return f"results/diagnoses/dataset={dataset}/family={family}/criterion={criterion}/seed={seed}"


def load_diagnosis_study(
    config: Mapping[str, Any], descriptions: Mapping[str, Description]
) -> DiagnosisStudy:
    """Check the diagnosis block against the data sets that it names.

    Args:
        config: the whole config, valid by its models.
        descriptions: of every data set that the config uses.

    Raises:
        ConfigError: one sentence with the key, the value found and the values allowed.
    """
    block = config["diagnosis"]
    study = DiagnosisStudy(block, descriptions)
    for k, entry in enumerate(block["scenarios"]):
        at, described = f"config: diagnosis.scenarios[{k}]", descriptions[entry["dataset"]]
        listed_parts = set(described.split.parts)
        for fractions in described.split.groups.values():
            listed_parts |= set(fractions)
        if lacking := [part for part in PARTS if part not in listed_parts]:
            raise ConfigError(
                f"{at}: {described.path} has no part {lacking[0]!r} under 'split'; diagnosis needs "
                f"{listed(PARTS)}"
            )
        if len(described.label.classes) != 2:
            raise ConfigError(
                f"{at}: the label of {described.path} has {len(described.label.classes)} classes; "
                "diagnosis needs two, of which the second is the positive one"
            )
        panels = [panel.name for panel in described.panels if not panel.free]
        for panel in entry["fixed_panels"]:
            for sentence in not_among(panel, panels, "fixed_panels", "its panels with a cost"):
                raise ConfigError(f"{at}{sentence}")
    return study
