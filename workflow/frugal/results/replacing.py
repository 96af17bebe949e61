"""Replaces several files as one: if the process dies, all of them are old or all are new.

Each file is first written whole, under a hidden name next to its target. Then a journal, hidden
too, names all the moves: from here on the change counts as made, and whoever comes next finishes
it. A process that dies before the journal leaves the old files, one that dies after it the new
ones. A link is never followed, and nothing but a regular file is ever replaced. Knows files only;
must not know their content. `python -m frugal.results.replacing FILE … FOLDER` copies files so.
"""

import contextlib
import hashlib
import json
import os
import re
import socket
import stat
import sys
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from frugal.core.errors import DataError

if TYPE_CHECKING:
    import pandas as pd


_OUTPUT_FOLDERS = ("results", "benchmarks", "logs")
_PAGE = Path(".snakemake/report.html")  # which Snakemake writes before it is put in place


def require_own_folders(files: Iterable[Path]) -> None:
    """Refuse files to be written whose folder is a link that leads out.

    Raises:
        DataError: names the link.
    """
    for file in files:
        parts = Path(os.path.relpath(file)).parts
        if parts[0] not in _OUTPUT_FOLDERS:
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
    for name in _OUTPUT_FOLDERS:
        for folder, folders, files in os.walk(name):
            # a link in the place of a result is replaced; logs and measurements are written through
            names = folders if name == "results" else [*folders, *files]
            for entry in sorted(names):
                path = Path(folder, entry)
                if path.is_symlink() and not _stays(path):
                    yield path


def _stays(link: Path) -> bool:
    root = Path(os.path.relpath(link)).parts[0]
    try:
        return link.resolve().is_relative_to(Path(root).resolve())
    except (OSError, RuntimeError):  # links in a circle
        return False


def _leads_out(link: Path) -> DataError:
    sentence = f"{link} is a link to {os.readlink(link)!r}, by which a step would write outside"
    return DataError(f"{sentence} {link.parts[0]}/; remove it, or put the folder in its place")


_PART, _JOURNAL = ".part", ".commit"
_HIDDEN = re.compile(r"\.(?P<name>.+)\.(?P<host>[^/]*)\.(?P<pid>\d+)\.\d+(?:\.part|\.commit)", re.S)
_NAME_BYTES = 100  # of a target's name that its hidden one repeats; a name has at most 255
Moves = list[tuple[Path, Path]]


@dataclass(frozen=True, eq=False)
class Written:
    """A table already written, complete, under a hidden name next to its target.

    Attributes:
        path: of `hidden_file`.
        sha256: of its bytes.
        size: in bytes.
        head: the table without a row: its columns and their types.
        rows: how many it has.
    """

    path: Path
    sha256: str
    size: int
    head: "pd.DataFrame"
    rows: int

    def __len__(self) -> int:
        return self.rows


def replace_files(contents: Mapping[Path, bytes | Written]) -> None:
    """Put all files in place, or none.

    Args:
        contents: target → its bytes, or the hidden file that is to take its place.

    Raises:
        DataError: the disk is full, a folder cannot be written to, or a link, a folder, a pipe or
            a device has a target's name; all targets are as before. Or another process took away
            files about to be put in place.
    """
    # what a writer that has died meanwhile left to be done must not be done after this
    finish_interrupted(path.parent for path in contents)
    moves: Moves = []
    journal = None
    try:
        for number, (path, content) in enumerate(contents.items()):
            apart = isinstance(content, Written)
            temporary = content.path if apart else hidden_file(path, number)
            moves.append((temporary, path))
            path.parent.mkdir(parents=True, exist_ok=True)
            _require_replaceable(path)
            if not apart:
                _write_through(temporary, content)
        if len(moves) > 1:
            journal = _hidden(moves[0][1], len(moves), _JOURNAL)
            _write_journal(journal, moves)
    except OSError as error:
        for leftover in [temporary for temporary, _ in moves] + ([journal] if journal else []):
            with contextlib.suppress(OSError):
                leftover.unlink(missing_ok=True)
        reason = f"{moves[-1][1]} cannot be written: {error.strerror}"
        raise DataError(f"{reason}; nothing that was there before is lost") from None
    for target in _make_moves(moves, journal):
        if not _holds(target, contents[target]):
            raise DataError(
                f"{target} was not replaced, as another process has taken away the hidden file "
                "that was to take its place; run the step again"
            )


def finish_interrupted(folders: Iterable[Path]) -> list[Path]:
    """Make the moves that a process which died had still to make in these folders.

    Returns:
        The files that were put in place.

    Raises:
        DataError: a move cannot be made, or a journal is none that this project writes.
    """
    placed = []
    for folder in dict.fromkeys(folders):
        for journal in sorted(folder.glob(f".*{_JOURNAL}")):
            moves = _read_journal(journal)
            placed += [target for temporary, target in moves if temporary.exists()]
            _make_moves(moves, journal)
    return placed


def is_leftover(path: Path) -> bool:
    """True for a hidden file of a writer that has not finished, or has died."""
    return _HIDDEN.fullmatch(path.name) is not None


def remove_leftovers(paths: Iterable[Path]) -> None:
    """Remove hidden files of writers on this machine that have died; others may be at work."""
    for path in paths:
        match = _HIDDEN.fullmatch(path.name)
        if match and match["host"] == _host() and not _is_alive(int(match["pid"])):
            with contextlib.suppress(OSError):
                path.unlink(missing_ok=True)


def hidden_file(target: Path, number: int) -> Path:
    """Where the n-th file of a change is written before it is put in place."""
    return _hidden(target, number, _PART)


def _hidden(target: Path, number: int, suffix: str) -> Path:
    name = target.name.encode()[:_NAME_BYTES].decode(errors="ignore")
    return target.with_name(f".{name}.{_host()}.{os.getpid()}.{number}{suffix}")


def _host() -> str:
    return re.sub(r"[^A-Za-z0-9-]", "-", socket.gethostname())[:60]


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:  # it is there, and another user's
        return True
    return True


def _require_replaceable(path: Path) -> None:
    """Refuse an existing path that is no regular file; a link counts as itself."""
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return
    if not stat.S_ISREG(mode):
        kinds = {stat.S_IFLNK: "link", stat.S_IFDIR: "folder", stat.S_IFIFO: "pipe"}
        kind = kinds.get(stat.S_IFMT(mode), "device")
        raise FileExistsError(0, f"there is a {kind} of that name, and only a file is replaced")


def _holds(path: Path, content: bytes | Written) -> bool:
    """Whether a file is the one to be put in place."""
    if not path.is_file():
        return False
    if isinstance(content, Written):
        with path.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest() == content.sha256
    return path.read_bytes() == content


def _write_through(path: Path, content: bytes) -> None:
    path.unlink(missing_ok=True)  # of a dead process of the same number, or a link
    with path.open("xb") as stream:
        stream.write(content)
        stream.flush()
        os.fsync(stream.fileno())


def _write_journal(journal: Path, moves: Moves) -> None:
    """The moves, with paths from the journal's folder on; there at once, or not at all."""
    pairs = [[os.path.relpath(path, journal.parent) for path in move] for move in moves]
    unfinished = journal.with_name(f"{journal.name[: -len(_JOURNAL)]}{_PART}")
    try:
        _write_through(unfinished, json.dumps(pairs).encode())
        os.replace(unfinished, journal)
    except OSError:
        unfinished.unlink(missing_ok=True)
        raise


def _read_journal(journal: Path) -> Moves:
    """The moves of a journal; a hidden file goes to a visible one of its own folder, no farther."""
    try:
        if journal.exists() and not journal.is_file():  # reading a pipe would never end
            raise ValueError("no file")
        pairs = json.loads(journal.read_bytes())
        moves = [(journal.parent / a, journal.parent / b) for a, b in pairs]
        if any(b"\0" in os.fsencode(path) for move in moves for path in move):
            raise ValueError("no name")
    except FileNotFoundError:  # its writer has just finished
        return []
    except (ValueError, TypeError, RecursionError):
        raise DataError(f"{journal} is no journal of this project; remove it") from None
    for temporary, target in moves:
        if not is_leftover(temporary) or temporary.parent != target.parent or is_leftover(target):
            raise DataError(f"{journal} names {str(temporary)!r} and {str(target)!r}; remove it")
        if not _is_near(journal, target):
            raise DataError(f"{journal} names {str(target)!r}, which is elsewhere; remove it")
    return moves


def _is_near(journal: Path, target: Path) -> bool:
    """True where both lie in the working folder, or neither: by hand a step may write elsewhere."""
    working_folder = Path.cwd()
    inside = [
        Path(os.path.abspath(path)).is_relative_to(working_folder) for path in (journal, target)
    ]
    return inside[0] == inside[1]


def _make_moves(moves: Moves, journal: Path | None) -> list[Path]:
    """Every move that is still to be made; another process may make the same ones meanwhile.

    Returns:
        Targets whose hidden files were gone already.
    """
    vanished = []
    for temporary, target in moves:
        try:
            os.replace(temporary, target)
        except FileNotFoundError:
            vanished.append(target)
        except OSError as error:
            later = "the next start finishes the replacement" if journal else "it is as before"
            raise DataError(f"{target} cannot be written: {error.strerror}; {later}") from None
    if journal is not None:
        journal.unlink(missing_ok=True)
    return vanished


Growing = Generator[Mapping[str, "pd.DataFrame"], None, Mapping[str, Any]]
_NUMBERED_FROM = 1000  # hidden files of growing tables; those of whole payloads come before


def _run_out(produced: Growing, append: Callable[[str, "pd.DataFrame"], None]) -> Mapping[str, Any]:
    """Hand on every block of a stage with the name of its table; returns the other payloads."""
    while True:
        try:
            frames = next(produced)
        except StopIteration as end:
            return end.value
        for name, frame in frames.items():
            append(name, frame)


def collected(produced: Growing) -> dict[str, Any]:
    """All payloads of a stage that makes tables block by block, in memory."""
    import pandas as pd

    parts: dict[str, list[pd.DataFrame]] = {}
    rest = _run_out(produced, lambda name, frame: parts.setdefault(name, []).append(frame))
    frames = {
        name: blocks[0] if len(blocks) == 1 else pd.concat(blocks, ignore_index=True)
        for name, blocks in parts.items()
    }
    return {**frames, **rest}


@contextlib.contextmanager
def growing_files(
    outputs: Mapping[str, Path],
) -> Generator[Callable[[Growing], dict[str, Any]], None, None]:
    """Hidden files of the tables that grow while a stage runs; gone if it does not finish.

    Yields:
        A function that writes the outputs of a stage and returns its payloads, those that have
        grown as `Written`. It raises a DataError where the disk is full, or a folder cannot be
        written to.
    """
    files: dict[str, _GrowingFile] = {}

    def append(name: str, frame: "pd.DataFrame") -> None:
        if name not in files and name in outputs:
            files[name] = _GrowingFile(outputs[name], _NUMBERED_FROM + len(files), frame)
        if name in files:
            files[name].append(frame)

    def write(produced: Growing) -> dict[str, Any]:
        rest = _run_out(produced, append)
        return {**{name: file.written() for name, file in files.items()}, **rest}

    try:
        yield write
    finally:
        for file in files.values():
            file.discard()


class _GrowingFile:
    """One table, written as Parquet block by block."""

    def __init__(self, target: Path, number: int, first: "pd.DataFrame") -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        if target.suffix != ".parquet":
            raise DataError(
                f"{target} cannot hold a table that grows; let its name end in .parquet"
            )
        self._target, self._rows = target, 0
        self._head = first.iloc[:0]
        self._path = hidden_file(target, number)
        self._schema = pa.Table.from_pandas(first, preserve_index=False).schema
        with _stated(target):
            target.parent.mkdir(parents=True, exist_ok=True)
            self._path.unlink(missing_ok=True)
            self._file = self._path.open("xb")
            self._writer = pq.ParquetWriter(self._file, self._schema, compression="zstd")

    def append(self, frame: "pd.DataFrame") -> None:
        """Write the next rows."""
        import pyarrow as pa

        columns = [*frame.dtypes.items()]  # of categories all of them
        assert [*self._head.dtypes.items()] == columns, "bug: blocks of a table differ in columns"
        table = pa.Table.from_pandas(frame, schema=self._schema, preserve_index=False)
        with _stated(self._target):
            self._writer.write_table(table)
        self._rows += len(frame)

    def written(self) -> Written:
        """The table, of which nothing more is to come."""
        with _stated(self._target):
            self._writer.close()
            self._file.flush()
            os.fsync(self._file.fileno())
            self._file.close()
            with self._path.open("rb") as stream:
                digest = hashlib.file_digest(stream, "sha256").hexdigest()
        return Written(self._path, digest, self._path.stat().st_size, self._head, self._rows)

    def discard(self) -> None:
        """Remove files that were not put in place."""
        with contextlib.suppress(Exception):
            self._writer.close()
        with contextlib.suppress(OSError):  # what is held back has no room either
            self._file.close()
        with contextlib.suppress(OSError):
            self._path.unlink(missing_ok=True)


@contextlib.contextmanager
def _stated(target: Path) -> Generator[None, None, None]:
    """An error of the file system as a sentence."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        raise DataError(
            f"{target} cannot be written: {reason}; nothing that was there before is lost"
        ) from None


if __name__ == "__main__":
    *_sources, _folder = map(Path, sys.argv[1:])
    try:
        replace_files({_folder / path.name: path.read_bytes() for path in _sources})
    except (DataError, OSError) as refusal:
        sys.exit(f"frugal replacing: {refusal}")
