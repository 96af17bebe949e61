"""`python -m tests.numbers RESULTS`: do pages say what a finished default run has?

Learned numbers differ in their digits between types of processors; with --exactly every digit
counts. --write puts the run's numbers onto the pages.
"""

import argparse
import sys
from pathlib import Path

from tests.numbers.blocks import Run
from tests.numbers.pages import difference, stands, written


def main() -> int:
    """Compare, or write; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.numbers", description=__doc__)
    parser.add_argument("results", type=Path, metavar="RESULTS")
    parser.add_argument("--exactly", action="store_true", help="to the digit")
    parser.add_argument("--write", action="store_true", help="onto the pages")
    given = parser.parse_args()
    run = Run(given.results)
    if reason := run.unfinished():
        print(reason, file=sys.stderr)
        return 2
    if given.write:
        print(*(f"written: {page}" for page in written(run)), sep="\n")
        return 0
    found = list(stands())
    apart = [text for s in found if (text := difference(s, run, exactly=given.exactly))]
    print(*apart, f"{len(found)} blocks, {len(apart)} that the run does not bear out", sep="\n")
    return 1 if apart else 0


if __name__ == "__main__":
    sys.exit(main())
