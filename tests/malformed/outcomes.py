"""Runs one case and says what happened: its kind and its sentence, without this machine's paths."""

import contextlib
import os
import re
import signal
import tempfile
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from frugal.core.errors import FrugalError
from frugal.core.strict_yaml import StrictYamlError

from tests.malformed.cases import ROOT, Case, Refused, Right, Warned, Wrong

LONGEST = 400  # characters of a sentence
DEFECTS = ("traceback", "hang", "silently wrong", "unclear")
_CHECKPOINT = re.compile(r"checkpoint-[0-9a-f]{16}")
_PORT = re.compile(r"127\.0\.0\.1:\d{4,5}\b")
_NAMED = re.compile(
    r"'[^']*'|^[\w.\[\] ]+ (?:is|are) [^;]+; allowed|^there is no file |"
    r"^frugal fetch_file: /\w|--\w+|publisher|…/|"
    r"\w\.(?:yaml|csv|parquet|json|safetensors|jsonl)\b|"
    r"the stored (?:table|masks|catalogue|missingness graph|description)|of the stored|"
    r"^frugal \w+: [^ :]+(?::| holds| is | does not exist| and )|outputs \w|required: \w|"
    r"\b(?:afape|dadi|diagnosis|treatment|recourse)\.\w+"
)


@dataclass(frozen=True)
class Outcome:
    """What happened to an input.

    Attributes:
        kind: `refused`, `warned`, `accepted`, or one of `DEFECTS`.
        message: the sentence, or how the input was read.
    """

    kind: str
    message: str


class _TimeIsUp(BaseException):
    """No `Exception`, so that nothing on the way takes it for an error of its own."""


def happened(case: Case) -> Outcome:
    """Run a case in an empty folder, within the time limit."""
    with tempfile.TemporaryDirectory() as folder, _working_in(folder):
        kind, message = _ended(case)
        for path in (os.path.realpath(folder), folder):
            message = message.replace(path, "…")
    message = _PORT.sub("publisher", message.replace(str(ROOT), "…"))
    message = _CHECKPOINT.sub("checkpoint-…", message)  # named by the code that may go on with it
    if kind == "refused" and (flaw := unclear(message)):
        return Outcome("unclear", f"{flaw}: {message}")
    return Outcome(kind, message)


def unclear(message: str) -> str:
    """What is wrong with a sentence of refusal; empty where nothing."""
    if not message or not message.isprintable():
        return "not one line of printable text"
    if len(message) > LONGEST:
        return f"{len(message)} characters"
    return "" if _NAMED.search(message) else "names no file and no key"


def _ended(case: Case) -> tuple[str, str]:
    try:
        with _time_limit(case.limit_s), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = case.work()
    except (FrugalError, StrictYamlError, Refused) as error:
        return "refused", str(error)
    except Wrong as error:
        return "silently wrong", str(error)
    except _TimeIsUp:
        return "hang", f"no end after {case.limit_s:g} s"
    except Exception as error:
        return "traceback", f"{type(error).__name__}: {error}"
    if isinstance(found, Right):
        return "accepted", found.message
    if isinstance(found, Warned):
        return "warned", found.message
    return "silently wrong", f"taken without a word: {found!r}"


@contextlib.contextmanager
def _working_in(folder: str) -> Iterator[None]:
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


@contextlib.contextmanager
def _time_limit(seconds: float) -> Iterator[None]:
    def stop(*_: object) -> None:
        raise _TimeIsUp

    former = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, former)
