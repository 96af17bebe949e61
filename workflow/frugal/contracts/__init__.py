"""Frozen types that every layer shares; they hold and check arrays, and compute nothing else."""

from frugal.contracts.cover import CoverInstance, Covers, LabelledUnits
from frugal.contracts.episodes import Episodes, Policy, ReadingPolicy
from frugal.contracts.errors import (
    ConfigError,
    DataError,
    FrugalError,
    GraphError,
    NoSupportError,
)
from frugal.contracts.graph import IndicatorModel, MissingnessGraph
from frugal.contracts.mask import Mask
from frugal.contracts.streams import Streams
from frugal.contracts.table import Panel, Table
from frugal.contracts.terms import Terms
from frugal.contracts.world import StateEncoder, World

__all__ = [
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
    "ReadingPolicy",
    "StateEncoder",
    "Streams",
    "Table",
    "Terms",
    "World",
]
