"""The command line of a stage, for whoever starts one: the rules, and the library.

Knows no stage by name but for the names of the figures that one draws.
"""

import hashlib
import json
import shlex
import sys
from collections.abc import Mapping, Sequence
from itertools import groupby, product
from pathlib import Path
from typing import Any

from frugal.core.declarations import declared
from frugal.core.errors import ConfigError
from frugal.results.replacing import replace_files
from frugal.results.sources import STAGES

SETTINGS = "--settings"
LONG_SETTINGS = 30_000  # characters, above which they go through a file
_LONG_LINE = 60_000  # characters
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
        arithmetic: fast, or portable, which the command line then states.
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
        words += [SETTINGS, json.dumps(settings)]
    words += ["--seed", str(seed)]
    return words if arithmetic == "fast" else [*words, "--arithmetic", arithmetic]


def shell_line(words: Sequence[str], folder: Path) -> str:
    """Words as one line of bash, which takes no line over 131,072 bytes.

    Long settings are a file of a folder, named by its digest, and long lists have braces.
    """
    words = list(words)
    for at, word in enumerate(words):
        if len(word) > LONG_SETTINGS and words[at - 1] == SETTINGS:
            content = word.encode()
            path = folder / f"{hashlib.sha256(content).hexdigest()[:16]}.json"
            if not path.is_file() or path.read_bytes() != content:
                replace_files({path: content})
            words[at] = f"@{path}"
    line = shlex.join(words)
    if len(line) <= _LONG_LINE:
        return line
    quoted, at = [], 0
    while at < len(words):
        if words[at] != "--input":
            quoted.append(shlex.quote(words[at]))
            at += 1
            continue
        end = at
        while words[end : end + 1] == ["--input"]:
            end += 2
        quoted += [
            f"--input={braced}"
            for braced in _braced([w.split("/") for w in words[at + 1 : end : 2]])
        ]
        at = end
    return " ".join(quoted)


def _braced(paths: Sequence[Sequence[str]]) -> list[str]:
    """Paths as words that bash makes them of, in their order: those of a product are one word."""
    groups = [list(some) for _, some in groupby(paths, key=lambda path: (path[0], len(path)))]
    if len(groups) > 1:
        return [word for some in groups for word in _braced(some)]
    steps = [list(dict.fromkeys(column)) for column in zip(*paths, strict=True)]
    if [tuple(path) for path in paths] == list(product(*steps)):
        return ["/".join(map(_one_of, steps))]
    varies = next(k for k, names in enumerate(steps) if len(names) > 1)
    parts = [list(some) for _, some in groupby(paths, key=lambda path: path[varies])]
    return [word for some in parts for word in _braced(some)]


def _one_of(names: Sequence[str]) -> str:
    """A word for each name, where there are several."""
    quoted = [
        f"'{name}'" if "," in name and "'" not in name else shlex.quote(name) for name in names
    ]
    return quoted[0] if len(quoted) == 1 else f"{{{','.join(quoted)}}}"


def figures_of(stage: str) -> list[str]:
    """Names of the figures that a stage draws, by the declarations of its study."""
    package = STAGES[stage].rsplit(".", 2)[0]
    figures = declared(f"{package}.figures", "PrintedFigure")
    drawn = [name for name, figure in figures.items() if stage in figure.literals["stages"]]
    return sorted(drawn, key=lambda name: (figures[name].literals["place"], name))


def figure_files(name: str, folder: str) -> dict[str, str]:
    """The files of one figure by the names of their outputs: `cost_png`, `cost_page`, …"""
    return {f"{name}_{kind}": f"{folder}/{name}.{end}" for kind, end in _FIGURE_FILES.items()}


def require_plain_places(project: str | Path, working: str | Path) -> None:
    """Require folders whose names the shell and Snakemake read as they are.

    Args:
        project: folder of the workflow's files.
        working: folder that the steps work in.

    Raises:
        ConfigError: one of them, or this Python's, has a letter that is read as more than a letter.
    """
    places = {
        "the project's folder": (project, ":{}"),
        "this Python's folder": (Path(sys.executable).parent, ":"),
        "the working folder": (working, '"$`\\'),
    }
    for what, (path, live) in places.items():
        if special := sorted(set(str(path)) & set(live)):
            raise ConfigError(
                f"{what} is {str(path)!r}, and there {special[0]!r} would be read as more than a "
                f"letter; allowed is a path without {' '.join(live)}, so rename or move it"
            )
