"""`python -m frugal`: one stage, or the audit; a refusal is one sentence and a non-zero exit.

Apart from `frugal.cli`, so that an edit of the audit does not make every result out of date.
"""

import sys

from frugal.cli import limit_threads, run_command, run_job
from frugal.contracts.errors import FrugalError


def main(words: list[str]) -> int:
    """Entry of the command line; returns the exit status: 0 done, 2 refused."""
    limit_threads()
    try:
        if words[:1] == ["audit"]:
            from frugal.artifacts.audit import audit_command

            return audit_command(words[1:], run_job)
        run_command(words)
    except FrugalError as error:
        print(f"frugal {words[0]}: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
