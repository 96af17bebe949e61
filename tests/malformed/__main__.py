"""`python -m tests.malformed`: gives every malformed input to the project."""

import sys

from tests.malformed.workers import cpu_seconds, outcomes


def main() -> int:
    """Exit status 1 where an input ends otherwise than it should, each in a line."""
    happened = outcomes()
    wrong = [
        f"{found.kind}: {case.group}: {case.name}: {found.message}"
        for case, found in happened.items()
        if not case.is_as_it_should(found.kind, found.message)
    ]
    print("\n".join(wrong), file=sys.stderr)
    print(f"{len(happened)} inputs, {cpu_seconds():.0f} CPU seconds")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
