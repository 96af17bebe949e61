"""The project's size has a budget: a change that needs more raises a number here and says why."""

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BUDGET = {  # what git has under a path → most files, most lines
    "workflow/frugal/**.py": (411, 98_250),  # the third edition's goal: 360 and 68,000
    "workflow/rules/*.smk": (26, 2_270),  # 1,500
    "tests/**.py": (444, 70_550),  # 48,000
    "config.yaml": (1, 200),
}


@pytest.mark.parametrize("what", BUDGET)
def test_files_and_lines_are_within_the_budget(what):
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--", what], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split("\0")
    paths = [ROOT / name for name in listed if name and (ROOT / name).is_file()]
    if not paths:
        pytest.skip("not a git checkout")
    files, lines = BUDGET[what]
    assert len(paths) <= files
    assert sum(len(path.read_bytes().splitlines()) for path in paths) <= lines


def test_the_formatter_lays_out_every_statement():
    """No statement is excluded from it by a comment."""
    marker = "# fmt" + ":"
    files = [path for room in ("workflow", "tests") for path in (ROOT / room).rglob("*.py")]
    assert [str(path) for path in files if marker in path.read_text(encoding="utf-8")] == []
