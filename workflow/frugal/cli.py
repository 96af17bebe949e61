"""`python -m frugal STAGE …`: reads named inputs, calls one stage, writes its outputs and sidecars.

The command that Snakemake prints for a job is complete: copied into a shell, in the same folder, it
makes the same bytes without the engine.
"""

import argparse
import importlib
import json
import os
import sys
from functools import partial
from pathlib import Path
from typing import Any

from frugal.contracts import FrugalError

_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


def _pair(text: str) -> tuple[str, str]:
    name, separator, value = text.partition("=")
    if not separator:
        raise argparse.ArgumentTypeError(f"{text!r} is not of the form name=value")
    return name, value


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m frugal",
        description="Run one stage of the workflow by hand, exactly as Snakemake runs it.",
    )
    parser.add_argument("stage", help="name of the stage, the same as the rule's")
    add = partial(parser.add_argument, type=_pair, action="append", default=[])
    add("--input", metavar="NAME=PATH", help="NAME[]=PATH, repeated, for several files as one")
    add("--output", metavar="NAME=PATH")
    add("--wildcard", metavar="NAME=VALUE")
    parser.add_argument("--settings", type=json.loads, default={}, metavar="JSON")
    parser.add_argument("--seed", type=int, required=True, help="root seed of the study")
    return parser


def _named_inputs(pairs: list[tuple[str, str]]) -> dict[str, Path | list[Path]]:
    inputs: dict[str, Path | list[Path]] = {}
    for name, value in pairs:
        if name.endswith("[]"):
            group = inputs.setdefault(name[:-2], [])
            assert isinstance(group, list)
            group.append(Path(value))
        else:
            inputs[name] = Path(value)
    return inputs


def run_job(job: Any) -> None:
    """Read the inputs of a `Job`, call its stage, write payloads and sidecars.

    Raises:
        FrugalError: an input is not what the stage needs; no output is written then.
    """
    from tqdm import tqdm

    from frugal.artifacts.files import payload_bytes, read_partitions, read_payload, write_bytes
    from frugal.artifacts.sidecars import input_records, write_sidecar
    from frugal.contracts import Streams

    inputs = {
        name: read_partitions(paths) if isinstance(paths, list) else read_payload(paths)
        for name, paths in job.inputs.items()
    }
    stage = getattr(importlib.import_module(f"frugal.stages.{job.stage}"), job.stage)
    payloads = stage(
        **inputs,
        settings=job.settings,
        streams=Streams(job.seed, job.stage, job.wildcards),
        progress=partial(tqdm, file=sys.stderr, mininterval=2.0, leave=True),
    )
    if set(payloads) != set(job.outputs):
        raise AssertionError(f"{job.stage} makes {sorted(payloads)}, asked {sorted(job.outputs)}")
    contents = {name: payload_bytes(path, payloads[name]) for name, path in job.outputs.items()}
    records = input_records(job)
    for name, content in contents.items():
        write_bytes(job.outputs[name], content)
    for name in payloads:
        write_sidecar(job, name, payloads, records)


def main(arguments: list[str] | None = None) -> int:
    """Entry of the command line; returns the exit status."""
    # One thread a process: parallelism is Snakemake's, and spinning threads cost a factor of 20.
    for variable in _THREADS:
        os.environ.setdefault(variable, "1")
    words = sys.argv[1:] if arguments is None else arguments
    try:
        if words[:1] == ["audit"]:
            from frugal.artifacts.audit import audit_command

            return audit_command(words[1:], run_job)
        parsed = _parser().parse_args(words)
        from frugal.artifacts.sidecars import Job

        stages = Path(__file__).parent / "stages"
        if not (stages / f"{parsed.stage}.py").is_file() or parsed.stage.startswith("_"):
            known = sorted(p.stem for p in stages.glob("[a-z]*.py"))
            raise FrugalError(f"no stage {parsed.stage!r}; there are: audit, {', '.join(known)}")
        inputs = _named_inputs(parsed.input)
        outputs = {name: Path(value) for name, value in parsed.output}
        run_job(
            Job(parsed.stage, inputs, outputs, parsed.settings, dict(parsed.wildcard), parsed.seed)
        )
    except FrugalError as error:
        print(f"frugal {words[0] if words else ''}: {error}", file=sys.stderr)
        return 2
    return 0
