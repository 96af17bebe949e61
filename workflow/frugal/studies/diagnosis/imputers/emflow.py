"""The imputer `emflow`: EMFlow, the paper's encoder  [diagnosis, sec. 5.2]; see `learn.emflow`."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from frugal.learn.imputer_kinds import Imputer, ImputerKind, ToFit


def fit(to: ToFit, **settings: Any) -> Imputer:
    """EMFlow fitted to the training rows; settings as of `fit_emflow`."""
    from frugal.studies.diagnosis.emflow_training import fit_emflow  # torch is slow to import

    return fit_emflow(to.train, validation=to.validation, panels=to.panels, rng=to.rng, **settings)


def read(arrays: Mapping[str, np.ndarray]) -> Imputer:
    """The imputer that `EmFlow.to_arrays` wrote; DataError where the arrays are none."""
    from frugal.studies.diagnosis.flows import EmFlow

    return EmFlow.from_arrays(arrays)


EMFLOW = ImputerKind(
    name="emflow",
    fit=fit,
    read=read,
    marks=("couplings",),
    shares=("EmflowSettings",),
    doc="EMFlow  [diagnosis, sec. 5.2]",
)
