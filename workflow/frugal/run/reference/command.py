"""`python -m frugal reference`: the derived pages, printed or written.

python -m frugal reference PAGE              # prints one
python -m frugal reference --into FOLDER     # writes all
"""

from collections.abc import Callable
from pathlib import Path

from frugal.core.errors import ConfigError
from frugal.core.schema_check import did_you_mean
from frugal.results.sidecars import write_apart
from frugal.run.arguments import command_parser
from frugal.run.reference.columns import columns_page
from frugal.run.reference.commands import commands_page
from frugal.run.reference.config_keys import config_page
from frugal.run.reference.data_sets import data_sets_page
from frugal.run.reference.declared import agents_page, figures_page, methods_page
from frugal.run.reference.library import library_page

PAGES: dict[str, Callable[[], str]] = {
    "config": config_page,
    "commands": commands_page,
    "columns": columns_page,
    "methods": methods_page,
    "agents": agents_page,
    "figures": figures_page,
    "data_sets": data_sets_page,
    "library": library_page,
}


def reference_command(words: list[str]) -> int:
    """Print one page, or write all; returns the exit status.

    Raises:
        ConfigError: there is no such page, or neither a page nor a folder is given.
    """
    parser = command_parser("reference", "Pages made from the declarations.")
    parser.add_argument("page", nargs="?", metavar="PAGE", help=", ".join(PAGES))
    parser.add_argument("--into", type=Path, metavar="FOLDER", help="write all pages there")
    given = parser.parse_args(words)
    if (given.page is None) == (given.into is None):
        raise ConfigError(f"allowed is one page of {', '.join(PAGES)}, or --into FOLDER for all")
    if given.page is not None:
        if given.page not in PAGES:
            hint = did_you_mean(given.page[:100], PAGES)
            raise ConfigError(
                f"there is no page {given.page[:50]!r}{hint}; allowed are {', '.join(PAGES)}"
            )
        print(PAGES[given.page](), end="")
        return 0
    if not given.into.is_dir():
        raise ConfigError(f"--into {given.into} is no folder")
    for name, page in PAGES.items():
        write_apart(given.into / f"{name}.md", page().encode())
    return 0
