"""Runs all cases in a process of their own: a crash or a hang of one is seen, and not shared.

Python's alarm ends a case that waits or computes in Python; one that never comes back from compiled
code is ended with its process, and a new one goes on with the next case.
"""

import faulthandler
import multiprocessing
import os
import resource
from collections.abc import Sequence
from multiprocessing.connection import Connection

from tests.malformed.cases import Case
from tests.malformed.outcomes import Outcome, happened

START_METHOD = "spawn"  # a process that shares nothing with this one
MEMORY = 12 << 30  # bytes of addresses: what is read without end is an error, and no harm
_PATIENCE_S = 120  # between two cases; more than any may take, and than the imports do


def outcomes() -> dict[Case, Outcome]:
    """What happens to every input of the catalogue, in its order."""
    from tests.malformed.catalogue import CASES

    found: dict[int, Outcome] = {}
    while len(found) < len(CASES):
        _run_from(len(found), found)
    return {case: found[k] for k, case in enumerate(CASES)}


def cpu_seconds() -> float:
    """CPU seconds of the processes that have run cases, and of their children."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _run_from(first: int, found: dict[int, Outcome]) -> None:
    """Run cases from this one on in a new process, to the last or to one that ends it."""
    context = multiprocessing.get_context(START_METHOD)
    here, there = context.Pipe()
    process = context.Process(target=_work, args=(there, first), daemon=True)
    process.start()
    there.close()
    try:
        while here.poll(_PATIENCE_S):
            done = here.recv()
            if done is None:
                process.join(_PATIENCE_S)
                return
            number, kind, message = done
            found[number] = Outcome(kind, message)
        found[len(found)] = Outcome("hang", "no end, and no way to stop it but its process's end")
    except EOFError:
        process.join(_PATIENCE_S)
        found[len(found)] = Outcome("traceback", f"the process ended with {process.exitcode}")
    finally:
        if process.is_alive():
            process.kill()
            process.join()


def _work(there: Connection, first: int) -> None:
    """In the new process: what happens to each case, one after the other."""
    faulthandler.enable()
    os.environ["OMP_NUM_THREADS"] = "1"
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    cases: Sequence[Case]
    from tests.malformed.catalogue import CASES as cases
    from tests.malformed.stored import forest

    forest()  # compiles what takes long, before any case is timed
    for number in range(first, len(cases)):
        outcome = happened(cases[number])
        there.send((number, outcome.kind, outcome.message))
    there.send(None)
