"""The golden table: estimates of the tiny study, rounded.

After a change that is meant to move numbers:
    python -m tests.workflow.expected FOLDER_OF_A_RUN > tests/workflow/expected_afape.csv
"""

import sys
from pathlib import Path

import pandas as pd

KEY = ["dataset", "mechanism", "agent", "estimator", "seed"]
NUMBERS = ["estimate", "ci_low", "ci_high", "truth", "n", "ess"]
EXPECTED = Path(__file__).parent / "expected_afape.csv"


def golden_table(folder: Path) -> pd.DataFrame:
    """The contract's columns and the status, sorted, to six digits."""
    summary = pd.read_parquet(folder / "results" / "summary" / "afape.parquet", partitioning=None)
    table = summary[[*KEY, *NUMBERS, "status"]].sort_values(KEY, ignore_index=True)
    return table.round(6)


if __name__ == "__main__":
    golden_table(Path(sys.argv[1])).to_csv(sys.stdout, index=False)
