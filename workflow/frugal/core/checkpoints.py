"""Checkpoints of a long step: what a killed run takes up again, gone once its outputs are there.

No output and no input of any rule: a hidden file beside the first output, named by a digest of all
that decides the step, so that another step, other settings or another version of the code never
take up a foreign one. Knows no stage.
"""

import hashlib
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path

import numpy as np

from frugal.core.errors import DataError
from frugal.core.files import json_bytes, payload_bytes, read_payload, write_bytes
from frugal.core.sidecars import Job, input_records, recorded_arithmetic
from frugal.core.sources import source_digest


class Checkpoint:
    """The checkpoint of one job.

    Args:
        job: the run; its first output says where the checkpoint lies.
    """

    def __init__(self, job: Job) -> None:
        first = next(iter(job.outputs.values()))
        self._job, self._folder = job, first.parent
        self._stem = f".{first.name}.checkpoint-"

    @cached_property
    def path(self) -> Path:
        """Where it lies, if there is one."""
        return self._folder / f"{self._stem}{_identity(self._job)}.safetensors"

    def load(self) -> dict[str, np.ndarray] | None:
        """The arrays that were saved last, or None.

        Raises:
            DataError: what lies there cannot be read.
        """
        if not self.path.is_file():
            return None
        try:
            return read_payload(self.path)
        except DataError as error:
            raise DataError(f"{error}; remove it, and the step starts anew") from None

    def save(self, state: Mapping[str, np.ndarray]) -> None:
        """Keep arrays, in place of those saved before; a killed write leaves those."""
        write_bytes(self.path, payload_bytes(self.path, state))

    def remove(self) -> None:
        """Remove it, and those that other versions of the same step have left behind."""
        for path in self._folder.glob(f"{self._stem}*"):
            path.unlink(missing_ok=True)


def _identity(job: Job) -> str:
    """Digest of all that decides the job's outputs but where they lie."""
    document = {
        "stage": job.stage,
        "settings": job.settings,
        "wildcards": dict(job.wildcards),
        "seed": job.seed,
        "inputs": [{k: r[k] for k in ("name", "sha256")} for r in input_records(job)],
        "source": source_digest(job.stage, job.settings),
    } | recorded_arithmetic(job.arithmetic)
    return hashlib.sha256(json_bytes(document)).hexdigest()[:16]
