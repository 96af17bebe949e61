"""Memory and CPU time as the operating system counts them: of this process, and what is free.

Knows /proc and control groups (Linux) and `resource` (elsewhere); must not know what a stage
computes, nor any engine.
"""

import os
import re
import resource
import sys
from collections.abc import Iterator
from pathlib import Path

_MB = 2**20
_RSS_BYTES = 1 if sys.platform == "darwin" else 1024  # of one `ru_maxrss`
_SAID = re.compile(r"^used: ([0-9.]+) CPU s, peak ([0-9]+) MB$", flags=re.MULTILINE)


def usage_line() -> str:
    """CPU seconds and peak memory of this process and its finished children, for its log."""
    both = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    cpu_s = sum(each.ru_utime + each.ru_stime for each in both)
    peak = max(_own_peak(both[0]), both[1].ru_maxrss * _RSS_BYTES)
    return f"used: {cpu_s:.1f} CPU s, peak {peak / _MB:.0f} MB"


def usage_in_log(text: str) -> tuple[float, float] | None:
    """CPU seconds and peak MB that a job has written as `usage_line` into its log, if it has."""
    said = _SAID.findall(text)
    return (float(said[-1][0]), float(said[-1][1])) if said else None


def _own_peak(usage: resource.struct_rusage) -> int:
    """Peak resident bytes of this program.

    `ru_maxrss` also counts what the process held before it became this program, a copy of the
    engine that started it; Linux's VmHWM does not.
    """
    try:
        status = Path("/proc/self/status").read_text(encoding="ascii", errors="replace")
    except OSError:
        status = ""
    peak = re.search(r"^VmHWM:\s+(\d+) kB$", status, flags=re.MULTILINE)
    return int(peak[1]) * 1024 if peak else usage.ru_maxrss * _RSS_BYTES


def free_memory_mb(root: Path = Path("/")) -> int:
    """MB that new processes may take: what the machine, or a control group around us, has left.

    Args:
        root: holds `proc` and `sys`; another one in tests.
    """
    machine = _machine_bytes(root / "proc" / "meminfo")
    return max(0, min([machine, *_group_bytes(root)]) // _MB)


def _machine_bytes(meminfo: Path) -> int:
    """Bytes that are free or can be freed; all of the machine's where that is not told."""
    if meminfo.is_file():
        told = re.search(r"^MemAvailable:\s+(\d+) kB$", meminfo.read_text(), flags=re.MULTILINE)
        if told:
            return int(told[1]) * 1024
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def _group_bytes(root: Path) -> Iterator[int]:
    """Bytes left in each control group, version 2 or 1, that this process stands in."""
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
    """The limit of one control group less what it cannot give back; None if it has no limit."""
    try:
        limit = (folder / most).read_text().strip()
        in_use = int((folder / used).read_text())
        told = (folder / "memory.stat").read_text()
    except OSError:
        return None
    if limit == "max":
        return None
    cached = re.search(rf"^{prefix}inactive_file (\d+)$", told, flags=re.MULTILINE)
    return int(limit) - in_use + (int(cached[1]) if cached else 0)
