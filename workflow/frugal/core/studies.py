"""Parts of a study that the core finds in its folder, by declarations: it names no study.

A study may have, in files of these names, `config.py`: its block of a config; `commands/WORD.py`: a
command; `verbs.py`: public names of `frugal`; `init.py`: `OtherRecords`; `advice.py`: an `Adviser`;
`targets.py`: a `RecordsTarget`; `methods.py`: tables of the page of methods; `kernels.py`: kernels
to compile.
"""

import argparse
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from frugal.core.declarations import PACKAGE, Declared, declared, load_one
from frugal.core.errors import ConfigError


def of_studies(file: str) -> dict[str, str]:
    """Study → its module of that name, of the studies that have one; sorted."""
    paths = sorted(PACKAGE.glob(f"studies/*/{file}.py"))
    return {path.parent.name: f"frugal.studies.{path.parent.name}.{file}" for path in paths}


def declared_by_studies(file: str, of: str) -> dict[str, Declared]:
    """Name → declaration, of all that studies declare in files of that name; sorted by study.

    Args:
        file: name of the module.
        of: class that the declarations call.
    """
    modules = of_studies(file).values()
    return {name: each for module in modules for name, each in declared(module, of).items()}


def loaded_from_studies(file: str, of: str) -> list[Any]:
    """The objects of these declarations."""
    declarations = declared_by_studies(file, of).items()
    return [load_one(declaration.module, of, name) for name, declaration in declarations]


@dataclass(frozen=True)
class OtherRecords:
    """Records of another form than a table, which `init` describes for a study.

    Attributes:
        name: of these records, in refusals.
        chosen_by: option that names a file; it is given for such records, and for no other.
        options: of `init` for them alone, with that one → arguments of `add_argument`.
        describe: of arguments, the file to write, prices and costs of errors: its text, and the
            lines to print.
    """

    name: str
    chosen_by: str
    options: Mapping[str, Mapping[str, Any]]
    describe: Callable[
        [argparse.Namespace, Path, Mapping[str, Any], Mapping[str, Any]], tuple[str, list[str]]
    ]


def forms_of_records() -> list[OtherRecords]:
    """Those of all studies."""
    return loaded_from_studies("init", "OtherRecords")


@dataclass(frozen=True)
class Adviser:
    """How `advise` reads policies of a study.

    Attributes:
        name: subject of the policies, in refusals.
        file: in a policy's folder, by which it is known.
        options: of `advise` for them alone → arguments of `add_argument`; `--out` always applies.
        advise: prints the next step of each case; returns the exit status.
    """

    name: str
    file: str
    advise: Callable[[argparse.Namespace], int]
    options: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


def adviser_of(folder: Path) -> Adviser | None:
    """The adviser of the study whose policy the folder holds; None where no study's is."""
    for name, adviser in declared_by_studies("advice", "Adviser").items():
        if (folder / adviser.literals["file"]).is_file():
            return load_one(adviser.module, "Adviser", name)
    return None


@dataclass(frozen=True)
class RecordFiles:
    """Inputs and folder of a run on one's own records; all paths absolute.

    Attributes:
        target: of the workflow.
        inputs: of the first step: the YAML, as `description`, and the files that it names.
        folder: `results/TARGET/NAME` in the folder of the start.
    """

    target: str
    inputs: Mapping[str, Path]
    folder: Path


def require_named_file(path: Path, key: str, file: Path, written: str) -> None:
    """Refuse a YAML one of whose keys names a file that is not there.

    Raises:
        ConfigError: a sentence with the key and the name as it is written.
    """
    if not os.path.isfile(file):  # also where no file can have that name
        raise ConfigError(f"{path}: {key!r} is {written!r}, and there is no such file")


@dataclass(frozen=True)
class RecordsTarget:
    """A target of the workflow, `snakemake NAME --config records=my.yaml`.

    Attributes:
        name: of the target.
        doc: a line of `--help`.
        files: the files of a run, from the YAML, absolute, and the folder of the start.
        key: of the YAML, by which it is known; None: a YAML with no other target's key.
    """

    name: str
    doc: str
    files: Callable[[Path, Path], RecordFiles]
    key: str | None = None


@dataclass(frozen=True)
class MethodTable:
    """A table of the page of methods: the declarations of a folder.

    Attributes:
        name: heading.
        words: a sentence below it.
        package: the folder.
        of: class that the declarations call.
        columns: heading → argument of the declaration, `name`, or `settings`: those of its block.
        more: settings that every kind has, see `config.declared.declared_block`.
    """

    name: str
    words: str
    package: str
    of: str
    columns: Mapping[str, str]
    more: Mapping[str, Any] = field(default_factory=dict)
