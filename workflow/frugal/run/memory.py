"""Memory and CPU time as the operating system counts them: of this process, and free memory.

Knows /proc and control groups (Linux) and `resource` (elsewhere); must not know how a stage
computes, nor any engine.
"""

import contextlib
import json
import os
import re
import resource
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from frugal.core.errors import DataError
from frugal.results.replacing import replace_files

_MB = 2**20
_RSS_BYTES = 1 if sys.platform == "darwin" else 1024  # of one `ru_maxrss`
_STARTED = time.perf_counter()


def used(*, children: bool) -> dict[str, float]:
    """CPU seconds (user and system), peak resident MB and wall seconds of this process so far.

    Args:
        children: count those that have ended, too; the peak is then that of the largest process.
    """
    usage = resource.getrusage(resource.RUSAGE_SELF)
    cpu_s, peak = usage.ru_utime + usage.ru_stime, _own_peak(usage)
    if children:
        theirs = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu_s += theirs.ru_utime + theirs.ru_stime
        peak = max(peak, theirs.ru_maxrss * _RSS_BYTES)
    wall_s = time.perf_counter() - _STARTED
    return {"cpu_s": round(cpu_s, 2), "memory_mb": round(peak / _MB, 1), "wall_s": round(wall_s, 2)}


@contextlib.contextmanager
def accounted(path: Path | None) -> Iterator[None]:
    """Write the resources used when the work within ends, well or not; None: nowhere.

    One line of JSON: `used`, and `ended`, which is done or failed. A full disk, that cannot take
    it, changes nothing about the job.
    """
    ended = "failed"
    try:
        yield
        ended = "done"
    finally:
        measured = used(children=True)
        with contextlib.suppress(OSError, DataError):
            if path is not None:
                line = json.dumps(measured | {"ended": ended})
                replace_files({path: f"{line}\n".encode()})


def _own_peak(usage: resource.struct_rusage) -> int:
    """Peak resident bytes of this program.

    `ru_maxrss` also counts memory that the process held before it became this program, a copy of
    the engine that started it; Linux's VmHWM does not.
    """
    try:
        status = Path("/proc/self/status").read_text(encoding="ascii", errors="replace")
    except OSError:
        status = ""
    peak = re.search(r"^VmHWM:\s+(\d+) kB$", status, flags=re.MULTILINE)
    return int(peak[1]) * 1024 if peak else usage.ru_maxrss * _RSS_BYTES


def free_memory_mb(root: Path = Path("/")) -> int:
    """MB that new processes may take: free memory of the machine, or of a control group.

    Args:
        root: holds `proc` and `sys`; another one in tests.
    """
    machine = _machine_bytes(root / "proc" / "meminfo")
    return max(0, min([machine, *_group_bytes(root)]) // _MB)


def _machine_bytes(meminfo: Path) -> int:
    """Bytes that are free or can be freed; all of the machine's where that is unknown."""
    if meminfo.is_file():
        available = re.search(
            r"^MemAvailable:\s+(\d+) kB$", meminfo.read_text(), flags=re.MULTILINE
        )
        if available:
            return int(available[1]) * 1024
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def _group_bytes(root: Path) -> Iterator[int]:
    """Bytes left in each control group, version 2 or 1, of this process."""
    groups = root / "proc" / "self" / "cgroup"
    if not groups.is_file():
        return
    for line in groups.read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        if not controllers:
            mount, names = root / "sys/fs/cgroup", ("memory.max", "memory.current", "")
        elif "memory" in controllers.split(","):
            mount = root / "sys/fs/cgroup/memory"
            names = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_")
        else:
            continue
        folder = mount / path.lstrip("/")
        while folder == mount or mount in folder.parents:
            left = _left_bytes(folder, *names)
            if left is not None:
                yield left
            folder = folder.parent


def _left_bytes(folder: Path, most: str, used: str, prefix: str) -> int | None:
    """A control group's limit less the memory that it cannot release; None if without limit."""
    try:
        limit = (folder / most).read_text().strip()
        in_use = int((folder / used).read_text())
        statistics = (folder / "memory.stat").read_text()
    except OSError:
        return None
    if limit == "max":
        return None
    cached = re.search(rf"^{prefix}inactive_file (\d+)$", statistics, flags=re.MULTILINE)
    return int(limit) - in_use + (int(cached[1]) if cached else 0)
