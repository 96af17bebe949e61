"""The command line: `python -m frugal STAGE …`, audit, diff, describe, benchmark and plan."""

import json
import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from frugal.core.layout import Bundle
from frugal.results.files import payload_bytes

from tests.malformed.cases import ROOT, Case, Right, Wrong, command, files_here, write_small
from tests.malformed.configs import as_nobody
from tests.unit.result_chains import SUMMARY, TABLE, write_chain
from tests.unit.test_plans import SUMMARY as OUTPUTS

STAGES = "`python -m frugal STAGE …`"
OTHERS = "`python -m frugal audit`, `diff`, `describe`, `benchmark` and `plan`"
PREPARE = ["prepare_data", "--seed", "0", "--input", "description=small.yaml"]
RAW = ["--input", "raw_0=small.csv"]
OUT = ["--output", "table=results/t.parquet", "--output", "catalogue=results/c.json"]
FETCH = ["fetch_file", "--seed", "0", "--output", "file=results/a.csv"]
COSTS = str(ROOT / "config/costs.yaml")


def _run(*words: str) -> str:
    """A command on the small data set."""
    write_small()
    return command(*words)


READ = [*PREPARE, *RAW]
SUMMARISE = ["summarise_afape", "--seed", "0"]


def _stage_words() -> Iterator[tuple[str, list[str], str]]:
    yield (
        "a stage misspelt",
        ["prepare_dat", "--seed", "0"],
        "did you mean 'prepare_data'? … --help names all",
    )
    yield "a stage of 5,000 letters", ["x" * 5000, "--seed", "0"], "there is no command or stage"
    yield (
        "a module that is no stage",
        ["_frames", "--seed", "0"],
        "there is no command or stage '_frames'",
    )
    yield "a target for a stage", ["all"], "all is a target of the workflow; run snake"
    yield "a path for a stage", ["../cli", "--seed", "0"], "there is no command or stage '../cli'"
    yield "an empty stage", ["", "--seed", "0"], "there is no command or stage ''"
    yield "no seed", [*PREPARE[:1], *RAW, *OUT], "--seed"
    yield "a seed below zero", ["prepare_data", "--seed", "-1", *PREPARE[3:], *RAW, *OUT], "--seed"
    yield "a seed with a decimal", ["prepare_data", "--seed", "1.5"], "--seed"
    yield "a seed of 5,000 digits", ["prepare_data", "--seed", "9" * 5000], "--seed"
    yield "an unknown option", [*READ, *OUT, "--verbose"], "--verbose"
    yield "an input without a name", [*PREPARE, "--input", "small.csv", *OUT], "--input"
    yield "an input without a path", [*PREPARE, "--input", "raw_0=", *OUT], "--input"
    yield "an input that lacks", [*PREPARE[:3], *RAW, *OUT], "'description'"
    yield (
        "an input that the stage does not take",
        [*SUMMARISE, "--input", "estimate=small.csv", "--output", "summary=results/s.parquet"],
        "estimate",
    )
    yield "an input given twice", [*READ, *RAW, *OUT], "raw_0 is given twice"
    yield (
        "an input given as one file and as a list",
        [*READ, "--input", "raw_0[]=small.csv", *OUT],
        "raw_0",
    )
    yield "an input that is not there", [*PREPARE, "--input", "raw_0=gone.csv", *OUT], "gone.csv"
    yield "an input that is a folder", [*PREPARE, "--input", "raw_0=/", *OUT], "/ is a folder"
    yield (
        "an input of a name too long",
        [*PREPARE, "--input", f"raw_0={'x' * 300}.csv", *OUT],
        "xxx",
    )
    yield (
        "two raw files for one",
        [*READ, "--input", "raw_1=small.csv", *OUT],
        "describes 1 raw files, 2 were given",
    )
    yield "no raw file", [*PREPARE, *OUT], "describes 1 raw files, 0 were given"
    yield (
        "a CSV for the description",
        ["prepare_data", "--seed", "0", "--input", "description=small.csv", *RAW, *OUT],
        "small.csv",
    )
    yield "an output that lacks", [*READ, *OUT[:2]], "outputs table were requested"
    yield "an output too many", [*READ, *OUT, "--output", "more=results/m.json"], "more"
    yield "an output given twice", [*READ, *OUT, *OUT], "is given twice"
    yield (
        "an output of no known format",
        [*READ, "--output", "table=t.csv", *OUT[2:]],
        "--output table=t.csv",
    )
    yield (
        "two outputs in one file",
        [*READ, *OUT[:2], "--output", "catalogue=results/../results/t.parquet"],
        "are one file",
    )
    yield (
        "an output that is an input",
        [*SUMMARISE, "--input", "estimates[]=t.parquet", "--output", "summary=t.parquet"],
        "--output summary is t.parquet",
    )
    yield (
        "an output below a file",
        [*READ, "--output", "table=small.csv/t.parquet", *OUT[2:]],
        "small.csv",
    )
    yield (
        "an output below a device",
        [*READ, "--output", "table=/dev/null/t.parquet", *OUT[2:]],
        "/dev/null",
    )
    yield (
        "a table requested as JSON",
        [*READ, "--output", "table=results/t.json", *OUT[2:]],
        "t.json",
    )
    yield (
        "a document requested as a table",
        [*READ, *OUT[:2], "--output", "catalogue=results/c.parquet"],
        "c.parquet",
    )
    yield (
        "a wildcard given twice",
        [*READ, *OUT, "--wildcard", "a=1", "--wildcard", "a=2"],
        "--wildcard a is given twice",
    )


def _settings_words() -> Iterator[tuple[str, str, str]]:
    good = {"url": "http://127.0.0.1:9/a", "sha256": "0" * 64}
    yield "settings that are no JSON", "{url: 1}", "--settings"
    yield "settings with a key twice", '{"url": "a", "url": "b"}', "'url' is written twice"
    yield "settings nested 10,000 deep", "[" * 10_000, "--settings"
    yield "settings with `NaN`", '{"url": NaN}', "--settings"
    yield "settings with `1e999`", '{"url": 1e999}', "--settings"
    yield "settings with 5,000 digits", "9" * 5000, "--settings"
    yield "settings that are a list", "[]", "--settings is '[]'"
    yield "settings that are a number", "7", "--settings is '7'"
    yield "settings without a key", json.dumps({"url": good["url"]}), "lacks the key 'sha256'"
    yield "empty settings", "{}", "lacks the key 'url'"


def _no_folder() -> str:
    write_small()
    Path("results").write_text("a file", encoding="utf-8")
    return command(*PREPARE, *RAW, *OUT)


def _folder_there() -> str:
    write_small()
    Path("results/t.parquet").mkdir(parents=True)
    return command(*PREPARE, *RAW, *OUT)


def _locked_folder() -> str:
    write_small()
    Path("results").mkdir(mode=0o555)
    return as_nobody(partial(command, *PREPARE, *RAW, *OUT))


def _pipe() -> str:
    write_small()
    os.mkfifo("pipe.csv")
    return command(*PREPARE, "--input", "raw_0=pipe.csv", *OUT)


def _zero() -> str:
    write_small()
    return command(*PREPARE, "--input", "raw_0=/dev/zero", *OUT)


def stages() -> Iterator[Case]:
    """Words that name a stage, and what it reads and writes."""
    for name, words, message in _stage_words():
        yield Case(STAGES, name, partial(_run, *words), message)
    for name, text, message in _settings_words():
        yield Case(STAGES, name, partial(command, *FETCH, "--settings", text), message)
    for name, work, message in (
        ("a file where `results/` should be", _no_folder, "results"),
        ("a folder where an output should be", _folder_there, "t.parquet"),
        ("`results/` that may not be written to", _locked_folder, "results"),
        ("a named pipe for an input", _pipe, "pipe.csv"),
        ("`/dev/zero` for an input", _zero, "/dev/zero"),
    ):
        yield Case(STAGES, name, work, message)


def _after_chain(*words: str) -> str:
    """A command beside two steps' results; a second folder `b` holds nothing of use."""
    write_chain()
    Path("b/results").mkdir(parents=True)
    Path("measured").mkdir()
    before = files_here()
    message = command(*words)
    if files_here() != before:
        raise Wrong("files have changed")
    return message


def _measured(content: bytes) -> str:
    folder = Path("measured/roll_out")
    folder.mkdir(parents=True)
    (folder / "a.jsonl").write_bytes(content)
    return command("benchmark", "measured")


def _same(*words: str, stdin: bytes, message: str, oracle: str) -> Right:
    found = command(*words, stdin=stdin)
    if oracle not in found:
        raise Wrong(found)
    return Right(message)


def _costs(steps: str) -> str:
    """A table of costs with these steps."""
    return f"measured_on: x\nothers: {{mb: 1, cpu_s: 1, minutes: 1}}\nsteps: {steps}"


def _plan_costs(text: str) -> str:
    Path("costs.yaml").write_text(text, encoding="utf-8")
    words = ["--costs", "costs.yaml", "--cores", "1"]
    return command("plan", *words, stdin=OUTPUTS.encode())


def others() -> Iterator[Case]:
    """Commands that run no stage."""
    table = SUMMARY.as_posix()
    for name, words, message in (
        ("`audit` of a path that is not there", ["results/gone"], "results/gone"),
        ("`audit` of a folder outside", ["inputs"], "inputs"),
        ("`audit` of the folder above", [".."], "is not under results/"),
        ("`audit` of the root", ["/"], "is not under results/"),
        ("`audit` of a name of two lines", ["a\nb"], "audit: a\\nb: is not under results/"),
        ("`audit --sample -1`", ["--sample", "-1"], "--sample"),
        ("`audit --sample many`", ["--sample", "many"], "--sample"),
        ("`audit --pick -3`", ["--pick", "-3"], "--pick"),
        ("`audit --row` without a table", ["--row", "seed=0"], "--row"),
        ("`audit --row` without a value", [table, "--row", "seed"], "--row 'seed'"),
        ("`audit --row` of a column misspelt", [table, "--row", "sede=0"], "did you mean 'seed'?"),
        (
            "`audit --row` of a row that is not there",
            [table, "--row", "seed=7"],
            "no row has seed=7; seed is",
        ),
        (
            "`audit --row` of a document",
            ["results/data/dataset=a/catalogue.json", "--row", "a=1"],
            "catalogue.json",
        ),
        ("`audit` of two paths", [table, TABLE.as_posix()], "unrecognized"),
    ):
        yield Case(OTHERS, name, partial(_after_chain, "audit", *words), message)
    for name, words, message in (
        ("`diff` of one folder", ["."], "required: B"),
        ("`diff` with a folder that is not there", [".", "gone"], "gone"),
        ("`diff` with a file", [".", table], "afape.parquet"),
        ("`diff` with a folder without results", [".", "inputs"], "inputs"),
        ("`diff` of two empty folders", ["b", "b"], "nothing to compare"),
        ("`diff --files -1`", [".", "b", "--files", "-1"], "--files"),
        ("`diff` with a link to itself", [".", "loop"], "loop"),
    ):
        yield Case(OTHERS, name, partial(_after_chain, "diff", *words), message)
    root = partial(_after_chain, "init", "/", "--label", "x")
    yield Case(OTHERS, "`init` of the root", root, "is no name of a file")
    unit = partial(_after_chain, "init", "t.csv", "--label", "x", "--unit", "EUR\nUSD")
    yield Case(OTHERS, "`init --unit` of two lines", unit, "a text of one line")
    yield from _descriptions()
    yield from _benchmarks()
    yield from _plans()


def _described(**changed: Any) -> str:
    """A policy's file whose header says something else."""
    layout = {"columns": ["x"], "onehot": [], "classes": ["well", "ill"], "trained_on": "0" * 64}
    panel = {"name": "p", "columns": ["x"], "cost": 1.0, "free": False}
    header = {"kind": "cascade", "settings": {"kind": "cascade"}, "panels": [panel]} | layout
    path = Path("policies.safetensors")
    bundle = Bundle(header | changed, {"threshold": np.full(1, 0.5)})
    path.write_bytes(payload_bytes(path, bundle))
    return command("describe", str(path))


def _descriptions() -> Iterator[Case]:
    table = TABLE.as_posix()
    for name, words, message in (
        ("`describe` of nothing", [], "required: POLICY"),
        ("`describe` of a policy that is not there", ["gone.safetensors"], "gone.safetensors"),
        ("`describe` of a folder", ["inputs"], "inputs is a folder"),
        ("`describe` of a table", [table], "is no trained policy"),
        ("`describe --member -1`", [table, "--member", "-1"], "--member"),
        ("`describe --member first`", [table, "--member", "first"], "--member"),
    ):
        yield Case(OTHERS, name, partial(_after_chain, "describe", *words), message)
    for name, changed, message in (
        ("of an unknown kind", {"kind": "oracle", "settings": {"kind": "oracle"}}, "'oracle'"),
        ("of a kind that is a list", {"kind": ["cascade"]}, "kind"),
        ("of a kind that runs a file", {"kind": "python"}, "not trained"),
        ("of another kind than its settings", {"settings": {"kind": "dqn"}}, "'dqn'"),
        ("that lacks settings", {}, "settings"),
        ("without panels", {"panels": "none"}, "panels"),
    ):
        yield Case(OTHERS, f"`describe`: a policy {name}", partial(_described, **changed), message)


def _benchmarks() -> Iterator[Case]:
    for name, words, message in (
        ("`benchmark` of a folder that is not there", ["gone"], "gone holds no measurement"),
        ("`benchmark` of an empty folder", ["measured"], "measured holds no measurement"),
        ("`benchmark --study` without `=`", ["measured", "--study", "x"], "--study"),
    ):
        yield Case(OTHERS, name, partial(_after_chain, "benchmark", *words), message)
    for name, content in (
        ("a line that is no JSON", b"s\n"),
        ("a list", b"[]\n"),
        ("no time", b"{}\n"),
        ("a time in words", b'{"wall_s": "long", "cpu_s": 1, "memory_mb": 1, "ended": "done"}\n'),
        ("a time below zero", b'{"wall_s": 1, "cpu_s": -1, "memory_mb": 1, "ended": "done"}\n'),
        ("a time that is NaN", b'{"wall_s": NaN, "cpu_s": 1, "memory_mb": 1, "ended": "done"}\n'),
        ("memory without end", b'{"wall_s": 1, "cpu_s": 1, "memory_mb": 1e999, "ended": "done"}\n'),
        ("100,000 brackets", b"[" * 100_000 + b"\n"),
        ("bytes that are no text", b"\xff\xfe\n"),
        ("a number of 5,000 digits", b'{"cpu_s": ' + b"9" * 5000 + b"}\n"),
    ):
        yield Case(
            OTHERS,
            f"`benchmark`: a measurement with {name}",
            partial(_measured, content),
            ("a.jsonl is no measurement"),
        )


def _plans() -> Iterator[Case]:
    right = ["--costs", COSTS, "--cores", "2"]
    for name, words, message in (
        ("`plan --cores 0`", [*right[:-1], "0"], "--cores"),
        ("`plan --cores -4`", [*right[:-1], "-4"], "--cores"),
        ("`plan --cores many`", [*right[:-1], "many"], "--cores"),
        ("`plan` without `--costs`", right[2:], "--costs"),
        ("`plan` with costs that are not there", ["--costs", "gone.yaml", *right[2:]], "gone.yaml"),
        ("`plan` with a folder for the costs", ["--costs", "/", *right[2:]], "/ is a folder"),
    ):
        work: Any = partial(command, "plan", *words, stdin=OUTPUTS.encode())
        yield Case(OTHERS, name, work, message)
    for name, stdin in (
        ("nothing", b""),
        ("an error of the engine", b"Error: something\n"),
        ("bytes that are no text", b"\xff\xfe\n"),
        ("a cell of 200 kB", OUTPUTS.encode() + b"x" * 200_000 + b"\tfit\n"),
    ):
        work = partial(command, "plan", *right, stdin=stdin)
        yield Case(OTHERS, f"`plan`: {name} on the standard input", work, "the standard input")
    for name, text, message in (
        ("without a key", "steps: {}", "'measured_on' is missing"),
        ("with time below zero", _costs("{a: {mb: 1, cpu_s: -1}}"), "values above 0"),
        ("with time that is NaN", _costs("{a: {mb: 1, cpu_s: .nan}}"), "allowed is a number"),
        ("with half a minute", _costs("{a: {mb: 1, cpu_s: 1, minutes: 0.5}}"), "steps.a.minutes"),
        ("with a step cut off", _costs("{a: {mb: 1}}"), "'cpu_s' is missing"),
        ("with a key misspelt", _costs("{a: {mb: 1, cpu: 1}}"), "'cpu'"),
        ("that are a list", "- 1", "costs.yaml … allowed is a mapping of keys"),
    ):
        yield Case(OTHERS, f"`plan`: costs {name}", partial(_plan_costs, text), message)
    yield Case(
        OTHERS,
        "`plan`: a table whose last line is cut off",
        partial(
            _same,
            "plan",
            *right,
            stdin=OUTPUTS.encode() + b"results/x",
            message="read: the whole lines",
            oracle="600 MB, never measured",
        ),
        ends="accepted",
    )


def cases() -> Iterator[Case]:
    """Of both."""
    yield from stages()
    yield from others()
