"""The page `docs/reference/malformed.md`: made from what has happened, the same each time."""

import re
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from tests.malformed.cases import ROOT, TIME_LIMIT_S, Case
from tests.malformed.outcomes import DEFECTS, LONGEST, Outcome
from tests.malformed.starts import START_S

PAGE = ROOT / "docs" / "reference" / "malformed.md"
SHOWN = 160  # characters of a sentence on the page
LEAST = 230  # inputs
_KINDS = {"refused": "", "warned": "**warned:** ", "accepted": "**accepted, and right:** "}
# What a library says may differ from run to run, such as which of two arrays is wrong
_FOREIGN = re.compile(r"( cannot be read as (?:parquet|safetensors|json)): .*")
_DIGEST = re.compile(r"\b[0-9a-f]{64}\b")


def page(happened: Mapping[Case, Outcome]) -> str:
    """The whole page."""
    kinds = Counter(outcome.kind for outcome in happened.values())
    none = ", ".join(
        f"{kinds[kind]} {name}" for kind, name in zip(DEFECTS[:3], _NAMES, strict=True)
    )
    lines = [
        "# Malformed inputs",
        "",
        "Reference: malformed inputs of every kind that Frugal reads, and what happens to "
        f"each. Of {len(happened)} inputs {kinds['refused']} are refused in one "
        f"sentence, {kinds['warned']} taken with a warning, and {kinds['accepted']} taken and "
        f"right: {none}.",
        "",
        "`python -m tests.malformed` gives every input to the project and writes this page. "
        "`tests/unit/test_malformed.py` fails where an input ends otherwise, or where the page is "
        f"out of date. An input has {TIME_LIMIT_S} seconds (a start of the engine {START_S}). A "
        f"refusal is one line of at most {LONGEST} characters that names the file or the "
        "key, and leaves no file behind. Here sentences are "
        f"cut after {SHOWN} characters. Accepted inputs were compared with their meaning, mostly "
        "with the table of the plain file.",
    ]
    for group in dict.fromkeys(case.group for case in happened):
        rows = [(case.name, found) for case, found in happened.items() if case.group == group]
        lines += ["", f"## {group.replace('`', '')} ({len(rows)})", ""]
        lines += ["| input | what happens |", "|---|---|"]
        lines += [f"| {_cell(name)} | {_KINDS.get(f.kind, f.kind)}{_said(f)} |" for name, f in rows]
    return "\n".join(lines) + "\n"


_NAMES = ("tracebacks", "hangs", "silently wrong")


def _said(outcome: Outcome) -> str:
    said = _DIGEST.sub(lambda found: f"{found[0][:8]}…", outcome.said)
    said = _FOREIGN.sub(r"\1: the reader's own reason", said)
    said = re.sub(r"^(?:Frugal cannot start: |frugal \w+: )", "", said)
    said = said if len(said) <= SHOWN else f"{said[:SHOWN].rstrip()}…"
    return _cell(said)


def _cell(text: str) -> str:
    """Text of a cell: what Markdown or HTML would read as more than a letter is escaped."""
    text = "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)
    for mark in ("\\", "|", "<", "*", "_", "["):
        if "`" in text and mark != "|":
            continue  # within backticks letters are letters
        text = text.replace(mark, f"\\{mark}" if mark != "<" else "&lt;")
    return text


def write_page(happened: Mapping[Case, Outcome]) -> Path:
    """Write it; returns where it lies."""
    PAGE.write_text(page(happened), encoding="utf-8")
    return PAGE
