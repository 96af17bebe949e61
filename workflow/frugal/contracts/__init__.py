"""Frozen types that every layer shares; they hold and check arrays, and compute nothing else."""

from frugal.contracts.acquisition import AcquisitionTask, StateEncoder
from frugal.contracts.cover import CoverInstance, Covers, LabelledUnits
from frugal.contracts.errors import (
    ConfigError,
    DataError,
    FrugalError,
    GraphError,
    NoSupportError,
)
from frugal.contracts.graph import IndicatorModel, MissingnessGraph
from frugal.contracts.history import DECISION_COLUMNS, Episodes, Policy
from frugal.contracts.mask import Mask
from frugal.contracts.streams import Streams
from frugal.contracts.table import Panel, Table
from frugal.contracts.terms import Terms

__all__ = [
    "DECISION_COLUMNS",
    "AcquisitionTask",
    "ConfigError",
    "CoverInstance",
    "Covers",
    "DataError",
    "Episodes",
    "FrugalError",
    "GraphError",
    "IndicatorModel",
    "LabelledUnits",
    "Mask",
    "MissingnessGraph",
    "NoSupportError",
    "Panel",
    "Policy",
    "StateEncoder",
    "Streams",
    "Table",
    "Terms",
]
