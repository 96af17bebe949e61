#!/usr/bin/env python3
"""Runs the tests that train under five settings of the arithmetic libraries, as if on five CPUs.

torch, MKL and OpenBLAS choose their kernels by the CPU. Other kernels sum in another order, and
training amplifies that rounding, so that networks end elsewhere. A test that a CPU can fail is no
test: all that bear the mark `trains` must pass under each setting. FOLDER keeps what pytest said.
With --short: two settings, and the files alone that compare two trainers number by number.
Usage: .ci/check_cpus.py [--short] FOLDER [WORDS FOR PYTEST…]     (an empty folder; five times as
long as these tests; short two minutes)
"""

import json
import math
import re
import subprocess
import sys
import time
from pathlib import Path

from environment import BIN, ROOT, begin, variables

if __name__ == "__main__":
    OPTIONS = begin(__doc__, most=math.inf)
SETTINGS = (
    ("ATEN_CPU_CAPABILITY", "default"),
    ("ATEN_CPU_CAPABILITY", "avx2"),
    ("MKL_CBWR", "COMPATIBLE"),
    ("OPENBLAS_CORETYPE", "Haswell"),
    ("OPENBLAS_CORETYPE", "SkylakeX"),
)
SHORT = (SETTINGS[0], SETTINGS[3])
SHORT_FILES = ("lockstep_dqn", "networks", "q_networks", "sb3_dqn")
NEEDS = {"avx2": "avx2", "Haswell": "avx2", "SkylakeX": "avx512f"}  # what the CPU must have
# What the libraries say that they use. MKL does not say; the last bits of a product tell.
KERNELS = """
import json, numpy, torch, zlib
from threadpoolctl import threadpool_info
from torch.backends.cpu import get_cpu_capability
a = torch.rand(64, 64, generator=torch.Generator().manual_seed(0))
print(json.dumps({
    "ATEN_CPU_CAPABILITY": get_cpu_capability(),
    "OPENBLAS_CORETYPE": "/".join(sorted({
        part["architecture"] for part in threadpool_info() if part["internal_api"] == "openblas"
    })),
    "MKL_CBWR": f"{zlib.crc32((a @ a).numpy().tobytes()) % 16**4:04x}",
}))
"""


def kernels(environment: dict[str, str]) -> dict[str, str]:
    """Kernels that the libraries take under these variables, by the variable that asks for them."""
    command = [BIN / "python", "-c", KERNELS]
    done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


def passes(name: str, value: str, words: list[str]) -> bool:
    """The tests under one setting, and a line with what happened."""
    setting, needed = f"{name}={value}", NEEDS.get(value)
    if needed and needed not in Path("/proc/cpuinfo").read_text(encoding="utf-8").split():
        print(f"left out: {setting}, for this CPU has no {needed}", flush=True)
        return True
    plain = {k: v for k, v in variables().items() if k not in dict(SETTINGS)}
    environment = plain | {name: value}
    taken, usual = kernels(environment), kernels(plain)
    as_set = taken[name].casefold() == value.casefold() or name == "MKL_CBWR"
    if not as_set:
        print(f"NOT SO: under {setting} the library takes {taken[name]}", flush=True)
        return False
    other = "other kernels than" if taken != usual else "the same kernels as"
    log, start = OPTIONS.folder / f"{setting}.txt", time.monotonic()
    with log.open("w", encoding="utf-8") as stream:
        workers = "0" if OPTIONS.short else "2"  # which would take longer to import than to test
        command = [BIN / "python", "-m", "pytest", "-q", "-n", workers, "--dist", "loadfile"]
        command += ["-m", "trains", "--basetemp", OPTIONS.folder / "temporary", *words]
        done = subprocess.run(command, cwd=ROOT, env=environment, stdout=stream, stderr=stream)
    lines = log.read_text(encoding="utf-8").strip().splitlines() or ["pytest said nothing"]
    counts = re.sub(r"^=+ | =+$| in [\d.]+s.*", "", lines[-1])
    took = f"{time.monotonic() - start:.0f} s"
    verdict = "NOT SO" if done.returncode else "ok"
    print(f"{verdict}: {setting}, {other} this CPU's own: {counts} ({took})", flush=True)
    for line in lines:
        if line.startswith(("FAILED", "ERROR")):
            print(f"    {line}", flush=True)
    return done.returncode == 0


def main() -> None:
    """All settings, or two of them."""
    OPTIONS.folder.mkdir(parents=True, exist_ok=True)
    files = [f"tests/unit/test_{name}.py" for name in SHORT_FILES] if OPTIONS.short else []
    results = [
        passes(*one, [*OPTIONS.rest, *files]) for one in (SHORT if OPTIONS.short else SETTINGS)
    ]
    if not all(results):
        sys.exit(f"NOT SO: {results.count(False)} of {len(results)} settings; see {OPTIONS.folder}")


if __name__ == "__main__":
    main()
