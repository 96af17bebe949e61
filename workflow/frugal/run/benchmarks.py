"""Resources of every step: the measurements of all jobs as one table and a figure.

A measurement is not the same twice, so it lies under benchmarks/, never under results/. Knows the
files in which jobs record their resources; must not know stages, nor any engine.
"""

import json
import math
from collections.abc import Iterable, Mapping
from pathlib import Path

import pandas as pd

from frugal.core.arguments import command_parser, pair
from frugal.core.errors import DataError, say
from frugal.results.files import payload_bytes, write_bytes
from frugal.run.benchmark_figure import benchmark_figure

ENGINE = "engine"  # the stage under which the engine's own time is written
NUMBERS = ("cpu_s", "wall_s", "memory_mb")
ENDS = ("done", "failed")
COLUMNS = ["study", "stage", "job", *NUMBERS, "ended"]


def measurement_table(folder: Path, studies: Mapping[str, str]) -> pd.DataFrame:
    """One row per measured job: study, stage, wildcards, CPU and wall seconds, peak MB, its end.

    Args:
        folder: holds `<stage>/<key>=<value>/….jsonl`, a line a job, as `accounted` writes it.
        studies: stage → study; a stage that is not there counts as `shared`.

    Raises:
        DataError: a line is no measurement, or there is none.
    """
    rows = []
    for path in sorted(folder.rglob("*.jsonl")):
        stage = path.relative_to(folder).parts[0].removesuffix(".jsonl")
        job = path.relative_to(folder).with_suffix("").as_posix().partition("/")[2]
        for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
            rows.append([studies.get(stage, "shared"), stage, job, *_measured(path, line)])
    if not rows:
        raise DataError(f"{folder} holds no measurement (*.jsonl); run the workflow first")
    return pd.DataFrame(rows, columns=COLUMNS)


def _measured(path: Path, line: str) -> tuple[float, float, float, str]:
    """CPU seconds, wall seconds, MB, and how the job ended."""
    try:
        document = json.loads(line)
        cpu_s, wall_s, memory_mb = (float(document[key]) for key in NUMBERS)
        ended = document["ended"]
        if not all(0 <= number < math.inf for number in (cpu_s, wall_s, memory_mb)):
            raise ValueError("no amount")
        if ended not in ENDS:
            raise ValueError("no end")
    except (ValueError, TypeError, KeyError, RecursionError):
        raise DataError(f"{path} is no measurement: {line[:80]!r}") from None
    return cpu_s, wall_s, memory_mb, ended


def stage_totals(table: pd.DataFrame) -> pd.DataFrame:
    """Per study and stage: jobs, CPU seconds in sum and of the longest job, peak memory."""
    grouped = table.groupby(["study", "stage"], sort=False)
    totals = grouped.agg(
        jobs=("cpu_s", "size"),
        cpu_s=("cpu_s", "sum"),
        longest_s=("cpu_s", "max"),
        memory_mb=("memory_mb", "max"),
    )
    return totals.reset_index().sort_values("cpu_s", ascending=False, ignore_index=True)


def engine_share(table: pd.DataFrame) -> float:
    """CPU time of the engine itself as a share of all; NaN where it was not measured."""
    engine = table.loc[table["stage"] == ENGINE, "cpu_s"].sum()
    return float(engine / table["cpu_s"].sum()) if engine > 0 else float("nan")


def benchmark_command(words: list[str]) -> int:
    """`benchmark [FOLDER] [--study STAGE=STUDY]…`: table and figure of all jobs.

    Writes `summary.parquet`, `summary.csv` and `summary.png` into the folder.
    """
    parser = command_parser("benchmark", __doc__)
    parser.add_argument("folder", type=Path, nargs="?", default=Path("benchmarks"))
    parser.add_argument("--study", action="append", type=pair, default=[], metavar="STAGE=STUDY")
    parsed = parser.parse_args(words)
    studies = dict(parsed.study)
    table = measurement_table(parsed.folder, studies)
    totals = stage_totals(table)
    drawn = payload_bytes(Path("summary.png"), benchmark_figure(totals))
    write_bytes(parsed.folder / "summary.parquet", payload_bytes(Path("a.parquet"), table))
    write_bytes(parsed.folder / "summary.csv", totals.to_csv(index=False).encode())
    write_bytes(parsed.folder / "summary.png", drawn)
    say(*_lines(table, totals))
    return 0


def _lines(table: pd.DataFrame, totals: pd.DataFrame) -> Iterable[str]:
    yield f"{'study':<12}{'stage':<24}{'jobs':>6}{'CPU s':>10}{'longest s':>11}{'peak MB':>9}"
    for row in totals.itertuples():
        yield (
            f"{row.study:<12}{row.stage:<24}{row.jobs:>6}{row.cpu_s:>10.1f}"
            f"{row.longest_s:>11.1f}{row.memory_mb:>9.0f}"
        )
    yield f"all: {table['cpu_s'].sum():.0f} CPU seconds, peak {table['memory_mb'].max():.0f} MB"
    share = engine_share(table)
    if share == share:
        yield f"engine: {share:.1%} of the CPU time"
