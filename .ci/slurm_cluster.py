"""A Slurm of one's own for `.ci/check_slurm.py`, and what is done to its jobs and nodes."""

import contextlib
import os
import signal
import subprocess
import time
from pathlib import Path

from environment import ROOT, cannot_run

DAEMONS = ("slurmctld", "slurmd", "munged", "slurmdbd", "mariadbd")
PACKAGES = "slurm-wlm munge slurmdbd mariadb-server-core mariadb-client-core bindfs"


def require_slurm() -> None:
    """End here, in a sentence, where no Slurm of one's own can be started."""
    if os.geteuid() != 0:
        cannot_run("a Slurm of one's own is started by root; start the check as root")
    absent = [name for name in DAEMONS if not Path("/usr/sbin", name).is_file()]
    if absent:
        install = f"apt-get install -y --no-install-recommends {PACKAGES} (Debian)"
        cannot_run(f"{', '.join(absent)} not in /usr/sbin; {install}")
    if Path("/etc/slurm/slurm.conf").exists():
        cannot_run("/etc/slurm/slurm.conf is there; the check would replace that Slurm by its own")


def can_be_late() -> bool:
    """True where a folder can be mounted that shows late what others have made."""
    try:
        os.close(os.open("/dev/fuse", os.O_RDWR))
    except OSError:
        return False
    return Path("/usr/bin/bindfs").is_file()


@contextlib.contextmanager
def slurm(state: Path, *words: object, **variables: str):
    """A Slurm that is stopped whatever happens; its state's folder."""
    try:
        started = subprocess.run(
            [ROOT / ".ci/slurm/start.sh", state, *map(str, words)], env=os.environ | variables
        )
        if started.returncode != 0:
            cannot_run(f"Slurm did not start, as said above; its logs are in {state / 'log'}")
        yield state
    finally:
        subprocess.run([ROOT / ".ci/slurm/stop.sh", state], check=True)


def tell(*words: str) -> str:
    """What one of Slurm's commands prints."""
    return subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True).stdout


def running(seconds: float = 300) -> str:
    """The id of a job that runs, as soon as there is one; nothing if none comes."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if ids := tell("squeue", "--noheader", "--states=RUNNING", "--format=%i").split():
            return ids[0]
        time.sleep(0.1)
    return ""


def processes(job: str) -> list:
    """Ids of the processes that belong to a job."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if f"SLURM_JOB_ID={job}".encode() in (folder / "environ").read_bytes().split(b"\0"):
                found.append(int(folder.name))
    return found


def hold(job: str) -> None:
    """Stop all processes of a job where they are, as a job does that takes very long."""
    deadline = time.monotonic() + 60
    while not (held := processes(job)) and time.monotonic() < deadline:
        time.sleep(0.1)
    for pid in held:
        with contextlib.suppress(OSError):
            os.kill(pid, signal.SIGSTOP)


def release(job: str) -> None:
    """Let them go on."""
    for pid in processes(job):
        with contextlib.suppress(OSError):
            os.kill(pid, signal.SIGCONT)


def kill_node(state: Path, node: str) -> None:
    """A node loses its power: Slurm's own processes go first, so that none can tell of the end."""
    jobs = tell("squeue", "--noheader", f"--nodelist={node}", "--format=%i").split()
    own = [int((state / "run" / f"slurmd.{node}.pid").read_text())]
    own += [pid for job in jobs for pid in stepd(job)]
    for pid in own + [pid for job in jobs for pid in processes(job)]:
        with contextlib.suppress(OSError):
            os.kill(pid, signal.SIGKILL)
    tell("scontrol", "update", f"nodename={node}", "state=down", "reason=power")


def stepd(job: str) -> list:
    """Ids of Slurm's processes that watch over a job: `slurmstepd: [4.batch]`."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if (folder / "cmdline").read_bytes().startswith(f"slurmstepd: [{job}.".encode()):
                found.append(int(folder.name))
    return found
