"""Commands on pages exist: targets, stages, options, files. Python on pages is run elsewhere."""

import contextlib
import io
import re
import shlex
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest
from frugal.config.root import Config
from frugal.core.declarations import PACKAGE
from frugal.results.sources import STAGES
from frugal.run.stage_command import COMMANDS, run_job
from snakemake.cli import get_argument_parser

from tests.unit.page_words import ROOT, pages

_FENCE = re.compile(r"^```(\w*)\n(.*?)^```", re.DOTALL | re.MULTILINE)
_SPAN = re.compile(r"`([^`\n]+)`")
_BEGINS = ("snakemake ", "python -m ", "python tests/", "python docs/", "make ", ".ci/")
RUN = {  # pages with Python → the test that runs it
    "README.md": ".ci/check_wheel.py",
    "docs/tutorials/over_time.md": "tests/studies/over_time/test_over_time_files.py",
    "docs/how-to/library.md": "tests/unit/test_library_frames.py",
}
STAGE_OPTIONS = {"--seed", "--input", "--output", "--settings", "--wildcard", "--used", "--help"}


def commands(page: Path) -> Iterator[str]:
    """Every command of a page: lines of blocks and whole spans of code."""
    text = page.read_text(encoding="utf-8")
    for language, block in _FENCE.findall(text):
        if language not in ("python", "yaml"):
            yield from block.replace("\\\n", " ").splitlines()
    for span in _SPAN.findall(_FENCE.sub("", text)):
        yield span.replace("\\|", "|")


def wrong(command: str) -> str | None:
    """What of a command does not exist; None where all does, or where it is none of ours."""
    if not command.startswith(_BEGINS) or re.search("[…*]", command):
        return None
    words = shlex.split(command, comments=True)
    if words[0] == "snakemake":
        return _wrong_snakemake(words[1:])
    if words[0] == "make":
        targets = re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
        return None if words[1] in targets or "=" in words[1] else f"no target {words[1]}"
    if words[:3] == ["python", "-m", "frugal"]:
        return _wrong_frugal(words[3:])
    if words[0] == "python":
        path = words[2].replace(".", "/") + ".py" if words[1] == "-m" else words[1]
    else:
        path = words[0]
    there = [ROOT / path, ROOT / path.removesuffix(".py") / "__main__.py"]
    ours = path.startswith(("tests/", "docs/", ".ci/"))
    return f"no file {path}" if ours and not any(p.is_file() for p in there) else None


def targets_of_rules() -> set[str]:
    """Targets of the workflow: rules with a sentence."""
    files = [PACKAGE.parent / "Snakefile", *PACKAGE.parent.glob("rules/*.smk")]
    target = re.compile(r'^rule (\w+):\n    """', re.MULTILINE)
    return {name for path in files for name in target.findall(path.read_text(encoding="utf-8"))}


@cache
def help_of(command: str) -> str:
    """Text of `--help` of a command."""
    call = getattr(import_module(f"frugal.{COMMANDS[command]}"), f"{command}_command")
    output = io.StringIO()
    with contextlib.redirect_stdout(output), contextlib.suppress(SystemExit):
        call(["--help"], *([run_job] if command == "audit" else []))
    return output.getvalue()


@cache
def _snakemake_parser():
    return get_argument_parser()


def _wrong_snakemake(words: list[str]) -> str | None:
    try:
        parsed, unknown = _snakemake_parser().parse_known_args(words)
    except SystemExit:
        return "Snakemake does not take these words"
    if unknown:
        return f"Snakemake has no {unknown}"
    keys = Config.model_fields
    for pair in parsed.config or ():
        if pair.partition("=")[0] not in {*keys, "KEY"}:
            return f"the config has no key {pair}"
    for path in parsed.configfile or ():
        if path.parts[0] in ("config", "docs") and not (ROOT / path).is_file():
            return f"no file {path}"
    targets = {*targets_of_rules(), "TARGET"}
    lost = [t for t in parsed.targets if t not in targets and not t.startswith("results/")]
    return f"no target {lost[0]}" if lost else None


def _wrong_frugal(words: list[str]) -> str | None:
    name = words[0] if words else "--help"
    if name in ("--help", "STAGE", "COMMAND"):
        return None
    if name not in {*COMMANDS, *STAGES}:
        return f"no command {name}"
    asked = {word.partition("=")[0] for word in words if word.startswith("--")}
    if name in STAGES:
        return f"no option {asked - STAGE_OPTIONS}" if asked - STAGE_OPTIONS else None
    if name in ("plan", "reference"):
        return None
    lost = [option for option in asked if option not in help_of(name)]
    return f"{name} has no option {lost[0]}" if lost else None


@pytest.mark.parametrize("page", pages(), ids=lambda p: f"{p.parent.name}/{p.name}")
def test_commands_on_pages_exist(page: Path):
    found = {command: reason for command in commands(page) if (reason := wrong(command))}
    assert found == {}


def test_pages_have_commands_in_number():
    """Fifty and more, so that the search has not gone blind."""
    first = [p for p in pages() if p.parent.name in ("tutorials", "how-to") or p.parent == ROOT]
    assert sum(c.startswith(_BEGINS) for p in first for c in commands(p)) > 50


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ("snakemake --cores 2 decide --config table=my.yaml", None),
        ("snakemake --cores 2 decid --config table=my.yaml", "no target decid"),
        ("snakemake --cores 2 decide --config tabel=my.yaml", "no key tabel=my.yaml"),
        ("snakemake --core-count 2 decide", "has no"),
        ("snakemake --cores 2 --configfile config/papr.yaml -- afape", "no file config/papr.yaml"),
        ("python -m frugal advise BUNDLE cases.csv --simulate", None),
        ("python -m frugal advise BUNDLE cases.csv --simluate", "advise has no option --simluate"),
        ("python -m frugal advize BUNDLE", "no command advize"),
        ("python -m frugal roll_out --seeds 1", "no option {'--seeds'}"),
        ("python -m tests.trust.graph", None),
        ("python -m tests.trust.graf", "no file tests/trust/graf.py"),
        ("python tests/benchmarks/nuisance.py", None),
        ("python tests/benchmarks/nuisances.py", "no file tests/benchmarks/nuisances.py"),
        ("make test     # every check", None),
        ("make tset", "no target tset"),
        (".ci/check_slurm.py FOLDER", None),
        (".ci/check_slurms.py FOLDER", "no file .ci/check_slurms.py"),
    ],
)
def test_what_does_not_exist_is_found(command: str, reason: str | None):
    told = wrong(command)
    assert (told is None) if reason is None else (reason in (told or ""))


def test_python_on_pages_is_run():
    found = {
        page.relative_to(ROOT).as_posix(): block
        for page in pages()
        for language, block in _FENCE.findall(page.read_text(encoding="utf-8"))
        if language == "python" and "import frugal" in block
    }
    assert set(found) == set(RUN)
    for page, test in RUN.items():
        assert Path(page).name in (ROOT / test).read_text(encoding="utf-8")
    others = [p for p in pages() if p.relative_to(ROOT).as_posix() not in RUN]
    assert not any("```python" in p.read_text(encoding="utf-8") for p in others)
