"""Costs of all stages: writes config/costs.yaml from runs, and compares runs with the plan.

Run: python -m tests.benchmarks.costs write FOLDER…   (each holds benchmarks/, as a run leaves it)
     python -m tests.benchmarks.costs compare FOLDER…
Lines of stages and data sets that are in none of the runs stay as they are. What a new stage grows
by is put into `by` by hand; until then it is its rows.
"""

import json
import sys
from collections import defaultdict
from pathlib import Path

import yaml
from frugal.results.files import hive_keys, read_payload
from frugal.run.benchmarks import ENGINE, measurement_table
from frugal.run.plans import AMOUNTS, KIND, amount, load_costs, sized

COSTS = Path(__file__).parents[2] / "config" / "costs.yaml"


def measured_jobs(run):
    """The jobs of a run that ended well, with the sizes that its config told, and what they took.

    Raises:
        DataError: there is no measurement, or no file of sizes.
    """
    folder = run / "benchmarks"
    sizings, table = read_payload(folder / "sizes.json"), measurement_table(folder, {})
    for row in table[(table["stage"] != ENGINE) & (table["ended"] == "done")].to_dict("records"):
        job = sized(row["stage"], hive_keys(Path(row["job"], "file")), sizings)
        yield job, {name: float(row[name]) for name in AMOUNTS}


def table_of(measured, stages):
    """Stage → what it grows by, and a line for each size: mean of CPU seconds, largest memory."""
    alike = defaultdict(list)
    for job, amounts in measured:
        by = stages.get(job.stage, {"by": ["rows"] if "rows" in job.sizes else []})["by"]
        sizes = {KIND: job.kind, **{name: int(size) for name, size in job.sizes.items()}}
        place = (job.keys.get("dataset"), *(sizes.get(name) for name in by))
        if None not in place[1:]:
            alike[job.stage, tuple(by), place].append(amounts)
    lines = defaultdict(list)
    for (stage, _, place), amounts in alike.items():
        cpu_s = sum(each["cpu_s"] for each in amounts) / len(amounts)
        lines[stage].append([*place, round(cpu_s, 2), max(each["memory_mb"] for each in amounts)])
    anew = dict(stages)
    for stage, by, _ in alike:
        entry = stages.get(stage, {"by": [*by], "jobs": []})
        datasets = {line[0] for line in lines[stage]}
        others = [line for line in entry["jobs"] if line[0] not in datasets]
        anew[stage] = {**entry, "jobs": sorted(others + lines[stage], key=str)}
    return dict(sorted(anew.items()))


def write(runs):
    """Write config/costs.yaml anew; its remarks and other keys stay."""
    head, stages = COSTS.read_text().split("\nstages:\n")
    known = yaml.safe_load(stages)
    lines = [head, "stages:"]
    for stage, entry in table_of(
        [job for run in runs for job in measured_jobs(run)], known
    ).items():
        lines.append(f"  {stage}:")
        lines += [
            f"    {key}: {json.dumps(value)}" for key, value in entry.items() if key != "jobs"
        ]
        lines += ["    jobs:", *(f"    - {json.dumps(job)}" for job in entry["jobs"])]
    COSTS.write_text("\n".join(lines) + "\n")
    load_costs(COSTS)


def compare(runs):
    """Per stage: CPU seconds of all jobs and peak MB, measured and planned, and the factor."""
    costs = load_costs(COSTS)
    totals = defaultdict(lambda: [0, 0.0, 0.0, 0.0, 0.0])
    for job, amounts in (each for run in runs for each in measured_jobs(run)):
        cpu_s, memory_mb = (amount(job, name, costs) for name in AMOUNTS)
        jobs, cpu, plan, peak, stated = totals[job.stage]
        totals[job.stage] = [
            jobs + 1,
            cpu + amounts["cpu_s"],
            plan + cpu_s,
            max(peak, amounts["memory_mb"]),
            max(stated, memory_mb),
        ]
    names = ("jobs", "CPU s", "planned", "factor", "MB", "planned", "factor")
    print(f"{'stage':<24}" + "".join(f"{name:>9}" for name in names))
    for stage, (jobs, cpu, plan, peak, stated) in sorted(totals.items()):
        print(
            f"{stage:<24}{jobs:>9}{cpu:>9.1f}{plan:>9.1f}{plan / cpu:>9.2f}"
            f"{peak:>9.0f}{stated:>9.0f}{stated / peak:>9.2f}"
        )
    off = [s for s, (_, cpu, plan, *_) in totals.items() if not cpu / 2 <= plan <= cpu * 2]
    print(f"beyond a factor of 2: {', '.join(sorted(off)) or 'none'} of {len(totals)} stages")


if __name__ == "__main__":
    commands = {"write": write, "compare": compare}
    if len(sys.argv) < 3 or sys.argv[1] not in commands:
        sys.exit(__doc__)
    commands[sys.argv[1]]([Path(folder) for folder in sys.argv[2:]])
