"""What Slurm says of jobs: their states, why one ended, and which wait for what does not come.

The queue (`squeue`) is asked first. It knows a job until some minutes after its end (`MinJobAge`),
on every cluster, and says why one waits. The accounts (`sacct`) know all, where a cluster keeps
any. A job that failed for its own reasons fails again, with whatever it is given; one that was
cancelled was not wanted. So only lack of memory or time means another try. Knows no Snakemake.
"""

import pwd
import re
import subprocess
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

ALIVE = frozenset(
    (
        "PENDING",
        "RUNNING",
        "SUSPENDED",
        "CONFIGURING",
        "COMPLETING",
        "REQUEUED",
        "REQUEUE_HOLD",
        "REQUEUE_FED",
        "RESIZING",
        "SIGNALING",
        "SPECIAL_EXIT",
        "STAGE_OUT",
        "STOPPED",
        "RESV_DEL_HOLD",
    )
)
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


# What Slurm itself writes into a job's log; the job's own words do not begin so.
_OVER_MEMORY = re.compile(
    r"^(?:slurmstepd|slurmd|srun)\b[^:]*: error: .*(?:oom[-_ ]kill|out of memory|exceeded memory)",
    re.IGNORECASE | re.MULTILINE,
)
_WORDS = {
    "NODE_FAIL": "was lost with its node",
    "BOOT_FAIL": "was lost: its node did not start",
    "PREEMPTED": "had to make room for another job (preempted)",
    "DEADLINE": "did not end before its deadline",
    "REVOKED": "was taken back by Slurm (revoked)",
}


class Asked(NamedTuple):
    """What a job requested."""

    memory_mb: object
    minutes: object


class End(NamedTuple):
    """How a job ended.

    Attributes:
        words: follow its name: `took longer than the 30 minutes that it requested`.
        again: more of what it requested would help.
        more: the resource that it lacked, as Snakemake names it.
        own: it failed by itself, so that its own log says why.
    """

    words: str
    again: bool = False
    own: bool = False
    more: str = ""


def end_of(state: str, steps: Sequence[str], log: str, asked: Asked) -> End:
    """Why a job ended that did not end well.

    Args:
        state: of the job.
        steps: its state and its steps', where the accounts tell them. A step can be killed for its
            memory while the job around it has only failed.
        log: what Slurm wrote of it.
        asked: its request.
    """
    if state == "OUT_OF_MEMORY" or "OUT_OF_MEMORY" in steps or _OVER_MEMORY.search(log):
        words = f"took more than the {asked.memory_mb} MB of memory it requested"
        return End(words, again=True, more="mem_mb")
    if state == "TIMEOUT":
        words = f"took longer than the {asked.minutes} minutes it requested"
        return End(words, again=True, more="runtime")
    if state == "CANCELLED":
        return End(f"was cancelled in Slurm{_by(steps)}")
    if state in _WORDS:
        return End(_WORDS[state])
    return End("failed" if state == "FAILED" else f"ended as {state}", own=True)


def refusal(said: str) -> str:
    """What `sbatch` says of a job that it does not take, out of all that the plugin says of it."""
    found = re.search(r"The error message was '(.*?)'\.?\n", said, re.DOTALL)
    lines = (found[1] if found else said).strip().splitlines()
    return "; ".join(line.removeprefix("sbatch: ").removeprefix("error: ") for line in lines)


def _by(steps: Sequence[str]) -> str:
    """Who cancelled it, where the accounts tell."""
    found = re.search(r"^CANCELLED by (\d+)$", "\n".join(steps), re.MULTILINE)
    if not found:
        return ""
    try:
        return f" by {pwd.getpwuid(int(found[1])).pw_name}"
    except KeyError:
        return f" by user {found[1]}"


_ORDINARY = re.compile(r"(?:None|\(null\)|Priority|Resources|BeginTime|Prolog|Cleaning|)$")
_SOON_S, _ORDINARY_S = 30.0, 1800.0
_NODES = re.compile(r"Nodes required|ReqNodeNotAvail|NodeDown|PartitionDown|PartitionInactive")
_HELP = {  # the first that fits
    "PartitionTimeLimit": "it needs more minutes than the partition allows; lower `runtime`, or "
    "name another partition in the profile",
    "PartitionNodeLimit|PartitionConfig|BadConstraints": "no node of the partition is as it asks",
    "Nodes required|ReqNodeNotAvail|NodeDown": "the nodes that could take it are not there",
    "PartitionDown|PartitionInactive": "the partition takes no jobs now",
    "JobHeldUser": "it is held; scontrol release ID lets it go",
    "JobHeldAdmin|launch failed requeued held|JobHoldMaxRequeue": "an administrator holds it",
    "DependencyNeverSatisfied": "a job that it depends on has failed",
    "Invalid(?:Account|QOS)": "name another account in the profile (`slurm_account`)",
    "Assoc|QOS": "a limit of your account, or of its quality of service",
    "Licenses|Reservation": "its reservation is taken",
    "Priority|Resources": "it waits for its turn",
}


class Waits(NamedTuple):
    """A job that waits: its name for people, and Slurm's reason."""

    what: str
    reason: str


class Waiting:
    """Remembers since when jobs wait for what, and what was said of it."""

    def __init__(self) -> None:
        self._since: dict[tuple[str, str], float] = {}
        self._told: set[str] = set()

    def lines(
        self, jobs: Mapping[str, Waits], now: float, unusable_nodes: Callable[[], list[str]] = list
    ) -> list[str]:
        """What is new to say of the jobs that wait, a line for each reason.

        Args:
            jobs: by their ids in Slurm.
            now: seconds.
            unusable_nodes: requested only where the reason is a node.
        """
        waits = {(slurm_id, kind(job.reason)) for slurm_id, job in jobs.items()}
        self._since = {key: self._since.get(key, now) for key in waits}
        self._told &= {reason for _, reason in waits}  # what comes again is said again
        said = []
        for reason in sorted({reason for _, reason in waits} - self._told):
            after = _ORDINARY_S if _ORDINARY.match(reason) else _SOON_S
            long = [
                i for i, own in self._since if own == reason and now - self._since[i, own] >= after
            ]
            if long:
                self._told.add(reason)
                nodes = unusable_nodes() if _NODES.match(reason) else []
                said.append(_line({i: jobs[i] for i in long}, nodes))
        return said


def kind(reason: str) -> str:
    """A reason without the nodes that it lists."""
    return reason.split(",", 1)[0]


def _line(jobs: Mapping[str, Waits], nodes: list[str]) -> str:
    slurm_id = min(jobs, key=lambda each: (len(each), each))
    what, reason = jobs[slurm_id]
    help_ = next((words for names, words in _HELP.items() if re.match(names, reason)), "")
    many = f"{len(jobs)} jobs wait in Slurm, first " if len(jobs) > 1 else "Waits in Slurm: "
    told = f"{help_} ({kind(reason)})" if help_ else kind(reason)
    where = f"; {', '.join(nodes[:5])}" + (" …" if len(nodes) > 5 else "") if nodes else ""
    return f"{many}job {slurm_id} ({what}): {told}{where}; scancel {slurm_id} gives it up"
