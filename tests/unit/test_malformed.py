"""Malformed inputs: every one ends as it should."""

import os
import signal
import subprocess
import sys
import time

import pytest

from tests.malformed import workers
from tests.malformed.cases import ROOT, Case, Refused, Right, Wrong
from tests.malformed.outcomes import LONGEST, Outcome, happened, unclear

LEAST = 230  # inputs
CPU_SECONDS = 240  # of the whole catalogue; 40 where this was written


@pytest.fixture(scope="module")
def found() -> dict[Case, Outcome]:
    before = workers.cpu_seconds()
    made = workers.outcomes()
    took = workers.cpu_seconds() - before
    assert took < CPU_SECONDS, f"{took:.0f} CPU seconds"
    return made


def test_inputs_are_many_and_no_two_are_one():
    from tests.malformed.catalogue import CASES

    assert len(CASES) >= LEAST
    names = [(case.group, case.name) for case in CASES]
    assert sorted({name for name in names if names.count(name) > 1}) == []
    assert all(case.words for case in CASES if case.ends == "refused")


def test_every_input_ends_as_it_should(found):
    wrong = [
        f"{outcome.kind}: {case.group}: {case.name}: {outcome.message} (expected: {case.words})"
        for case, outcome in found.items()
        if not case.is_as_it_should(outcome.kind, outcome.message)
    ]
    assert wrong == []


def of(work) -> Outcome:
    return happened(Case("g", "n", work, limit_s=0.2))


def test_what_is_no_good_end_is_called_by_its_name():
    """The runner itself: an error, a hang, a result without an oracle, a sentence that is none."""

    def raising(error: Exception):
        def work():
            raise error

        return work

    assert of(raising(KeyError("a"))).kind == "traceback"
    assert of(raising(Wrong("another table"))).kind == "silently wrong"
    assert of(lambda: time.sleep(5)).kind == "hang"
    assert of(lambda: "a table").kind == "silently wrong"
    assert of(lambda: Right("read")).kind == "accepted"
    assert of(raising(Refused("study.yaml holds nothing"))).kind == "refused"
    assert of(raising(Refused("something is wrong"))).kind == "unclear"
    assert unclear("'a' is wrong\nand so is 'b'")
    assert unclear(f"'a' is {'x' * LONGEST}")
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


def test_an_input_that_ends_its_process_is_seen(monkeypatch):
    """What takes Python itself along: a segmentation fault, or memory that ran out."""
    ended: dict[int, Outcome] = {}

    def dies(there, first):
        there.send((first, "refused", "'a'"))
        os.kill(os.getpid(), signal.SIGKILL)

    monkeypatch.setattr(workers, "_work", dies)
    monkeypatch.setattr(workers, "START_METHOD", "fork")
    workers._run_from(0, ended)
    assert [outcome.kind for outcome in ended.values()] == ["refused", "traceback"]
    assert "ended with -9" in ended[1].message


def test_no_mutation_of_a_document_or_argument_ends_in_a_traceback():
    """A few of them; `python -m tests.malformed.fuzzing 2000` in a minute or two."""
    words = [sys.executable, "-m", "tests.malformed.fuzzing", "60"]
    paths = os.pathsep.join([str(ROOT / "workflow"), str(ROOT)])
    environment = os.environ | {"PYTHONPATH": paths, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(words, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
