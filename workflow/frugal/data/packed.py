"""Packed files, gzip and tar, read without writing anything to disk; digests of their content.

A publisher's archive and a copy packed again differ in bytes, not in content: the digest of the
content accepts both. A megabyte can be packed so that a gigabyte comes out: unpacked bytes are
counted, and stops where no honest file gets. Knows nothing of records, columns or data sets.
"""

import bz2
import gzip
import hashlib
import io
import lzma
import os
import re
import tarfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from frugal.core.errors import DataError

ALWAYS_UNPACKED = 100_000_000  # bytes that any file may unpack to
MOST_TIMES = 100  # times its own size; tables of 0 and 1 reach some 30, gzip itself 1,030
MOST_UNPACKED = 2_000_000_000  # bytes that no file may unpack to: they are held in memory
_CHUNK_BYTES = 1 << 20
_PLAIN_NAME = re.compile(
    r"(?:\./)?(?:[A-Za-z0-9_-][A-Za-z0-9_.-]*/)*[A-Za-z0-9_-][A-Za-z0-9_.-]*/?"
)
_TAR_MARK = slice(257, 262)  # b"ustar" is there in the first header of a tar archive
_GZIP: dict[bytes, Any] = {b"\x1f\x8b": gzip.open}  # by the first two bytes
_OPENERS = {**_GZIP, b"BZ": bz2.open, b"\xfd7": lzma.open}
_BROKEN = (OSError, EOFError, zlib.error, lzma.LZMAError, tarfile.TarError, ValueError)


@contextmanager
def _sentences(path: Path | str, how: str = "") -> Iterator[None]:
    """Faults of a stream as sentences that name the file."""
    try:
        yield
    except DataError:
        raise
    except FileNotFoundError:
        raise DataError(f"there is no file {path}") from None
    except _BROKEN as error:
        reason = str(error).rstrip(".").replace("\n", "; ") or type(error).__name__
        raise DataError(f"{path} cannot be read{how}: {reason}") from None


def require_fits(path: Path | str, unpacked_bytes: int, size: int) -> None:
    """Refuse a file before it is read where its content takes more memory than an honest one's.

    Raises:
        DataError: it is more than a file of `size` bytes may unpack to.
    """
    limit = min(MOST_UNPACKED, max(ALWAYS_UNPACKED, MOST_TIMES * size))
    if unpacked_bytes > limit:
        raise DataError(
            f"{path} has {size:,} bytes and unpacks to {unpacked_bytes:,}; at most {limit:,} are "
            "read from it: if it is the right file, save it as plain CSV"
        )


class _Counted(io.RawIOBase):
    """An unpacked stream that refuses to be read or wound beyond a limit."""

    def __init__(self, name: Path | str, packed: Any, stream: Any, limit: int) -> None:
        super().__init__()
        self._name, self._packed, self._stream, self._limit = name, packed, stream, limit

    def read(self, size: int = -1, /) -> bytes:
        left = self._limit - self._stream.tell()
        content = self._stream.read(left + 1 if size < 0 else min(size, left + 1))
        if len(content) > left:
            raise DataError(
                f"{self._name} unpacks to more than {self._limit} bytes; if it is the right file, "
                "unpack it and put the plain file in its place"
            )
        return content

    def seek(self, offset: int, whence: int = os.SEEK_SET, /) -> int:
        if whence != os.SEEK_SET:
            raise io.UnsupportedOperation("only positions from the start are known")
        while self._stream.tell() < offset:  # forward by reading, so that it is counted
            if not self.read(min(_CHUNK_BYTES, offset - self._stream.tell())):
                return self._stream.tell()
        return self._stream.seek(offset)

    def tell(self) -> int:
        return self._stream.tell()

    def readinto(self, buffer: Any, /) -> int:
        content = self.read(len(buffer))
        buffer[: len(content)] = content
        return len(content)

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def close(self) -> None:
        self._stream.close()
        self._packed.close()  # which the stream leaves open
        super().close()


class _Named(io.RawIOBase):
    """A stream whose faults are sentences that name the file."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._path = path
        with _sentences(path):
            self._stream = _opened(path, None, _GZIP)

    def readinto(self, buffer: Any, /) -> int:
        with _sentences(self._path):
            return self._stream.readinto(buffer)

    def readable(self) -> bool:
        return True

    def close(self) -> None:
        if not self.closed:
            self._stream.close()
        super().close()


def unpacked_stream(path: Path) -> io.BufferedReader:
    """A stream of the content of a file, unpacked where it is gzipped, that is never held whole.

    Raises:
        DataError: it cannot be read, is damaged, or unpacks to more than a file may; also when it
            is read from.
    """
    return io.BufferedReader(_Named(path), buffer_size=_CHUNK_BYTES)


def unpacked_bytes(path: Path) -> bytes:
    """The content of a file, unpacked where its first two bytes are those of gzip.

    Raises:
        DataError: it cannot be read, is damaged, or unpacks to more than a file may.
    """
    with _sentences(path), _opened(path, None, _GZIP) as stream:
        if not isinstance(stream, _Counted):
            return stream.read()
        content = io.BytesIO()
        while chunk := stream.read(_CHUNK_BYTES):
            content.write(chunk)
        return content.getvalue()


def archive_members(
    path: Path | str, *, largest_bytes: int, content: bytes | None = None
) -> Iterator[tuple[str, bytes]]:
    """Name and content of each file in a tar archive, packed or not, in its order.

    Nothing is written, no link is followed: a member must be a regular file (or a folder, which
    is passed over) with a plain name.

    Args:
        path: the archive; with `content`, only its name in sentences.
        largest_bytes: size above which a member is refused.
        content: the bytes of the archive, where they are in memory already.

    Raises:
        DataError: the archive is damaged, unpacks to more than a file may, or a member is a link or
            a device, has an absolute name or one with `..` in it, occurs twice, or is too large.
    """
    with (
        _sentences(path, " as a tar archive"),
        _opened(path, content, _OPENERS) as unpacked,
        tarfile.open(fileobj=unpacked, mode="r:") as archive,
    ):
        names: set[str] = set()
        for member in archive:
            _require_plain(path, member, names, largest_bytes)
            names.add(member.name)
            stream = archive.extractfile(member) if member.isreg() else None
            if stream is not None:
                member_bytes = stream.read()
                if len(member_bytes) != member.size:
                    raise DataError(f"{path} ends inside its member {member.name!r}")
                yield member.name.removeprefix("./"), member_bytes
        _require_clean_end(path, archive)


def content_sha256_of(path: Path | str, *, largest_bytes: int, content: bytes | None = None) -> str:
    """SHA-256 of the content of a packed file, for any packing.

    Of an archive: of the names (without folders) and digests of its files, sorted. With `content`,
    the bytes of the file, nothing is read from disk.

    Raises:
        DataError: the file is damaged, unpacks to more than a file may, or an archive holds entries
            that `archive_members` refuses.
    """
    with _sentences(path), _opened(path, content, _GZIP) as stream:
        first = stream.read(_CHUNK_BYTES)
        if first[_TAR_MARK] != b"ustar":
            digest = hashlib.sha256(first)
            while chunk := stream.read(_CHUNK_BYTES):
                digest.update(chunk)
            return digest.hexdigest()
    members = archive_members(path, largest_bytes=largest_bytes, content=content)
    lines = [
        f"{Path(name).name}\n{hashlib.sha256(member_bytes).hexdigest()}\n"
        for name, member_bytes in members
    ]
    return hashlib.sha256("".join(sorted(lines)).encode()).hexdigest()


def _opened(path: Path | str, content: bytes | None, openers: dict[bytes, Any]) -> Any:
    """A stream of the unpacked content, counted where it is packed in one of these ways."""
    raw = io.BufferedReader(io.FileIO(path)) if content is None else io.BytesIO(content)
    size = raw.seek(0, os.SEEK_END)
    raw.seek(0)
    unpack = openers.get(raw.read(2))
    raw.seek(0)
    if unpack is None:
        return raw
    limit = min(MOST_UNPACKED, max(ALWAYS_UNPACKED, MOST_TIMES * size))
    return _Counted(path, raw, unpack(raw), limit)


def _require_plain(
    path: Path | str, member: tarfile.TarInfo, names: set[str], largest_bytes: int
) -> None:
    name = member.name
    if not (member.isreg() or member.isdir()):
        raise DataError(
            f"{path} holds {name!r}, which is a link or a device; only regular files are read"
        )
    if ".." in name.split("/") or _PLAIN_NAME.fullmatch(name) is None:
        raise DataError(
            f"{path} holds a member named {name!r}; allowed are relative names of letters, digits, "
            "dots, hyphens and underscores"
        )
    if name in names:
        raise DataError(f"{path} holds {name!r} twice")
    if member.size > largest_bytes:
        raise DataError(
            f"{path} holds {name!r} of {member.size} bytes; at most {largest_bytes} are allowed"
        )


def _require_clean_end(path: Path | str, archive: tarfile.TarFile) -> None:
    """Refuse an archive whose list of members breaks off at a damaged header."""
    stream: Any = archive.fileobj
    if stream is None:
        return
    stream.seek(archive.offset)
    while chunk := stream.read(_CHUNK_BYTES):
        if chunk.strip(b"\0"):
            raise DataError(f"{path} is damaged at byte {archive.offset} of its unpacked content")
