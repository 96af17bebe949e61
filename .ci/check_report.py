#!/usr/bin/env python3
"""Opens results/report.html in a headless Chromium, as wide as a desk's screen and as a phone's.

No error and no warning, no request to anywhere, nothing wider than the window; tables sort and
filter, legends filter, the budget names a policy, the stepper walks to the end, two clicks lead to
a file's digest; every number that is looked at is the Parquet's. Screenshots are put into FOLDER.
Without --short: the embedded default, and its page is at most 6 MB.
With --short: the tiny study of the tests.
Usage: .ci/check_report.py [--short] FOLDER      (an empty folder; the default takes twenty minutes
on two cores, short two)
"""

import subprocess
from pathlib import Path

import environment
from environment import BIN, ROOT, require

if __name__ == "__main__":
    OPTIONS = environment.begin(__doc__)
from tests.workflow.report_browser import browser_program
from tests.workflow.report_walk import walk
from tests.workflow.shared import finished, folder_of_runs

LARGEST_MB = 6.0  # of the page of the embedded default


def make_report(folder: Path) -> Path:
    """The report of the embedded default in a folder."""
    folder.mkdir(parents=True)
    command = [BIN / "snakemake", "--cores", "2", "--directory", folder, "report"]
    with (folder / "output.txt").open("w") as stream:
        done = subprocess.run(
            command, cwd=ROOT, env=environment.variables(), stdout=stream, stderr=stream
        )
    require(done.returncode == 0, "the report is made", (folder / "output.txt").read_text())
    return folder


def main() -> None:
    """Make the report, then visit it."""
    program = browser_program()
    if program is None:
        environment.cannot_run(
            "there is no headless Chromium; on Debian: apt-get install -y chromium"
        )
    if OPTIONS.short:
        run = finished("tiny", folder_of_runs(OPTIONS.folder)).folder
    else:
        run = make_report(OPTIONS.folder / "run")
    page = run / "results" / "report.html"
    size = page.stat().st_size / 1e6
    require(size <= LARGEST_MB, f"the page has {size:.1f} MB, at most {LARGEST_MB:g}")
    walk(str(program), run, OPTIONS.folder / "shots", require)


if __name__ == "__main__":
    main()
