"""`python -m frugal STAGE …`: reads named inputs, calls one stage, writes its outputs and manifest.

The command that Snakemake prints for a job is complete: copied into a shell, in the same folder, it
makes the same bytes without the engine. Knows no stage by name and nothing of the engine.
"""

import argparse
import importlib
import inspect
import json
import os
import sys
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast, get_args, get_origin

from frugal.core.arguments import command_parser, pair, program, whole_number
from frugal.core.declarations import PACKAGE
from frugal.core.errors import ConfigError, DataError
from frugal.results.sources import STAGES

if TYPE_CHECKING:
    from frugal.results.manifests import Job


# Commands that run no stage: the module whose NAME_command reads the words; last those of studies
COMMANDS = {
    "decide": "library.decide_command",
    "init": "run.init_command",
    "advise": "run.advise",
    "report": "library.report_command",
    "export": "run.export",
    "audit": "run.audit",
    "diff": "run.audit",
    "describe": "run.describe",
    "benchmark": "run.benchmarks",
    "claims": "run.claims",
    "plan": "run.plans",
    "reference": "run.reference.command",
    "compile": "run.compiled",
    "rocrate": "run.audit",
    "config": "run.config_files",
} | {
    path.stem: f"studies.{path.parts[-3]}.commands.{path.stem}"
    for path in sorted(PACKAGE.glob("studies/*/commands/[a-z]*.py"))
}
USED_SUFFIX = ".jsonl"
_FORMATS = (".parquet", ".json", ".safetensors", ".png", ".pdf", ".html")  # of what a stage makes
_PROGRESS_SECONDS = 2.0  # between two lines of a progress bar in a log


def read_command(words: list[str]) -> tuple["Job", Path | None]:
    """The job that a command line names, and the file for its measured resources, if any.

    Raises:
        ConfigError: the words contradict each other.
        SystemExit: the words do not form a command (by `argparse`, with the usage).
    """
    if not words:
        raise ConfigError(f"a command or a stage is missing; {program()} --help names all")
    if not words[0].startswith("-"):
        _require_stage(words[0])
    parsed = _parser().parse_args(words)
    from frugal.results.manifests import Job

    job = Job(
        parsed.stage,
        _named_inputs(parsed.input),
        {name: Path(value) for name, value in _once("--output", parsed.output).items()},
        parsed.settings,
        _once("--wildcard", parsed.wildcard),
        parsed.seed,
        parsed.arithmetic,
        parsed.from_store,
    )
    _require_place_for_used(parsed.used, job)
    return job, parsed.used


def _require_stage(name: str) -> None:
    if name not in STAGES:
        from frugal.core.schema_check import did_you_mean, shown
        from frugal.run.overview import TARGETS

        for target in TARGETS:
            if name == target.split()[0]:
                raise ConfigError(
                    f"{name} is a target of the workflow; run snakemake --cores 2 {target}"
                )
        hint = did_you_mean(name[:100], [*COMMANDS, *STAGES])
        raise ConfigError(
            f"there is no command or stage {shown(name)}{hint}; {program()} --help names all"
        )


def run_job(job: "Job") -> None:
    """Read the inputs of a `Job`, call its stage, write payloads and the manifest.

    Raises:
        FrugalError: there is no such stage, or an input is invalid; no output is
            written then.
    """
    _require_stage(job.stage)
    from tqdm import tqdm

    from frugal.core.blocks import Portion, whole
    from frugal.core.context import Context
    from frugal.core.streams import Streams
    from frugal.results.manifests import Checkpoint, require_intact, write_outputs
    from frugal.results.replacing import Growing, growing_files

    stage = getattr(importlib.import_module(STAGES[job.stage]), job.stage)
    divided = "portion" in inspect.signature(stage).parameters
    streams = Streams(job.seed, job.stage, whole(job.wildcards) if divided else job.wildcards)
    bar = partial(tqdm, file=sys.stderr, mininterval=_PROGRESS_SECONDS, leave=True)
    arguments: dict[str, Any] = {"context": Context(_settings(job), streams, bar)}
    takes_up = "checkpoint" in inspect.signature(stage).parameters
    if takes_up:
        arguments["checkpoint"] = Checkpoint(job)
    if divided:
        arguments["portion"] = Portion.of(job.wildcards)
    if "origins" in inspect.signature(stage).parameters:
        from frugal.results.manifests import origins_of

        arguments["origins"] = origins_of(job)
    try:
        inspect.signature(stage).bind(**job.inputs, **arguments)
    except TypeError as error:
        names = ", ".join(job.inputs) or "none"
        raise ConfigError(f"{error}; the inputs given are {names}") from None
    _require_kinds(job, stage)
    _require_formats(job, stage)
    _require_places(job)
    records = require_intact(job)
    inputs = {name: _read(stage, name, paths) for name, paths in job.inputs.items()}
    with growing_files(job.outputs) as write:
        produced: Any = stage(**inputs, **arguments)
        payloads = write(cast("Growing", produced)) if inspect.isgenerator(produced) else produced
        if set(payloads) != set(job.outputs):
            raise ConfigError(
                f"outputs {', '.join(sorted(job.outputs))} were requested; "
                f"the stage makes {', '.join(sorted(payloads))}"
            )
        write_outputs(job, payloads, records)
    if takes_up:
        arguments["checkpoint"].remove()


def _read(stage: Callable[..., Any], name: str, paths: "Path | list[Path]") -> Any:
    """An input as its stage takes it: whole, one table at a time, or by rows and columns."""
    from frugal.core.rows import Partitions, Rows, open_rows
    from frugal.results.files import partitions, read_partitions, read_payload

    kinds = kinds_of(stage, name)
    if Partitions in kinds:
        return partitions(paths if isinstance(paths, list) else [paths])
    if isinstance(paths, list):
        return read_partitions(paths)
    if kinds[:1] in [(Path,), (Path | None,)]:
        return paths
    return open_rows(paths) if Rows in kinds else read_payload(paths)


def _require_formats(job: "Job", stage: Callable[..., Any]) -> None:
    """Refuse an output whose name ends in no format that is written, before any work is done.

    A stage that hands on bytes as they came takes any name; the one sentence that another writes
    is a text.
    """
    if inspect.signature(stage).return_annotation == dict[str, bytes]:
        return
    for name, path in job.outputs.items():
        allowed = (*_FORMATS, ".txt") if name == "sentence" else _FORMATS
        if path.suffix not in allowed:
            raise ConfigError(
                f"--output {name}={path} ends in {path.suffix or 'nothing'!r}; allowed are "
                f"{', '.join(allowed)}"
            )


def _require_places(job: "Job") -> None:
    """Refuse an output that would replace another one, or an input."""
    output_of = {os.path.realpath(path): name for name, path in job.outputs.items()}
    if len(output_of) < len(job.outputs):
        raise ConfigError(f"two of the outputs {', '.join(job.outputs)} (--output) are one file")
    for name, path in job.input_files:
        if output := output_of.get(os.path.realpath(path)):
            raise ConfigError(
                f"--output {output} is {path}, which --input {name.removesuffix('[]')} reads; a "
                "step never replaces its own input"
            )


def _require_place_for_used(used: Path | None, job: "Job") -> None:
    """Refuse a file of measurements that would replace a result, or an input."""
    if used is None:
        return
    if used.suffix != USED_SUFFIX:
        raise ConfigError(
            f"--used {used} ends in {used.suffix or 'nothing'!r}; allowed is {USED_SUFFIX}"
        )
    files = [*(path for _, path in job.input_files), *job.outputs.values()]
    if os.path.realpath(used) in map(os.path.realpath, files):
        raise ConfigError(f"--used {used} is an input or an output; name another file")


class _StageSettings(dict[str, Any]):
    """Settings whose error names the key that the command line lacks."""

    def __init__(self, mapping: Mapping[str, Any], at: str = "") -> None:
        super().__init__(
            (k, _StageSettings(v, f"{at}{k}.") if isinstance(v, dict) else v)
            for k, v in mapping.items()
        )
        self._at = at

    def __missing__(self, key: str) -> Any:
        raise ConfigError(f"--settings lacks the key {self._at + str(key)!r}")


def _settings(job: "Job") -> _StageSettings:
    """The settings of a job as its stage reads them; null for none."""
    if not isinstance(job.settings, dict | None):
        raise ConfigError(f"--settings is {str(job.settings)[:50]!r}; {job.stage} takes a mapping")
    return _StageSettings(job.settings or {})


def _parser() -> argparse.ArgumentParser:
    parser = command_parser(
        "",
        "Run one stage of the workflow by hand, exactly as Snakemake runs it.",
        epilog=f"Stages: {', '.join(STAGES)}. Commands that run no stage, each with its own "
        f"--help: {', '.join(COMMANDS)}.",
    )
    parser.add_argument("stage", help="name of the stage, often the same as the rule's")
    add = partial(parser.add_argument, type=pair, action="append", default=[])
    add("--input", metavar="NAME=PATH", help="NAME[]=PATH, repeated, for several files as one")
    add("--output", metavar="NAME=PATH")
    add("--wildcard", metavar="NAME=VALUE")
    parser.add_argument(
        "--used",
        type=Path,
        metavar="PATH",
        help="file for CPU seconds, peak MB and wall seconds, written as the job ends",
    )
    parser.add_argument("--settings", type=_json, default={}, metavar="JSON", help="or @FILE of it")
    parser.add_argument(
        "--seed", type=whole_number(0), required=True, help="root seed of the study"
    )
    parser.add_argument(
        "--arithmetic",
        choices=("fast", "portable"),
        default="fast",
        help="portable: the same bytes on any x86-64 CPU with AVX2",
    )
    parser.add_argument(
        "--from-store",
        action="store_true",
        help="inputs under results/ come from a store, without their manifests",
    )
    return parser


def _json(text: str) -> Any:
    from frugal.core.strict_yaml import StrictYamlError, parse_json

    try:
        if text.startswith("@"):
            text = Path(text[1:]).read_text(encoding="utf-8")
        value = parse_json(text)
        json.dumps(value, allow_nan=False)  # a manifest could not hold it
        return value
    except OSError as error:
        raise argparse.ArgumentTypeError(f"{text[1:]} cannot be read: {error.strerror}") from None
    except (ValueError, StrictYamlError) as error:
        raise argparse.ArgumentTypeError(f"{text[:100]!r} is not JSON: {error}") from None


def _once(option: str, pairs: list[tuple[str, str]]) -> dict[str, str]:
    """The pairs by name; a repeated name is refused."""
    named = dict(pairs)
    if len(named) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ConfigError(f"{option} {twice} is given twice")
    return named


def _named_inputs(pairs: list[tuple[str, str]]) -> dict[str, Path | list[Path]]:
    """Single files by name; files given as `name[]` as one list."""
    single = _once("--input", [pair for pair in pairs if not pair[0].endswith("[]")])
    inputs: dict[str, Path | list[Path]] = {name: Path(value) for name, value in single.items()}
    lists: dict[str, list[Path]] = {}
    for name, value in pairs:
        if name.endswith("[]"):
            lists.setdefault(name[:-2], []).append(Path(value))
    if doubled := sorted(inputs.keys() & lists):
        raise ConfigError(f"--input {doubled[0]} is given both as one file and as a list")
    # in the order of the command line, which the manifest repeats
    order = dict.fromkeys(name.removesuffix("[]") for name, _ in pairs)
    return {name: (inputs | lists)[name] for name in order}


def _require_kinds(job: "Job", stage: Callable[..., Any]) -> None:
    """Tables come as Parquet, arrays as safetensors, documents as JSON; raw files as they are."""
    for key, path in job.input_files:
        name = key.removesuffix("[]")
        suffixes = _suffixes(kinds_of(stage, name))
        if suffixes and path.suffix not in suffixes:
            raise DataError(
                f"input {name!r} is {path}; {job.stage} takes a {' or '.join(suffixes)} file for it"
            )


def kinds_of(stage: Callable[..., Any], name: str) -> tuple[Any, ...]:
    """Type of a stage's input, by its name or with all others, and the types that it joins."""
    parameters = inspect.signature(stage).parameters
    rest = next((p for p in parameters.values() if p.kind is p.VAR_KEYWORD), None)
    parameter = parameters.get(name, rest)
    return () if parameter is None else (parameter.annotation, *get_args(parameter.annotation))


def _suffixes(kinds: tuple[Any, ...]) -> tuple[str, ...]:
    """Suffixes of the files that an input of these types is read from; none where any is allowed.

    Arrays, a path or a table: a stored policy, or one's own in a Python file or as a table.
    """
    import numpy as np
    import pandas as pd

    from frugal.core.rows import Partitions, Rows
    from frugal.core.stored import StoredArrays

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
