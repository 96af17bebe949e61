"""The command line of a stage, for whoever starts one: the rules, and the library.

Knows no stage by name but for the names of the figures that one draws.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from frugal.core.declarations import declared
from frugal.core.sources import STAGES

_FIGURE_FILES = {"png": "png", "page": "html", "pdf": "pdf", "table": "parquet"}


def stage_words(
    inputs: Mapping[str, str | Sequence[str]],
    outputs: Mapping[str, str],
    wildcards: Mapping[str, str],
    settings: Any,
    seed: int,
    arithmetic: str,
) -> list[str]:
    """The words after `python -m frugal STAGE`; settings that are null are left out.

    Args:
        inputs: name → path, or paths that are read as one table.
        outputs: name → path of each payload.
        wildcards: identity of the job.
        settings: of the stage, as JSON can hold them.
        seed: root seed.
        arithmetic: fast, or portable, which the command line then says.
    """
    words = []
    for name, value in inputs.items():
        if isinstance(value, str):
            words += ["--input", f"{name}={value}"]
        else:
            words += [w for path in value for w in ("--input", f"{name}[]={path}")]
    for name, value in outputs.items():
        words += ["--output", f"{name}={value}"]
    for name, value in wildcards.items():
        words += ["--wildcard", f"{name}={value}"]
    if settings is not None:
        words += ["--settings", json.dumps(settings)]
    words += ["--seed", str(seed)]
    return words if arithmetic == "fast" else [*words, "--arithmetic", arithmetic]


def figures_of(stage: str) -> list[str]:
    """Names of the figures that a stage draws, by the declarations of its study."""
    package = STAGES[stage].rsplit(".", 2)[0]
    found = declared(f"{package}.figures", "PrintedFigure")
    drawn = [name for name, one in found.items() if stage in one.says["stages"]]
    return sorted(drawn, key=lambda name: (found[name].says["place"], name))


def figure_files(name: str, folder: str) -> dict[str, str]:
    """The files of one figure by the names of their outputs: `cost_png`, `cost_page`, …"""
    return {f"{name}_{kind}": f"{folder}/{name}.{end}" for kind, end in _FIGURE_FILES.items()}
