"""Which jobs wait for something that does not come by itself, said once for each reason.

Knows no Snakemake, and asks Slurm nothing.
"""

import re
from collections.abc import Callable, Mapping
from typing import NamedTuple

_ORDINARY = re.compile(r"(?:None|\(null\)|Priority|Resources|BeginTime|Prolog|Cleaning|)$")
_SOON_S, _ORDINARY_S = 30.0, 1800.0
_NODES = re.compile(r"Nodes required|ReqNodeNotAvail|NodeDown|PartitionDown|PartitionInactive")
_HELP = {  # the first that fits
    "PartitionTimeLimit": "it asks for more minutes than the partition allows; lower `runtime`, or "
    "name another partition in the profile",
    "PartitionNodeLimit|PartitionConfig|BadConstraints": "no node of the partition is as it asks",
    "Nodes required|ReqNodeNotAvail|NodeDown": "the nodes that could take it are not there",
    "PartitionDown|PartitionInactive": "the partition takes no jobs now",
    "JobHeldUser": "it is held; scontrol release ID lets it go",
    "JobHeldAdmin|launch failed requeued held|JobHoldMaxRequeue": "an administrator holds it",
    "DependencyNeverSatisfied": "what it depends on has failed",
    "Invalid(?:Account|QOS)": "name another account in the profile (`slurm_account`)",
    "Assoc|QOS": "a limit of your account, or of its quality of service",
    "Licenses|Reservation": "what it reserves is taken",
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
        self,
        jobs: Mapping[str, Waits],
        now: float,
        unusable_nodes: Callable[[], list[str]] = list,
    ) -> list[str]:
        """What is new to say of the jobs that wait, a line for each reason.

        Args:
            jobs: by their ids in Slurm.
            now: seconds.
            unusable_nodes: asked for only where the reason is a node.
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
