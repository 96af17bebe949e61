"""What Slurm says of jobs: the queue is asked first, then the accounts, for what has left it.

The queue (`squeue`) knows a job until some minutes after its end (`MinJobAge`), on every cluster,
and says why one waits. The accounts (`sacct`) know all, where the cluster keeps any. Knows no
Snakemake.
"""

import re
import subprocess
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass

ALIVE = frozenset(
    (
        "PENDING", "RUNNING", "SUSPENDED", "CONFIGURING", "COMPLETING", "REQUEUED", "REQUEUE_HOLD",
        "REQUEUE_FED", "RESIZING", "SIGNALING", "SPECIAL_EXIT", "STAGE_OUT", "STOPPED",
        "RESV_DEL_HOLD",
    )
)  # fmt: skip
_SECONDS = 60  # that Slurm has for an answer
Ask = Callable[[list[str]], str]


class SlurmSilentError(Exception):
    """Slurm gave no answer; its words."""


@dataclass(frozen=True)
class Seen:
    """A job as Slurm sees it.

    Attributes:
        state: one word, such as PENDING or OUT_OF_MEMORY.
        name: of the job; the plugin gives all jobs of a start the same.
        reason: why it waits.
    """

    slurm_id: str
    state: str
    name: str = ""
    reason: str = ""

    @property
    def alive(self) -> bool:
        """True while it waits or runs; Slurm may say more of it later."""
        return self.state in ALIVE


@dataclass(frozen=True)
class Cluster:
    """What matters of a cluster's configuration.

    Attributes:
        accounts: it has a database that knows jobs for ever.
        forgets_after_s: seconds after its end at which the queue forgets a job; None for never.
    """

    accounts: bool
    forgets_after_s: int | None

    @property
    def longest_pause_s(self) -> float:
        """Seconds between two questions after which no end of a job can have been missed."""
        if self.accounts or self.forgets_after_s is None:
            return 180.0
        return min(180.0, self.forgets_after_s / 3)


def ask_slurm(words: list[str]) -> str:
    """What a command of Slurm's prints.

    Raises:
        SlurmSilentError: it fails, or takes longer than a minute.
    """
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise SlurmSilentError(f"{words[0]}: {error}") from None
    if done.returncode:
        raise SlurmSilentError(f"{words[0]}: {' '.join(done.stderr.split())}")
    return done.stdout


def read_cluster(ask: Ask = ask_slurm) -> Cluster:
    """What `scontrol show config` says."""
    told = dict(re.findall(r"^(\w+)\s*= (.*)$", ask(["scontrol", "show", "config"]), re.MULTILINE))
    accounts = told.get("AccountingStorageType", "").strip()
    age = re.match(r"\d+", told.get("MinJobAge", ""))
    seconds = int(age[0]) if age else 300
    return Cluster(accounts == "accounting_storage/slurmdbd", seconds or None)


def ask_queue(
    names: Iterable[str], clusters: Collection[str] = (), ask: Ask = ask_slurm
) -> dict[str, Seen]:
    """Jobs of these names that the queue knows, by their ids."""
    words = ["squeue", "--noheader", "--array", "--states=all", "--format=%i|%T|%j|%r"]
    words += [f"--name={','.join(sorted(names))}"]
    found = [line.split("|", 3) for line in ask(words + _of_clusters(clusters)).splitlines()]
    return {parts[0].strip(): _seen(*parts) for parts in found if len(parts) == 4}


def ask_accounts(
    slurm_ids: Iterable[str], clusters: Collection[str] = (), ask: Ask = ask_slurm
) -> dict[str, Seen]:
    """Jobs of these ids that the accounts know, whether they have ended or not."""
    words = ["sacct", "--noheader", "--allocations", "--parsable2", "--format=JobID,State"]
    words += [f"--jobs={','.join(sorted(slurm_ids))}"]
    found = [line.split("|", 1) for line in ask(words + _of_clusters(clusters)).splitlines()]
    return {parts[0].strip(): _seen(*parts) for parts in found if len(parts) == 2}


def ask_steps(slurm_id: str, ask: Ask = ask_slurm) -> list[str]:
    """States of a job and of all its steps, as the accounts write them (`CANCELLED by 1000`)."""
    words = ["sacct", "--noheader", "--parsable2", "--format=State", f"--jobs={slurm_id}"]
    return [line.strip() for line in ask(words).splitlines() if line.strip()]


def ask_unusable_nodes(partition: str, ask: Ask = ask_slurm) -> list[str]:
    """Nodes of a partition that take no job, each with its state and why: `n1 drained (disk)`."""
    words = ["sinfo", "--noheader", "--Node", "--format=%N|%T|%E"]
    words += [f"--partition={partition}"] if partition else []
    found = [line.split("|", 2) for line in ask(words).splitlines()]
    usable = ("idle", "mixed", "allocated", "completing")
    return sorted(
        {
            f"{name} {state.rstrip('*')}" + ("" if why in ("", "none") else f" ({why})")
            for name, state, why in (parts for parts in found if len(parts) == 3)
            if not state.startswith(usable)
        }
    )


def _of_clusters(clusters: Collection[str]) -> list[str]:
    return [f"--clusters={','.join(sorted(clusters))}"] if clusters else []


def _seen(slurm_id: str, state: str, name: str = "", reason: str = "") -> Seen:
    state = (state.split() or [""])[0].rstrip("+")
    return Seen(slurm_id.strip(), state, name.strip(), reason.strip())
