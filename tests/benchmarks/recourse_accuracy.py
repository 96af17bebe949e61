"""Accuracy of generators over seeded worlds: where numbers of docs/results/recourse.md come from.

    OMP_NUM_THREADS=1 python -m tests.benchmarks.recourse_accuracy N SEEDS GENERATORS [CONFIG]

N is 20, 50 or 100 features; SEEDS and GENERATORS are separated by commas, and generators are those
of config.yaml, changed by CONFIG (config/paper_recourse.yaml if none is given). Worlds are those of
`labelled_world` with `default_rng([seed, n])` at 100,000 draws; a second stream,
`default_rng([seed, n, 1])`, splits them and fits.
"""

import copy
import sys
import time
from pathlib import Path

import numpy as np
from frugal.core.schema_check import read_yaml
from frugal.studies.recourse.augmentation import augment
from frugal.studies.recourse.generator import fit_generator
from frugal.studies.recourse.instance import LabelledUnits
from frugal.studies.recourse.learned.answers import as_membership
from frugal.studies.recourse.worlds import frequent_explanations, train_rows, variant_design

from tests.defaults import DEFAULT
from tests.studies.recourse.cover_cases import labelled_world

ROOT = Path(__file__).parents[2]


def recourse_block(path: Path) -> dict:
    """The recourse block of config.yaml with the generators and options of another config."""
    block = copy.deepcopy(DEFAULT["recourse"])
    changes = read_yaml(path)["recourse"]
    block["augmentation"] |= changes.get("augmentation", {})
    for name, options in changes.get("generators", {}).items():
        block["generators"][name] = block["generators"].get(name, {}) | options
    return block


def seeded_world(n: int, seed: int, *, draws: int) -> tuple[LabelledUnits, np.random.Generator]:
    """Labelled units of one world, and the stream that drew it."""
    design = variant_design(
        f"dim_{n}", draws=draws, feature_probability=0.68, actions=100, action_probability=0.5
    )
    rng = np.random.default_rng([seed, n])
    return labelled_world(design, rng), rng


def accuracy(name: str, block: dict, units: LabelledUnits, rng: np.random.Generator) -> float:
    """Share of a fifth of the units whose cheapest actions are found from the other units."""
    in_train = train_rows(len(units), train_share=block["train_share"], rng=rng)
    train, test = units.take(in_train), units.take(~in_train)
    options, settings = block["augmentation"], block["generators"][name]
    if settings["augmentation"] != "none":
        rare = options["rare_frequency"] if settings["augmentation"] == "ag2" else None
        train, _ = augment(train, test, **(options | {"rare_frequency": rare}), rng=rng)
    answers = fit_generator(settings, train, rng=rng).answer(test.features, test.group)
    actions = len(units.instance.cost)
    found = as_membership(answers.action_set, actions=actions)
    return float((found == as_membership(test.action_set, actions=actions)).all(axis=1).mean())


def main(n: int, seeds: list[int], names: list[str], path: Path) -> None:
    """Print a line per generator and subset: accuracy of each seed, their mean, CPU seconds."""
    block = recourse_block(path)
    worlds = {seed: seeded_world(n, seed, draws=100_000)[0] for seed in seeds}
    for name in names:
        for subset, more_than in block["subsets"].items():
            start, shares = time.process_time(), []
            for seed, units in worlds.items():
                kept = units.take(frequent_explanations(units.action_set, more_than=more_than))
                shares.append(accuracy(name, block, kept, np.random.default_rng([seed, n, 1])))
            each = (time.process_time() - start) / len(shares)
            texts = " ".join(f"{share:.4f}" for share in shares)
            print(f"n={n} {name} {subset}: {np.mean(shares):.4f} ({texts}), {each:.1f} CPU s each")


if __name__ == "__main__":
    words = [*sys.argv[1:], "config/paper_recourse.yaml"]
    main(int(words[0]), [int(s) for s in words[1].split(",")], words[2].split(","), Path(words[3]))
