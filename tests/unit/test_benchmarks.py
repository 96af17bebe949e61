"""The table of measurements: sums per stage, unit costs by data set, refusal of what is none.

And every benchmark still imports with the package as it is; made-up tables of the field's bars have
the law of their definitions.
"""

import json
from importlib import import_module
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from frugal.__main__ import main
from frugal.core.errors import DataError
from frugal.run.benchmarks import engine_share, measurement_table, stage_totals

from tests.studies.field import bars

STUDIES = {"roll_out": "afape", "label_units": "recourse", "engine": "engine"}
JOBS = {
    "roll_out/dataset=a/agent=never": [(1.0, 2.0, 100.0)],
    "roll_out/dataset=a/agent=always": [(3.0, 4.0, 300.0)],
    "roll_out/dataset=b/agent=never": [(5.0, 6.0, 200.0)],
    "label_units/dataset=s/variant=v/seed=0": [(7.0, 8.0, 50.0)],
    "engine": [(1.0, 1.0, 90.0), (1.0, 1.0, 90.0)],
}


BENCHMARKS = sorted(Path(__file__).parents[1].joinpath("benchmarks").glob("*.py"))
GOOD = '{"cpu_s": 1.5, "wall_s": 2, "memory_mb": 3, "ended": "done"}'


@pytest.fixture
def folder(tmp_path):
    for name, runs in JOBS.items():
        path = tmp_path / f"{name}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = [{"cpu_s": c, "wall_s": s, "memory_mb": m, "ended": "done"} for c, s, m in runs]
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return tmp_path


def test_every_measured_job_is_a_row(folder):
    table = measurement_table(folder, STUDIES)
    assert len(table) == 6
    assert table["cpu_s"].sum() == 18.0
    (row,) = table[table["stage"] == "label_units"].to_dict("records")
    assert row["study"] == "recourse"
    assert row["job"] == "dataset=s/variant=v/seed=0"
    assert (row["wall_s"], row["memory_mb"]) == (8.0, 50.0)


def test_a_stage_of_no_study_is_shared(folder):
    assert set(measurement_table(folder, {})["study"]) == {"shared"}


def test_totals_are_sums_and_maxima_dearest_first(folder):
    totals = stage_totals(measurement_table(folder, STUDIES)).set_index("stage")
    assert list(totals.index) == ["roll_out", "label_units", "engine"]
    assert list(totals.loc["roll_out"]) == ["afape", 3, 9.0, 5.0, 300.0]


def test_the_engines_share_is_of_all_cpu_time(folder):
    table = measurement_table(folder, STUDIES)
    assert engine_share(table) == pytest.approx(2 / 18)
    assert pd.isna(engine_share(table[table["stage"] != "engine"]))


def test_a_job_that_failed_counts_in_the_sums(folder):
    failed = {"cpu_s": 2.0, "wall_s": 45.0, "memory_mb": 843.0, "ended": "failed"}
    path = folder / "roll_out/dataset=a/agent=mine.jsonl"
    path.write_text(json.dumps(failed) + "\n")
    table = measurement_table(folder, {})
    assert table["cpu_s"].sum() == 20.0
    assert list(table["ended"]).count("failed") == 1


@pytest.mark.parametrize(
    "line", ["no json", "[]", '{"s": 1}', GOOD.replace("1.5", '"x"'), GOOD.replace("done", "well")]
)
def test_a_line_that_is_no_measurement_is_refused_with_its_file(folder, line):
    (folder / "roll_out/x.jsonl").write_text(line + "\n")
    with pytest.raises(DataError, match=r"x\.jsonl is no measurement"):
        measurement_table(folder, STUDIES)


def test_the_command_writes_table_and_figure_and_says_the_sums(folder, capsys):
    words = [w for s, study in STUDIES.items() for w in ("--study", f"{s}={study}")]
    assert main(["benchmark", str(folder), *words]) == 0
    said = capsys.readouterr().out
    assert "all: 18 CPU seconds, peak 300 MB" in said
    assert "engine: 11.1% of the CPU time" in said
    assert len(pd.read_parquet(folder / "summary.parquet")) == 6
    assert (folder / "summary.png").read_bytes().startswith(b"\x89PNG")
    assert main(["benchmark", str(folder), *words]) == 0, "its own files are no measurements"


@pytest.mark.parametrize("path", BENCHMARKS, ids=lambda p: p.stem)
def test_every_benchmark_follows_the_package(path):
    import_module(f"tests.benchmarks.{path.stem}")


@pytest.mark.parametrize("contexts", [0, 5])
def test_cubes_have_the_law_of_their_definitions(contexts):
    """Of each class and context every column is normal, with a mean and deviation of the table.

    Both are compared at 6 standard errors: of all seeds fewer than one in 1,000 fails.
    """
    rng, n = np.random.default_rng(0), 40_000
    values, label = bars.cube_nm(n, contexts, rng) if contexts else bars.cube(n, 10, rng)
    context = values[:, :contexts].argmax(axis=1) if contexts else np.zeros(n, dtype=int)
    assert values.shape[1] == (contexts * 11 if contexts else 20)
    corners = ["000", "100", "010", "110", "001", "101", "011", "111"]
    cells = np.zeros((max(contexts, 1), 8))
    for c, y in np.ndindex(cells.shape):
        mean, deviation = np.full(values.shape[1], 0.5), np.full(values.shape[1], 0.3)
        mean[:contexts], deviation[:contexts] = 0.0, 0.1
        if contexts:
            mean[c] = 1.0
        for place, side in enumerate(corners[y]):
            at = contexts + 10 * c + y + place
            mean[at], deviation[at] = float(side), 0.1
        score = (values[(context == c) & (label == y)] - mean) / deviation
        cells[c, y] = m = len(score)
        assert np.abs(score.mean(axis=0)).max() < 6 / m**0.5
        assert np.abs((score**2).mean(axis=0) - 1).max() < 6 * (2 / m) ** 0.5
    expected = n / cells.size
    assert np.abs(cells - expected).max() < 6 * expected**0.5
