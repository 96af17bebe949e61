"""Columns of numbers that a stage sets aside: in a file without a name, block by block.

What a stage comes back to takes no memory meanwhile, and the file is gone with the process,
whatever ends it. Knows no meaning of a column.
"""

import tempfile
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any

import numpy as np
from jaxtyping import Shaped

from frugal.core.errors import DataError


@dataclass(frozen=True)
class _Place:
    """Where a block of a column stands."""

    start: int
    shape: tuple[int, ...]
    dtype: np.dtype


class Scratch:
    """Columns by any key; each grows by one block at a time."""

    def __init__(self) -> None:
        self._file: Any = tempfile.TemporaryFile()  # noqa: SIM115  # closed with its owner
        self._end = 0
        self._at: dict[Hashable, list[_Place]] = {}

    def __enter__(self) -> "Scratch":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._file.close()

    def __contains__(self, key: Hashable) -> bool:
        return key in self._at

    def blocks(self, key: Hashable) -> int:
        """How many blocks of a column there are."""
        return len(self._at.get(key, ()))

    def put(self, key: Hashable, values: Shaped[np.ndarray, "n *o"]) -> None:
        """The next block of a column.

        Raises:
            DataError: the folder of temporary files is full.
        """
        content = np.ascontiguousarray(values)
        try:
            self._file.seek(self._end)
            self._file.write(content.data)
            self._file.flush()
        except OSError as error:
            raise DataError(
                f"a temporary file in {tempfile.gettempdir()} cannot be written: "
                f"{error.strerror or error}; let the variable TMPDIR name a folder with room"
            ) from None
        self._at.setdefault(key, []).append(_Place(self._end, content.shape, content.dtype))
        self._end += content.nbytes

    def block(self, key: Hashable, number: int) -> Shaped[np.ndarray, "n *o"]:
        """One block of a column."""
        place = self._at[key][number]
        found: Any = np.empty(place.shape, dtype=place.dtype)
        self._file.seek(place.start)
        read = self._file.readinto(memoryview(found).cast("B")) if found.size else 0
        assert read == found.nbytes, "bug: a scratch file was cut off"
        return found

    def column(self, key: Hashable) -> Shaped[np.ndarray, "n *o"]:
        """All blocks of a column."""
        parts = [self.block(key, k) for k in range(len(self._at[key]))]
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def stack(self, keys: Sequence[Hashable], number: int | None = None) -> np.ndarray:
        """Columns of the same rows, or one block of each. (k, n)"""
        if number is None:
            return np.stack([self.column(key) for key in keys])
        return np.stack([self.block(key, number) for key in keys])

    def forget(self, key: Hashable) -> None:
        """Let a column go; its place in the file is not used again."""
        del self._at[key]
