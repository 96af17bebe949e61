"""Random streams: every draw of a stage comes from a generator named by its purpose."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

_ANY_TABLE = "clinic"  # the bundled example, whose answer is quoted on pages


@dataclass(frozen=True)
class Streams:
    """Independent generators derived from (root seed, stage, wildcards, keys).

    The same name always gives the same stream, and no stream depends on how many others are used:
    seed 3 of a study is the same whether seeds 0, 1, 2 run in the same study or not.

    Attributes:
        root: the config's root seed.
        stage: name of the stage that draws.
        wildcards: identity of the job.
    """

    root: int
    stage: str
    wildcards: Mapping[str, str]

    def generator(self, *keys: str | int) -> np.random.Generator:
        """A generator for one purpose, for example `generator("mask", seed)`."""
        name = json.dumps(
            [self.root, self.stage, sorted(self.wildcards.items()), [str(k) for k in keys]]
        )
        digest = hashlib.sha256(name.encode()).digest()
        entropy = [int.from_bytes(digest[i : i + 4], "little") for i in range(0, 32, 4)]
        return np.random.default_rng(np.random.SeedSequence(entropy))

    def of_any_table(self) -> "Streams":
        """The same for each name of a table: equal tables then give equal answers."""
        return replace(self, wildcards={**self.wildcards, "dataset": _ANY_TABLE})

    def of_block(self, number: int, *keys: str | int) -> np.random.Generator:
        """The generator of one block of rows; that of the first has the keys alone."""
        return self.generator(*keys, *(["block", number] if number else []))
