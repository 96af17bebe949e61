"""How often an explanation occurs in training: numbers of the recourse paper, sections 4.2 and 5.2.

    OMP_NUM_THREADS=1 python -m tests.benchmarks.recourse_frequencies

Ranges over five worlds, one split each, of 20, 50 and 100 features, as in `recourse_accuracy`; the
first world is also augmented as config/paper_recourse.yaml has it.
"""

import numpy as np
from frugal.studies.recourse.accuracy import unseen_explanations
from frugal.studies.recourse.augmentation import augment
from frugal.studies.recourse.worlds import explanation_index, train_rows

from tests.benchmarks.recourse_accuracy import ROOT, recourse_block, seeded_world

WORLDS = range(5)


def main() -> None:
    """Print a line per number of features."""
    block = recourse_block(ROOT / "config" / "paper_recourse.yaml")
    rare = block["augmentation"]["rare_frequency"]
    for n in (20, 50, 100):
        mean, single, unseen, augmented = [], [], [], ""
        for seed in WORLDS:
            units, _ = seeded_world(n, seed, draws=100_000)
            rng = np.random.default_rng([seed, n, 1])
            in_train = train_rows(len(units), train_share=block["train_share"], rng=rng)
            train, test = units.take(in_train), units.take(~in_train)
            frequency = explanation_index(train.action_set)[2]
            mean.append(frequency.mean())
            single.append((frequency == 1).mean())
            counts = unseen_explanations(test.action_set, train.action_set)
            unseen.append(counts["unseen_explanations"])
            if seed == WORLDS[0]:
                larger, _ = augment(train, test, **block["augmentation"], rng=rng)
                after = explanation_index(larger.action_set)[2]
                augmented = f"{(frequency < rare).sum()}, augmented {(after < rare).sum()}"
        print(
            f"n={n}: {min(mean):.2f} to {max(mean):.2f} training units an explanation, "
            f"{min(single):.3f} to {max(single):.3f} of them with one; {min(unseen)} to "
            f"{max(unseen)} unseen in test units; under {rare} units {augmented}"
        )


if __name__ == "__main__":
    main()
