"""Links by which a step would write outside the folders that are its own.

`results`, `benchmarks` and `logs` may themselves be links, to a larger disk; what lies below may
not lead out of them: a folder of results can come from somebody else. Knows no stage.
"""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from frugal.core.errors import DataError

_OWN = ("results", "benchmarks", "logs")
_PAGE = Path(".snakemake/report.html")  # which Snakemake writes before it is put in place


def require_own_folders(files: Iterable[Path]) -> None:
    """Refuse files to be written whose folder is a link that leads out.

    Raises:
        DataError: names the link.
    """
    for file in files:
        parts = Path(os.path.relpath(file)).parts
        if parts[0] not in _OWN:
            continue
        folder = Path(parts[0])
        for part in parts[1:-1]:
            folder /= part
            if folder.is_symlink() and not _stays(folder):
                raise _leads_out(folder)


def require_no_way_out() -> None:
    """Refuse a working folder in which a link leads a step out.

    Raises:
        DataError: names the first such link.
    """
    for link in _ways_out():
        raise _leads_out(link)


def _ways_out() -> Iterator[Path]:
    if _PAGE.is_symlink():
        yield _PAGE
    for name in _OWN:
        for folder, folders, files in os.walk(name):
            # a link in the place of a result is replaced; logs and measurements are written through
            names = folders if name == "results" else [*folders, *files]
            for found in sorted(names):
                path = Path(folder, found)
                if path.is_symlink() and not _stays(path):
                    yield path


def _stays(link: Path) -> bool:
    root = Path(os.path.relpath(link)).parts[0]
    try:
        return link.resolve().is_relative_to(Path(root).resolve())
    except (OSError, RuntimeError):  # links in a circle
        return False


def _leads_out(link: Path) -> DataError:
    said = f"{link} is a link to {os.readlink(link)!r}, by which a step would write outside"
    return DataError(f"{said} {link.parts[0]}/; remove it, or put the folder in its place")
