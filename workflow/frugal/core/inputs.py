"""Which kind of file each input of a stage is, as the stage's own annotations say.

Knows no stage by name.
"""

import inspect
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, get_args, get_origin

import numpy as np
import pandas as pd

from frugal.core.errors import DataError
from frugal.core.partitions import Partitions
from frugal.core.rows import Rows
from frugal.core.sidecars import Job
from frugal.core.stored import StoredArrays


def require_kinds(job: Job, stage: Callable[..., Any]) -> None:
    """A table comes as Parquet, arrays as safetensors, a document as JSON; raw files as they are.

    Raises:
        DataError: names the input, its file, and the suffix that it needs.
    """
    for name, paths in job.inputs.items():
        wanted = _suffixes(_parameter(stage, name))
        for path in paths if isinstance(paths, list) else [paths]:
            if wanted and path.suffix not in wanted:
                raise DataError(
                    f"input {name!r} is {path}; {job.stage} takes a {' or '.join(wanted)} file "
                    "for it"
                )


def takes_one_by_one(stage: Callable[..., Any], name: str) -> bool:
    """Whether a stage reads the tables of an input one at a time."""
    parameter = _parameter(stage, name)
    return parameter is not None and parameter.annotation is Partitions


def takes_rows(stage: Callable[..., Any], name: str) -> bool:
    """Whether a stage reads the rows and columns of an input that it needs."""
    parameter = inspect.signature(stage).parameters.get(name)
    return parameter is not None and Rows in (
        parameter.annotation, *get_args(parameter.annotation)
    )  # fmt: skip


def takes_path(stage: Callable[..., Any], name: str) -> bool:
    """Whether a stage reads the file of an input itself, whatever its name ends in."""
    parameter = _parameter(stage, name)
    return parameter is not None and parameter.annotation is Path


def _parameter(stage: Callable[..., Any], name: str) -> inspect.Parameter | None:
    """The parameter that takes an input, by its name or with all others."""
    parameters = inspect.signature(stage).parameters
    rest = next((p for p in parameters.values() if p.kind is p.VAR_KEYWORD), None)
    return parameters.get(name, rest)


def _suffixes(parameter: inspect.Parameter | None) -> tuple[str, ...]:
    """Suffixes of the files that a parameter's type is read from; none where any is allowed.

    Arrays, a path or a table: a stored policy, or one's own in a Python file or as a table.
    """
    if parameter is None:
        return ()
    allowed = parameter.annotation
    kinds = (allowed, *get_args(allowed))
    if Path in kinds:
        return (".safetensors", ".py", ".parquet") if StoredArrays in kinds else ()
    for kind in kinds:
        if kind is StoredArrays:
            return (".safetensors",)
        if kind in (pd.DataFrame, Partitions, Rows):
            return (".parquet",)
        if get_origin(kind) is Mapping:
            return (".safetensors",) if get_args(kind)[1] is np.ndarray else (".json",)
    return ()
