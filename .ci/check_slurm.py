#!/usr/bin/env python3
"""A real Slurm of two nodes, with accounts: a study through the profile, and all that goes wrong.

Needs root and Debian's Slurm and MariaDB (see .ci/slurm/start.sh); starts its own and stops it. The
nodes are two slurmd on one machine. Memory is held by control groups where they can be made. The
nodes share a folder that shows late what another has made, where one can be mounted. Lines say so.
Each fault has a run of its own, whose files are compared, byte for byte, with an undisturbed run's:
  a wrong input is submitted once, and its own sentence stands last on the terminal;
  a job that lacks memory or time comes again with more; one that lacks it each time is given up;
  a cancelled job stays cancelled;
  jobs that can never start are told, with the nodes that are away;
  Snakemake is killed: the next start waits for its job, or cancels it where settings changed;
  a node is lost with its job; the controller is away for a while;
  without accounts and control groups: the same; where ends would be missed, a sentence.
The study of ten lines runs to its end with its audit, as do the embedded default's smallest study
and `decide` on a table of one's own.
It does not show several machines, a network file system, or a Slurm newer than Debian's.
With --short: the wrong input, and the study of ten lines up to its rollouts, with accounts.
Usage: .ci/check_slurm.py [--short] FOLDER     (an empty folder; half an hour, short two minutes)
"""

import json
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path

import environment
from environment import BIN, ROOT, require

if __name__ == "__main__":
    ASKED = environment.begin(__doc__)
import slurm_cluster as cluster  # found after `begin`, as what follows
from frugal.run.plans import load_costs, sized, stated_memory_mb

from tests.workflow import sentences
from tests.workflow.shared import finished, folder_of_runs

EXAMPLE = ROOT / "docs" / "examples"
LATE_S = 8  # after which the shared folder shows what another node has made
# A cluster is asked every 40 s, and files are waited for 60 s; here there is nobody to be spared.
HERE = ["--slurm-init-seconds-before-status-checks", "3", "--latency-wait", str(3 * LATE_S)]
ENVIRONMENT = environment.variables()
ENGINE_MB = 250  # of the Snakemake that runs a job, as workflow/rules/plan_common.smk adds
TABLE = (EXAMPLE / "ten_lines.csv").read_text()
STEP = "draw_missingness"  # the faults' runs go as far as this step, the second
SCANT_MB = 150  # less than the step needs
SCANT = f"{STEP}:mem_mb={SCANT_MB}"
UNTIL = ["--until", STEP]


class Run:
    """The study of ten lines in a folder of its own.

    `folder` is what Snakemake sees; `store` is where its files are, if that is another place.
    """

    def __init__(self, folder: Path, store: Path | None = None, table: str = TABLE) -> None:
        self.folder, self.store = folder, store or folder
        folder.mkdir(parents=True, exist_ok=True)
        self.write(table)

    def write(self, table: str = TABLE, seed: int | None = None) -> None:
        """Its table, description and config."""
        (self.folder / "ten_lines.csv").write_text(table)
        shutil.copy(EXAMPLE / "ten_lines.yaml", self.folder)
        config = (EXAMPLE / "ten_lines_config.yaml").read_text()
        own = str(self.folder / "ten_lines.yaml")
        config = re.sub(r"docs/examples/ten_lines.yaml", own, config)
        config += f"\nseed: {seed}\n" if seed is not None else ""
        (self.folder / "study.yaml").write_text(config)

    def command(self, *words: str, local: bool = False) -> list:
        """The words that start Snakemake, in Slurm or on this machine."""
        how = ["--cores", "2"] if local else ["--profile", "profiles/slurm", *HERE]
        own = ["--directory", str(self.folder), "--configfile", str(self.folder / "study.yaml")]
        return [str(BIN / "snakemake"), *how, *own, *words, "--", "afape"]

    def start(self, *words: str, local: bool = False) -> tuple:
        """Run Snakemake to its end; its exit status and all it said."""
        begun = self.begin(*words, local=local)
        begun.wait()
        return begun.returncode, self.said()

    def begin(self, *words: str, local: bool = False) -> subprocess.Popen:
        """Start Snakemake, and do not wait for it; what it says goes to a file."""
        with (self.folder / "said.txt").open("w") as said:
            return subprocess.Popen(
                self.command(*words, local=local),
                cwd=ROOT,
                env=ENVIRONMENT,
                stdout=said,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def said(self) -> str:
        """What Snakemake has said by now."""
        return (self.store / "said.txt").read_text(errors="replace")

    def await_words(self, words: str, seconds: float = 300) -> bool:
        """True once Snakemake has said them."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline and words not in self.said():
            time.sleep(0.5)
        return words in self.said()

    def payloads(self) -> dict:
        """Every file under results/, sidecars too: path → bytes."""
        files = (path for path in (self.store / "results").rglob("*") if path.is_file())
        return {path.relative_to(self.store).as_posix(): path.read_bytes() for path in files}


class Check:
    """All checks of one Slurm, whose runs lie in a folder."""

    def __init__(self, state: Path, runs: Path, plain: dict) -> None:
        self.state, self.runs, self.plain = state, runs, plain

    def run(self, name: str, table: str = TABLE) -> Run:
        """A new run in the folder of all runs, late or not."""
        store = self.state / "shared" / name if self.runs.is_mount() else None
        return Run(self.runs / name, store, table)

    def require_same(self, run: Run, what: str) -> None:
        """Its files are those of the undisturbed run."""
        mine = run.payloads()
        differing = sorted(p for p in {*mine, *self.plain} if mine.get(p) != self.plain.get(p))
        require(not differing, f"{what}: all {len(mine)} files are the same", str(differing))

    def require_end(self, run: Run, what: str, *words: str) -> str:
        """The next start ends well, with the bytes of the undisturbed run."""
        status, said = run.start(*UNTIL, *words)
        require(status == 0, f"{what}: the next start ends", said)
        self.require_same(run, what)
        return said

    def wrong_input(self) -> Run:
        """A table without a column."""
        run = self.run("wrong", TABLE.replace("troponin", "troponin_t", 1))
        status, said = run.start()
        require(status != 0, "a wrong input ends the start with a non-zero exit", said)
        count = said.count(sentences.SUBMITTED)
        require(count == 1, "its job was submitted once", said)
        told = sentences.missing_column(run.folder / "ten_lines.yaml")
        last = said.rstrip().splitlines()[-1]
        require(last.startswith(told), "its own sentence stands last on the terminal", said)
        log = "logs/prepare_data/dataset=ten_lines.log"
        require(re.search(f"all of it: {log}", said) is not None, f"and its log: {log}", said)
        require(not run.payloads(), "and nothing is left of it", said)
        run.write()
        return run

    def memory(self) -> None:
        """A job that takes more than it asked for, once or each time."""
        run = self.run("memory")
        enough = f"{SCANT} if attempt == 1 else 2000"
        status, said = run.start("--set-resources", enough, *UNTIL)
        again = re.search(rf"{STEP} .* took more than the {SCANT_MB} MB{sentences.MEMORY}", said)
        require(status == 0 and bool(again), "a job that lacks memory comes again with more", said)
        self.require_same(run, "after a lack of memory")
        run = self.run("too_little")
        status, said = run.start("--set-resources", SCANT, "--retries", "1", *UNTIL)
        require(status != 0, "one that lacks it each time ends the start, non-zero", said)
        last = said.rstrip().splitlines()[-1]
        require(f"set-resources: {STEP}: mem_mb" in last, "the last line says what to give", said)
        self.require_end(run, "after a lack of memory each time")

    def time(self) -> None:
        """A job that takes longer than it asked for, once."""
        run = self.run("time")
        begun = run.begin("--set-resources", f"{STEP}:runtime=1 if attempt == 1 else 30", *UNTIL)
        require(run.await_words(f"rule {STEP}"), "a job is given one minute", run.said())
        cluster.hold(job := cluster.running())
        require(begun.wait() == 0, "and the run ends", run.said())
        again = re.search(rf"job {job}\) took longer than the 1 {sentences.TIME}", run.said())
        require(bool(again), "for its job lacked time, and came again with more", run.said())
        self.require_same(run, "after a lack of time")

    def cancelled(self) -> None:
        """A job that somebody cancels."""
        run = self.run("cancelled")
        begun = run.begin(*UNTIL)
        cluster.hold(job := cluster.running())
        cluster.tell("scancel", job)
        require(begun.wait() != 0, "a cancelled job ends the start, non-zero", run.said())
        require(run.said().count(sentences.SUBMITTED) == 1, "it stays cancelled", run.said())
        last = run.said().rstrip().splitlines()[-1]
        told = f"job {job}) {sentences.CANCELLED}"
        require(told in last, f"the last line says so: {last}", run.said())
        self.require_end(run, "after a cancelled job")

    def waiting(self) -> None:
        """Jobs that wait for what does not come by itself."""
        run = self.run("drained")
        cluster.tell("scontrol", "update", "nodename=n1,n2", "state=drain", "reason=disks")
        begun = run.begin(*UNTIL)
        told = run.await_words(sentences.NODES_AWAY)
        line = next((line for line in run.said().splitlines() if sentences.NODES_AWAY in line), "")
        named = "n1 drained (disks), n2 drained (disks)" in line
        require(told and named, f"drained nodes are told in a line: {line}", run.said())
        cluster.tell("scontrol", "update", "nodename=n1,n2", "state=resume")
        require(begun.wait() == 0, "when they are back, the run ends", run.said())
        self.require_same(run, "after drained nodes")
        run = self.run("too_long")
        begun = run.begin("--set-resources", f"{STEP}:runtime=2000", *UNTIL)
        require(run.await_words(sentences.TOO_LONG), "a time beyond the partition's is told")
        for job in cluster.tell("squeue", "--noheader", "--format=%i").split():
            cluster.tell("scancel", job)
        require(begun.wait() != 0, "the job is given up by scancel, as the line says", run.said())
        self.require_end(run, "after a job that could never start")

    def killed(self) -> None:
        """Snakemake is killed while its job runs; the next start has the same seed, or another."""
        for name, seed in (("killed", None), ("killed_changed", 3)):
            run = self.run(name)
            begun = run.begin(*UNTIL)
            submitted = run.await_words(sentences.SUBMITTED)
            cluster.hold(job := cluster.running())
            begun.send_signal(signal.SIGKILL)
            begun.wait()
            require(submitted, f"Snakemake is killed while job {job} runs", run.said())
            unlock = run.command("--unlock")
            subprocess.run(unlock, cwd=ROOT, env=ENVIRONMENT, check=True, capture_output=True)
            if seed is not None:
                run.write(seed=seed)
            begun = run.begin(*UNTIL)
            words = sentences.WAITED_FOR if seed is None else sentences.STALE
            require(run.await_words(f"{words}: {job} ("), f"the next start: {words}", run.said())
            cluster.release(job)
            require(begun.wait() == 0, "and ends", run.said())
            times = len(re.findall(rf"{sentences.SUBMITTED}", run.said()))
            require(times == 1 + (seed is not None), f"it submitted {times}", run.said())
            if seed is not None:
                run.write()
                self.require_end(run, "back at the former seed")
            self.require_same(run, "after a kill of Snakemake")

    def node_lost(self) -> None:
        """A node that goes down with its job."""
        run = self.run("node")
        begun = run.begin(*UNTIL)
        cluster.hold(job := cluster.running())
        node = cluster.tell("squeue", "--noheader", f"--jobs={job}", "--format=%N").strip()
        cluster.kill_node(self.state, node)
        require(begun.wait() == 0, f"{node} is lost with job {job}, and the run ends", run.said())
        self.require_same(run, "after a lost node")

    def controller_away(self) -> None:
        """A controller that does not answer for a while."""
        run = self.run("controller")
        begun = run.begin(*UNTIL)
        cluster.hold(job := cluster.running())
        controller = int((self.state / "run" / "slurmctld.pid").read_text())
        subprocess.run(["kill", "-STOP", str(controller)], check=True)
        silent = run.await_words(sentences.SILENT)
        subprocess.run(["kill", "-CONT", str(controller)], check=True)
        cluster.release(job)
        require(silent, "a controller that is away is told in a line", run.said())
        require(begun.wait() == 0, "and the run ends when it is back", run.said())
        self.require_same(run, "after a controller that was away")

    def study(self, run: Run, whole: dict, *until: str, least: int = 5) -> None:
        """A study through the profile, to its end or a step; its audit, and its bytes."""
        status, said = run.start(*until)
        require(status == 0, "the study of ten lines ended through the profile", said)
        jobs = said.count(sentences.SUBMITTED)
        require(jobs >= least, f"{jobs} jobs ran in Slurm", said)
        audit(run.folder)
        self.group(run.store)
        made = run.payloads() if until else whole
        self.plain = {path: content for path, content in whole.items() if path in made}
        self.require_same(run, "the study of ten lines")

    def group(self, study: Path) -> None:
        """Four rollouts shared a submission: one core, the largest's memory, the sum of times."""
        finished = (self.state / "log" / "finished.txt").read_text().splitlines()
        sizes = json.loads((study / "benchmarks" / "sizes.json").read_text())
        agents = {each["keys"]["agent"] for each in sizes if "agent" in each["keys"]}
        keys = [{"dataset": "ten_lines", "mechanism": "own", "agent": agent} for agent in agents]
        costs = load_costs(ROOT / "config/costs.yaml")
        each = [stated_memory_mb(sized("roll_out", job, sizes), costs) for job in keys]
        memory = max(each) + ENGINE_MB
        asked = ["JobState=COMPLETED", "TimeLimit=40 ", "ProcCnt=1 ", f"Tres=cpu=1,mem={memory}M,"]
        found = [line for line in finished if all(part in line for part in asked)]
        what = f"four rollouts of 10 minutes asked once, for one core, 40 minutes, {memory} MB"
        require(bool(found), what, "\n".join(finished))


def audit(folder: Path) -> None:
    """What the run made passes its audit."""
    done = subprocess.run(
        [BIN / "python", "-m", "frugal", "audit", "--sample", "2", "--look-in", ROOT / "config"],
        cwd=folder,
        env=ENVIRONMENT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    require(done.returncode == 0, f"its audit: {done.stdout.splitlines()[-1]}", done.stdout)


def undisturbed(folder: Path, *words: str) -> dict:
    """Files of the study of ten lines on this machine, without Slurm."""
    run = Run(folder)
    status, said = run.start(*words, local=True)
    require(status == 0, f"the study ends on this machine without Slurm ({folder.name})", said)
    return run.payloads()


def embedded_default(runs: Path) -> None:
    """The embedded default's smallest study."""
    folder = runs / "default"
    folder.mkdir()
    words = ["--profile", "profiles/slurm", *HERE, "--directory", str(folder), "treatment"]
    done = subprocess.run(
        [BIN / "snakemake", *words], cwd=ROOT, env=ENVIRONMENT, stdout=-1, stderr=-2, text=True
    )
    require(done.returncode == 0, "the embedded default's treatment study ended", done.stdout)
    audit(folder)


def own_table(plain: Path, runs: Path) -> None:
    """`decide` on a table of one's own: to its verdict, which is the one without Slurm."""
    words = ["decide", "--config", f"table={EXAMPLE / 'clinic.yaml'}"]
    found = []
    for where, how in ((plain, ["--cores", "2"]), (runs, ["--profile", "profiles/slurm", *HERE])):
        own = ["--directory", str(where / "own_table")]
        call = [BIN / "snakemake", *how, *own, *words]
        done = subprocess.run(call, cwd=ROOT, env=ENVIRONMENT, stdout=-1, stderr=-2, text=True)
        require(done.returncode == 0, f"decide ended ({how[0]})", done.stdout)
        answers = where / "own_table" / "results" / "decide" / "clinic"
        told = (answers / "verdict.txt").read_text()
        require(told in done.stdout, "and printed its verdict", done.stdout)
        files = (path for path in answers.rglob("*") if path.is_file())
        found.append(
            {
                path.relative_to(answers).as_posix(): path.read_bytes()
                for path in files
                if not {"logs", "benchmarks", ".snakemake"} & set(path.relative_to(answers).parts)
            }
        )
    differing = sorted(p for p in {*found[0], *found[1]} if found[0].get(p) != found[1].get(p))
    require(not differing, f"all {len(found[0])} files of decide are the same", str(differing))


def without_accounts(folder: Path, plain: dict) -> None:
    """A Slurm that keeps no accounts, and watches memory instead of holding it."""
    with cluster.slurm(folder / "bare", "none", SLURM_WITHOUT_GROUPS="1") as state:
        check = Check(state, folder / "bare_runs", plain)
        check.memory()
        check.cancelled()
    with cluster.slurm(folder / "forgets", "none", SLURM_FORGETS_AFTER_S="5") as state:
        status, said = Check(state, folder / "forgets_runs", plain).run("refused").start()
        told = sentences.FORGETS in said and sentences.SUBMITTED not in said
        require(status != 0 and told, "a Slurm that forgets at once is refused in a sentence", said)


def main(folder: Path, short: bool) -> None:
    """All checks, in Slurms that are stopped whatever happens."""
    cluster.require_slurm()
    print("not shown: several machines, a network file system, job arrays, Slurm newer than this")
    if short:
        plain = finished("ten_lines", folder_of_runs(folder)).folder
        whole = Run(folder / "plain", plain).payloads()
        print("not shown by the short form: other faults, later steps, a folder that shows late")
        with cluster.slurm(folder / "slurm", "database") as state:
            check = Check(state, folder / "runs", {})
            check.study(check.wrong_input(), whole, "--until", "roll_out", least=3)
        return
    whole = undisturbed(folder / "plain")
    plain = undisturbed(folder / "plain_faults", *UNTIL)
    late = [folder / "runs", LATE_S] if cluster.can_be_late() else []
    told = f"shows {LATE_S} s later" if late else "shows at once; not shown: a late folder (bindfs)"
    print(f"what one node has made, the folder of the runs {told}", flush=True)
    with cluster.slurm(folder / "slurm", "database", *late) as state:
        check = Check(state, folder / "runs", plain)
        right = check.wrong_input()
        check.memory()
        check.time()
        check.cancelled()
        check.waiting()
        check.killed()
        check.controller_away()
        embedded_default(folder / "runs")
        own_table(folder / "plain", folder / "runs")
        check.study(right, whole)
        check.plain = plain
        check.node_lost()
    without_accounts(folder, plain)


if __name__ == "__main__":
    main(ASKED.folder, ASKED.short)
