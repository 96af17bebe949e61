"""What the checkpoint of a DADI training must be, before a run goes on from it.

Must not know how the training is done or where the checkpoint lies.
"""

import math
from collections.abc import Mapping

import numpy as np
import torch

from frugal.acquire.train.dadi_curves import COLUMNS
from frugal.acquire.train.dadi_networks import NetworkSizes
from frugal.core.errors import DataError
from frugal.core.stored import Array, Stored

_WHAT = "checkpoint of a DADI training"


def iterations_done(state: Mapping[str, np.ndarray] | None) -> int:
    """Iterations before the checkpoint, for a progress bar; 0 without one, or where none is told.

    What is wrong with a checkpoint says `require_state`.
    """
    told = np.empty(0) if state is None else state.get("iteration", np.empty(0))
    return int(told) if told.shape == () and told.dtype.kind in "iu" else 0


def require_state(
    state: Mapping[str, np.ndarray],
    identity: np.ndarray,
    sizes: NetworkSizes,
    *,
    learners: int,
    units: int,
) -> None:
    """The checkpoint belongs to this run, and every array in it is what the run goes on with.

    Args:
        state: as `fit_dadi` hands it to `save`, maybe from a file.
        identity: digest of the run. (32,)
        sizes: of the networks.
        learners: K.
        units: number of training units.

    Raises:
        DataError: it belongs to another run, or is damaged; the sentence says where.
    """
    told = state.get("identity", identity)
    if told.shape == identity.shape and not np.array_equal(told, identity):
        raise DataError(
            "the checkpoint belongs to a run with other settings or another table; remove it, or "
            "go back to what it was made with"
        )
    try:
        _require_arrays(Stored(_WHAT, state), identity, sizes, learners, units)
    except DataError as error:
        raise DataError(f"{error}; remove it, and the training starts anew") from None


def _require_arrays(
    stored: Stored, identity: np.ndarray, sizes: NetworkSizes, learners: int, units: int
) -> None:
    weights = Array("float32", (_count(sizes, learners),))
    agents, settings = sizes.settings.agents, sizes.settings
    stored.require(
        {
            "identity": Array("uint8", identity.shape),
            "pretrained": Array("float32", (_count(sizes, 1),)),
            "parameters": weights,
            "target": weights,
            "first_moment": weights,
            "second_moment": Array("float32", weights.shape, low=0),
            "adam_steps": Array("int64", (), low=0, high=settings.iterations),
            "row": Array("int64", (learners, agents), low=0, high=units - 1),
            "known": Array("float32", (learners, agents, sizes.panels + 1), low=0, high=1),
            "generator": Array("uint8", tuple(torch.Generator().get_state().shape)),
            "iteration": Array("int64", (), low=0, high=settings.iterations),
            "squared_error": Array("float64", (learners,), low=0),
            "since": Array("int64", (), low=0, high=settings.iterations),
            "curve_iterations": Array("int64", ("rows",), low=0, high=settings.iterations),
            "curve_rows": Array("float64", ("rows", learners, len(COLUMNS))),
        },
        empty=("rows",),
    )
    try:
        torch.Generator().set_state(torch.tensor(stored.arrays["generator"]))
    except RuntimeError:
        raise stored.refusal(
            "has an array 'generator' that is no state of a generator of random numbers"
        ) from None


def _count(sizes: NetworkSizes, learners: int) -> int:
    """Number of parameters of K learners."""
    return sum(math.prod(shape) for shape in sizes.stacked(learners).values())
