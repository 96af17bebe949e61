"""Reading a CSV against pandas and against a loop over its rows, and preparing it, in one run.

    OMP_NUM_THREADS=1 python tests/benchmarks/reading.py [rows]

Goal: 10⁶ rows × 17 columns (112 MB) in at most 4 CPU seconds and .6 GB. Each line is a process of
its own, from its start to its end: CPU seconds and largest memory are those that the system counted
for it. `nothing` only imports. The loop over rows reads a tenth of the file.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

COLUMNS, SHARE = 16, 10
_COPY = (
    "with open(sys.argv[2], 'w') as out: out.writelines(itertools.islice(open(sys.argv[1]), {n}))"
)
_OURS = """
from pathlib import Path
from frugal.data.description import load_description
from frugal.data.prepare import read_raw
from frugal.data.parsing import numbers_of
described = load_description(Path(sys.argv[2]))
"""
_SIDES = {
    "nothing": "import frugal.data.prepare",
    "frugal, cells as text": _OURS + "read_raw(described, {'rows.csv': Path(sys.argv[1])})",
    "frugal, numbers": _OURS
    + """
raw = read_raw(described, {'rows.csv': Path(sys.argv[1])})
values = [numbers_of(raw, c.raw_name, ('',), 'columns') for c in described.columns]
""",
    "frugal, prepare_data to Parquet": None,
    "pandas, numbers": "import pandas; pandas.read_csv(sys.argv[1])",
    "pandas, cells as text": "import pandas; pandas.read_csv(sys.argv[1], dtype=str)",
}
_LOOP = """
sys.path.insert(0, sys.argv[2])
import numpy, pandas
from tests.oracles.slow_records import slow_records
names, rows, lines = slow_records(open(sys.argv[1]).read())
frame = pandas.DataFrame(dict(zip(names, zip(*rows))), dtype=object)
for name in names[:-1]: pandas.to_numeric(frame[name]).to_numpy(float)
"""
_WRITE = """
import numpy as np
rng = np.random.default_rng(0)
with open(sys.argv[1], 'w') as out:
    out.write(','.join([*(f'x{j}' for j in range(16)), 'ill']) + '\\n')
    for start in range(0, int(sys.argv[2]), 10_000):
        n = min(10_000, int(sys.argv[2]) - start)
        values = rng.normal(size=(n, 16)) * 10.0 ** np.arange(-2, 2).repeat(4)
        ill = rng.integers(0, 2, n)
        for row, answer in zip(values, ill):
            out.write(','.join(f'{v:.4f}' for v in row) + f',{answer}\\n')
"""


def measured(*command: str) -> tuple[float, float]:
    """CPU seconds and largest memory (GB) of a process, which must succeed."""
    process = subprocess.Popen([sys.executable, *command])
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{command[:2]} ended with {process.returncode}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024 / 1e9


def description(folder: Path) -> Path:
    """A YAML that tells of the file: numbers, each a panel of its own, and a label."""
    names = [f"x{j}" for j in range(COLUMNS)]
    columns = "".join(f"  - {{name: {n}, type: numeric, unit: '1'}}\n" for n in names)
    panels = "".join(f"  - {{name: p_{n}, columns: [{n}], cost: 1}}\n" for n in names)
    path = folder / "rows.yaml"
    path.write_text(
        "name: rows\ntitle: Rows\nnote: made up\ncost_unit: EUR\nsource:\n  kind: path\n"
        "  files: [{name: rows.csv}]\n  format: {kind: csv, separator: ',', header: true, "
        "comment: '#', strip: true, missing: ['', NA], encoding: utf-8}\n"
        f"columns:\n{columns}panels:\n{panels}cost_draw: null\n"
        "label: {column: ill, classes: [{name: 'no', values: ['0']}, {name: 'yes', values: "
        "['1']}]}\nsensitive: null\nmisclassification_cost: [[0, 10], [50, 0]]\ndrop_rows: []\n"
        "missing_values: own\nsplit: {scheme: fractions, seed: 0, parts: {train: 0.5, test: 0.5}}\n"
    )
    return path


def main() -> None:
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    root = Path(__file__).parents[2]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        csv, part, yaml = folder / "rows.csv", folder / "part.csv", description(folder)
        measured("-c", "import sys" + _WRITE, str(csv), str(rows))
        copy = _COPY.format(n=rows // SHARE + 1)
        measured("-c", f"import itertools, sys\n{copy}", str(csv), str(part))
        print(f"{rows} rows × {COLUMNS + 1} columns, {csv.stat().st_size / 1e6:.0f} MB", flush=True)
        for side, code in _SIDES.items():
            if code is None:
                os.chdir(folder)
                outputs = [f"--output={o}" for o in ("table=table.parquet", "catalogue=c.json")]
                inputs = [f"--input=description={yaml}", f"--input=raw_0={csv}"]
                cost = measured("-m", "frugal", "prepare_data", *inputs, *outputs, "--seed=1")
            else:
                cost = measured("-c", f"import sys\n{code}", str(csv), str(yaml))
            print(f"{side:32s} {cost[0]:6.2f} CPU s  {cost[1]:5.2f} GB", flush=True)
        seconds, memory = measured("-c", f"import sys\n{_LOOP}", str(part), str(root))
        print(f"{'rows one by one, a tenth':32s} {seconds:6.2f} CPU s  {memory:5.2f} GB")


if __name__ == "__main__":
    main()
