"""Tables that a stage makes block by block, and how they become files without being held whole.

Such a stage is a generator: it yields frames by which its tables grow, several tables together, and
returns its other payloads. Each frame is written at once, to a hidden file beside its target; what
one block gives are the bytes of the table written whole. Knows no stage.
"""

import contextlib
import hashlib
import os
from collections.abc import Generator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, BinaryIO

from frugal.core.errors import DataError
from frugal.core.replacing import Written, hidden_file

if TYPE_CHECKING:
    import pandas as pd

Growing = Generator[Mapping[str, "pd.DataFrame"], None, Mapping[str, Any]]
_NUMBERED_FROM = 1000  # hidden files of growing tables; those of whole payloads come before


@dataclass(frozen=True, eq=False)
class Grown:
    """A table that is written already.

    Attributes:
        head: the table without a row: its columns and their types.
        rows: how many it has.
        content: the hidden file.
    """

    head: "pd.DataFrame"
    rows: int
    content: Written

    def __len__(self) -> int:
        return self.rows


def together(made: Growing) -> dict[str, Any]:
    """All payloads of a stage that makes tables block by block, in memory."""
    import pandas as pd

    parts: dict[str, list[pd.DataFrame]] = {}
    while True:
        try:
            for name, frame in next(made).items():
                parts.setdefault(name, []).append(frame)
        except StopIteration as end:
            rest = end.value
            break
    frames = {
        name: found[0] if len(found) == 1 else pd.concat(found, ignore_index=True)
        for name, found in parts.items()
    }
    return {**frames, **rest}


class GrowingFiles:
    """Hidden files of the tables that grow while a stage runs; gone if it does not finish."""

    def __init__(self, outputs: Mapping[str, Path]) -> None:
        self._outputs = outputs
        self._open: dict[str, _GrowingFile] = {}

    def __enter__(self) -> "GrowingFiles":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for file in self._open.values():
            file.discard()

    def written(self, made: Growing) -> dict[str, Any]:
        """Write what a stage yields.

        Returns:
            Its payloads, those that have grown as `Grown`.

        Raises:
            DataError: the disk is full, or the folder cannot be written to.
        """
        while True:
            try:
                frames = next(made)
            except StopIteration as end:
                return {**{name: file.grown() for name, file in self._open.items()}, **end.value}
            for name, frame in frames.items():
                if name not in self._open and name in self._outputs:
                    number = _NUMBERED_FROM + len(self._open)
                    self._open[name] = _GrowingFile(self._outputs[name], number, frame)
                if name in self._open:
                    self._open[name].append(frame)


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
        with _said(target):
            target.parent.mkdir(parents=True, exist_ok=True)
            self._path.unlink(missing_ok=True)
            self._file = _Hashed(self._path.open("xb"))
            self._writer = pq.ParquetWriter(self._file, self._schema, compression="zstd")

    def append(self, frame: "pd.DataFrame") -> None:
        """Write the next rows."""
        import pyarrow as pa

        assert _same_kinds(self._head, frame), "bug: blocks of a table differ in their columns"
        table = pa.Table.from_pandas(frame, schema=self._schema, preserve_index=False)
        with _said(self._target):
            self._writer.write_table(table)
        self._rows += len(frame)

    def grown(self) -> Grown:
        """The table, of which nothing more is to come."""
        with _said(self._target):
            self._writer.close()
            self._file.finish()
        content = Written(self._path, self._file.digest.hexdigest(), self._file.size)
        return Grown(self._head, self._rows, content)

    def discard(self) -> None:
        """Remove what was not put in place."""
        with contextlib.suppress(Exception):
            self._writer.close()
        with contextlib.suppress(OSError):  # what is held back has no room either
            self._file.close()
        with contextlib.suppress(OSError):
            self._path.unlink(missing_ok=True)


def _same_kinds(first: "pd.DataFrame", other: "pd.DataFrame") -> bool:
    """The same columns of the same types, categories included."""
    return bool((first.columns == other.columns).all() and (first.dtypes == other.dtypes).all())


@contextlib.contextmanager
def _said(target: Path) -> Generator[None, None, None]:
    """An error of the file system as a sentence."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        raise DataError(
            f"{target} cannot be written: {reason}; nothing that was there before is lost"
        ) from None


class _Hashed:
    """A file that is written from its beginning to its end, and the digest of its bytes."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self.digest = hashlib.sha256()
        self.size = 0

    def write(self, content: Any) -> int:
        """Write, and take the digest."""
        self.digest.update(content)
        written = self._stream.write(content)
        self.size += written
        return written

    def tell(self) -> int:
        """Bytes so far."""
        return self.size

    def flush(self) -> None:
        """Hand on what is held back."""
        self._stream.flush()

    def finish(self) -> None:
        """Everything is on the disk."""
        self._stream.flush()
        os.fsync(self._stream.fileno())
        self._stream.close()

    @property
    def closed(self) -> bool:
        """Whether nothing more can be written."""
        return self._stream.closed

    def close(self) -> None:
        """End without being sure of the disk."""
        self._stream.close()
