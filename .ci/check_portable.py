#!/usr/bin/env python3
"""Shows that `arithmetic: portable` gives the same bytes on CPUs of other makers and generations.

Small fits of every learner (.ci/portable/small.yaml) run here, as the workflow runs them. Then
every step runs again, by `python -m frugal audit`, and each file is compared byte by byte:

- on CPUs that QEMU imitates (Debian's qemu-user; 7.2 gets an AVX2 instruction wrong, 10.0 does
  not), Intel's and AMD's. The Python there is given what `frugal.core.arithmetic` sets and nothing
  else; it begins with it, for a process that begins again would leave the emulator;
- on this very CPU, with its AVX-512 if it has that, where MKL takes it for one of the other maker.

An emulator computes in its own way what a maker may choose: the approximations RCPPS and RSQRTPS.
So all code that ran is looked through for them; there must be none. Not shown: AVX-512 in the
emulator, which has none, and another C library or lock, which portable arithmetic does not cover.
With --short: two of the fits, one imitated CPU.
Usage: .ci/check_portable.py [--short] FOLDER        (an empty folder; hours, short two minutes)
"""

import os
import re
import shutil
import subprocess
import sys
import threading
from pathlib import Path

from environment import BIN, ROOT, begin, cannot_run, require, variables

if __name__ == "__main__":
    OPTIONS = begin(__doc__)
    sys.path[:0] = [str(ROOT / "workflow"), str(ROOT / ".ci" / "portable")]
from frugal.core.arithmetic import pinned  # found after `begin`
from other_maker import copy_with_swapped_names

SMALL = ROOT / ".ci" / "portable" / "small.yaml"
QEMU = "qemu-x86_64"
CPUS = ("Haswell", "Skylake-Server", "EPYC", "EPYC-Milan")
MAKERS = ("Haswell", "EPYC-Milan")  # one of each
# What is made and run again, with all that stands before it; figures are not among it.
SUMMARIES = ("afape", "verdicts", "grid", "dadi", "diagnosis", "treatment", "recourse")
TARGETS = tuple(f"results/summary/{name}.parquet" for name in SUMMARIES)
SHORT_TARGETS = (
    "results/agents/dataset=telling_loans/fold=0/weights.safetensors",
    "results/agents/dataset=tiny_world/mechanism=mnar/agent=sb3_ppo/policy.safetensors",
)
# AVX2's gather, which QEMU 7.2 reads wrongly, is in NumPy's sorts.
SORTS = (
    "import numpy as n; r = n.random.default_rng(0); "
    "print(sum(int(n.argsort(r.permutation(k)) @ n.arange(k)) for k in range(2, 200)))"
)
SEEN = "from llvmlite.binding import get_host_cpu_name as name; print(name())"
KERNELS = (
    "import numpy as n, torch as t, zlib; "
    "a = t.from_numpy(n.random.default_rng(0).random((90, 90))); "
    "print(*(zlib.crc32(x.numpy().tobytes()) for x in (a @ a, a.float() @ a.float(), a.exp())))"
)
# Results that a maker chooses: the 12 bits of an approximation, and x87's functions.
CHOSEN = re.compile(
    rb"\b(?:v?(?:rcp|rsqrt)[ps]s|f(?:sin|cos|sincos|ptan|patan|yl2x|yl2xp1)|f2xm1)\b"
)
AGAIN = re.compile(r"(\d+) of (\d+) steps were run again, all with the same bytes")


def plain() -> dict:
    """What a Python is given that is not pinned."""
    return {name: value for name, value in variables().items() if name not in pinned({})}


def python(words: list, given: dict, cpu: str | None = None, log: Path | None = None) -> str:
    """What a Python says, on an imitated CPU if one is named; its code to a log, if one is."""
    logged = ["-d", "in_asm", "-D", log] if log else []
    emulator = [shutil.which(QEMU), "-cpu", cpu, *logged] if cpu else []
    command = [*emulator, BIN / "python", *words]
    done = subprocess.run(command, env=given, capture_output=True, text=True, errors="replace")
    if done.returncode != 0:
        sys.exit(f"NOT SO: on {cpu or 'this CPU'} this ended: {words}\n{done.stderr[-3000:]}")
    return done.stdout.strip()


def require_emulator() -> None:
    """End here where there is none, or one that computes wrongly."""
    flags = Path("/proc/cpuinfo").read_text(encoding="utf-8").split()
    if not {"avx2", "fma"} <= {*flags}:
        cannot_run("this CPU has no AVX2, which portable arithmetic needs")
    if shutil.which(QEMU) is None:
        cannot_run(f"no {QEMU} (Debian's package qemu-user, in bookworm that of its backports)")
    if python(["-c", SORTS], plain(), "Haswell") != python(["-c", SORTS], plain()):
        emulator = subprocess.run([QEMU, "--version"], capture_output=True, text=True).stdout
        cannot_run(f"{emulator.splitlines()[0]} computes AVX2 wrongly; 10.0 does not")


def make(folder: Path, targets: tuple) -> None:
    """The small studies, or some files of them, as the workflow makes them on this CPU."""
    folder.mkdir(parents=True)
    command = [BIN / "snakemake", "--cores", "2", "--directory", folder, "--configfile", SMALL]
    command += ["--config", "arithmetic=portable", "--", *targets]
    done = subprocess.run(command, cwd=ROOT, env=plain(), capture_output=True, text=True)
    require(done.returncode == 0, "small fits of every learner ran on this CPU", done.stdout)


def run_again(folder: Path, where: str, given: dict, cpu: str | None, log: Path | None) -> None:
    """Every step again, on another CPU."""
    os.chdir(folder)
    words = ["-m", "frugal", "audit", "--sample", "9999", "--look-in", ROOT / ".test"]
    words += ["--look-in", ROOT / "tests/workflow"]
    words += ["--look-in", ROOT / "config/datasets", "--look-in", ROOT / "docs/examples"]
    same, steps = map(int, AGAIN.findall(python(words, given, cpu, log))[-1])
    require(same == steps > 0, f"{where}: {same} of {steps} steps have the same bytes")


def look_through(pipe: Path, found: set) -> None:
    """Note every instruction of a program's code whose result its maker chooses."""
    with pipe.open("rb") as stream:
        for line in stream:
            found.update(CHOSEN.findall(line))


def run_on(cpu: str, folder: Path, *, looked_through: bool) -> None:
    """Every step again on an imitated CPU."""
    where = f"imitated {cpu} (LLVM: {python(['-c', SEEN], plain(), cpu)})"
    if not looked_through:
        run_again(folder, where, pinned(plain()), cpu, None)
        return
    pipe, found = OPTIONS.folder / "code", set()
    os.mkfifo(pipe)
    reader = threading.Thread(target=look_through, args=(pipe, found), daemon=True)
    reader.start()
    run_again(folder, where, pinned(plain()), cpu, pipe)
    reader.join()
    names = ", ".join(sorted(name.decode() for name in found))
    require(not found, f"{where}: no instruction ran whose result a maker chooses", names)


def main() -> None:
    """Both ways, and what tells that they can see anything."""
    require_emulator()
    cpus = MAKERS[1:] if OPTIONS.short else CPUS
    unpinned = {python(["-c", KERNELS], plain(), cpu) for cpu in MAKERS}
    require(len(unpinned) == 2, "without pins, products differ between imitated makers")
    folder = OPTIONS.folder / "run"
    make(folder, SHORT_TARGETS if OPTIONS.short else TARGETS)
    for cpu in cpus:
        run_on(cpu, folder, looked_through=cpu == cpus[0])
    site = OPTIONS.folder / "site"
    torch = next((BIN.parent / "lib").glob("python*/site-packages/torch"))
    places = copy_with_swapped_names(torch, site)
    given = plain() | {"PYTHONPATH": f"{site}:{ROOT / 'workflow'}"}
    usual, other = (python(["-c", KERNELS], one) for one in (plain(), given))
    require(usual != other, f"without pins, products differ once MKL is misled at {places} places")
    run_again(folder, "this CPU as one of the other maker", pinned(given), None, None)


if __name__ == "__main__":
    main()
