"""The kind `table`: what a program of one's own would do, state by state, in a Parquet file."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from frugal.acquire.kinds import AgentKind, Stored
from frugal.acquire.policies.state_tables import StateTable, state_table
from frugal.core.errors import ConfigError
from frugal.core.layout import Layout


def build(settings: Mapping[str, Any], layout: Layout, stored: Stored) -> StateTable:
    """The table of the file that is among a step's inputs."""
    if not isinstance(stored, pd.DataFrame):
        raise ConfigError("an agent of kind 'table' acts by its file; it is not among the inputs")
    return state_table(stored, layout, settings["file"])


TABLE = AgentKind(
    name="table",
    build=build,
    fit=None,
    settings={
        "file": (
            "ParquetFile",
            "a Parquet file with the columns row, acquired, action and probability",
        ),
        "dataset": ("str", "the data set whose rows it tells of"),
    },
    doc="what a program of one's own would do, state by state, in a Parquet file",
    file=True,
    rows_only=True,
    names={"dataset": "dataset"},
)
