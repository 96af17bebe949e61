"""`frugal report FOLDER`: an answer that was kept, in words, and where its page lies."""

from collections.abc import Sequence
from pathlib import Path

from frugal.core.arguments import command_parser
from frugal.core.errors import say, through
from frugal.library.kept_answers import PAGE, KeptAnswer


@through("command")
def report_command(words: Sequence[str]) -> int:
    """Print the answer; returns the exit status.

    Raises:
        DataError: the folder holds no answer, or one that was edited.
    """
    parser = command_parser("report", "An answer that was kept in a folder, in words.")
    parser.add_argument("folder", type=Path, help="that a command, or save, left")
    folder = parser.parse_args(list(words)).folder
    say(*KeptAnswer(folder).summary().rstrip("\n").split("\n"))
    if (folder / PAGE).is_file():
        say(f"All on one page: {folder / PAGE}")
    return 0
