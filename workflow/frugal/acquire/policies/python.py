"""The kind `python`: one's own function in a file that the config names."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from frugal.acquire.kinds import AgentKind, Stored
from frugal.acquire.policies.python_files import PythonPolicy, load_python_policy
from frugal.core.errors import ConfigError
from frugal.core.layout import Layout


def build(settings: Mapping[str, Any], layout: Layout, stored: Stored) -> PythonPolicy:
    """The function of the settings in the file that is among a step's inputs."""
    if not isinstance(stored, Path):
        raise ConfigError("an agent of kind 'python' acts by its file; it is not among the inputs")
    return load_python_policy(stored, settings["function"], layout)


PYTHON = AgentKind(
    name="python",
    build=build,
    fit=None,
    settings={
        "file": ("PythonFile", "a Python file (.py); it is run as your own code"),
        "function": ("str", "its name in the file"),
    },
    doc="one's own function in a Python file",
    file=True,
    runs_code=True,
)
