#!/usr/bin/env python3
"""Studies through profiles/slurm and the published executor, on a Slurm of this machine.

Needs root and Debian's Slurm (apt-get install --no-install-recommends slurm-wlm munge); starts a
controller and one node of its own, without accounts, and stops them. Shown:
  the study of ten lines ends with the bytes of a run without Slurm, and its audit passes;
  a job that takes more memory than it asked for comes again with more;
  `decide` on a table of one's own ends with the verdict of a run without Slurm.
Not shown: several machines, a network file system, accounts, control groups, a newer Slurm.
With --short: the study of ten lines up to its rollouts, whose bytes are compared.
Usage: .ci/check_slurm.py [--short] FOLDER     (an empty folder; ten minutes, short two)
"""

import contextlib
import os
import signal
import socket
import subprocess
import time
from pathlib import Path

import environment
from environment import BIN, ROOT, cannot_run, require

if __name__ == "__main__":
    OPTIONS = environment.begin(__doc__)
from tests.workflow import sentences
from tests.workflow.runs import payloads
from tests.workflow.shared import finished, folder_of_runs

CONFIG = Path("/etc/slurm/slurm.conf")  # jobs know no other place
DAEMONS = ("slurmctld", "slurmd", "munged")
TEN_LINES = ["--configfile", "docs/examples/ten_lines_config.yaml"]
CLINIC = ["--config", "table=docs/examples/clinic.yaml"]
# There is nobody to be spared; without accounts only the queue knows how a job ended
PROFILE = ["--profile", "profiles/slurm", "--slurm-init-seconds-before-status-checks", "3"]
PROFILE += ["--slurm-status-command", "squeue", "--latency-wait", "20"]
SCANT = "draw_missingness:mem_mb=150 if attempt == 1 else 2000"  # needs more than 150
LINES = """ClusterName=frugal
SlurmctldHost={host}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
CryptoType=crypto/munge
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU_Memory
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/linux
JobAcctGatherParams=OverMemoryKill
JobAcctGatherFrequency=task=1
SchedulerParameters=sched_interval=1,bf_interval=1
SlurmctldPort=16817
SlurmctldPidFile={state}/slurmctld.pid
SlurmdPidFile={state}/slurmd.pid
SlurmctldLogFile={state}/slurmctld.log
SlurmdLogFile={state}/slurmd.log
StateSaveLocation={state}/state
SlurmdSpoolDir={state}/spool
NodeName={host} NodeAddr=127.0.0.1 Port=16821 CPUs=2 RealMemory={memory_mb} State=UNKNOWN
PartitionName=main Nodes={host} Default=YES MaxTime=1-00:00:00 State=UP
"""


@contextlib.contextmanager
def slurm(state: Path):
    """A Slurm that is stopped, and its configuration removed, whatever happens."""
    absent = [name for name in DAEMONS if not Path("/usr/sbin", name).is_file()]
    if os.geteuid() != 0 or absent or CONFIG.exists():
        cannot_run(f"it needs root, {', '.join(DAEMONS)} in /usr/sbin, and no {CONFIG} as yet")
    for folder in (state / "state", state / "spool", CONFIG.parent):
        folder.mkdir(parents=True, exist_ok=True)
    memory_mb = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") * 9 // 10 // 2**20
    host = socket.gethostname().partition(".")[0]
    CONFIG.write_text(LINES.format(host=host, state=state, memory_mb=memory_mb))
    CONFIG.with_name("cgroup.conf").write_text("CgroupPlugin=cgroup/v1\n")
    pids = [state / "slurmd.pid", state / "slurmctld.pid"]
    try:
        if subprocess.run("munge -n | unmunge", shell=True, capture_output=True).returncode != 0:
            for folder in ("/run/munge", "/var/log/munge", "/var/lib/munge"):
                subprocess.run(["install", "-d", "-o", "munge", "-g", "munge", folder], check=True)
            as_user = ["setpriv", "--reuid=munge", "--regid=munge", "--clear-groups"]
            subprocess.run([*as_user, "/usr/sbin/munged", "--force"], check=True)
            pids.append(Path("/run/munge/munged.pid"))
        for name in ("slurmctld", "slurmd"):
            subprocess.run([f"/usr/sbin/{name}"], check=True)
        for _ in range(100):
            if "idle" in subprocess.run(["sinfo"], capture_output=True, text=True).stdout:
                break
            time.sleep(0.2)
        else:
            cannot_run(f"Slurm's node did not become idle; its logs are in {state}")
        yield
    finally:
        subprocess.run("scancel --user=root; sleep 2", shell=True, capture_output=True)
        for path in pids:
            with contextlib.suppress(OSError, ValueError):
                stop(int(path.read_text()))
        CONFIG.unlink(missing_ok=True)
        CONFIG.with_name("cgroup.conf").unlink(missing_ok=True)


def stop(pid: int) -> None:
    """End a daemon, and wait for its end."""
    os.kill(pid, signal.SIGTERM)
    for _ in range(100):
        os.kill(pid, 0)  # raises once it has ended
        time.sleep(0.1)


def start(folder: Path, how: list[str], *words: str) -> str:
    """Run Snakemake to a good end; all that it said."""
    command = [BIN / "snakemake", *how, "--directory", folder, *words]
    done = subprocess.run(
        command, cwd=ROOT, env=environment.variables(), stdout=-1, stderr=-2, text=True
    )
    require(done.returncode == 0, f"it ended: snakemake {' '.join(words)}", done.stdout)
    return done.stdout


def require_same(made: Path, plain: Path, part: bool) -> None:
    """Files are those of a run without Slurm, all or a part of them."""
    mine, its = payloads(made), payloads(plain)
    differing = sorted(p for p in {*mine, *([] if part else its)} if mine.get(p) != its.get(p))
    require(bool(mine) and not differing, f"all {len(mine)} files are the same", str(differing))


def main(folder: Path, short: bool) -> None:
    """The study, and what goes with it."""
    runs, until = folder_of_runs(folder), ["--until", "roll_out"] if short else []
    plain = finished("ten_lines", runs).folder
    with slurm(folder / "slurm"):
        output = start(folder / "study", PROFILE, *TEN_LINES, *until, "--", "afape")
        require(output.count(sentences.SUBMITTED) > 2, "its jobs ran in Slurm", output)
        require_same(folder / "study", plain, short)
        if short:
            return
        start(folder / "study", ["--cores", "1"], *TEN_LINES, "--", "audit")
        scant = ["--set-resources", SCANT, *TEN_LINES, "--until", "draw_missingness"]
        output = start(folder / "scant", PROFILE, *scant, "--", "afape")
        require(sentences.AGAIN in output, "a job that lacks memory comes again with more", output)
        require_same(folder / "scant", plain, True)
        start(folder / "clinic", PROFILE, *CLINIC, "--", "decide")
    start(folder / "clinic_plain", ["--cores", "2"], *CLINIC, "--", "decide")
    clinic, its = (folder / n / "results/decide/clinic" for n in ("clinic", "clinic_plain"))
    require_same(clinic, its, False)


if __name__ == "__main__":
    main(OPTIONS.folder, OPTIONS.short)
