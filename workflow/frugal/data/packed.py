"""Packed files, gzip and tar, read without writing anything to disk; digests of what they hold.

A publisher's archive and a copy packed again differ in bytes, not in content: the digest of the
content accepts both. Knows nothing of records, columns or data sets.
"""

import gzip
import hashlib
import re
import tarfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from frugal.contracts.errors import DataError

_PLAIN_NAME = re.compile(
    r"(?:\./)?(?:[A-Za-z0-9_-][A-Za-z0-9_.-]*/)*[A-Za-z0-9_-][A-Za-z0-9_.-]*/?"
)
_TAR_MARK = slice(257, 262)  # b"ustar" stands there in the first header of a tar archive
_BROKEN = (OSError, EOFError, zlib.error, tarfile.TarError, ValueError)


def unpacked_bytes(path: Path) -> bytes:
    """The content of a file, unpacked where its first two bytes say that it is gzipped.

    Raises:
        DataError: it cannot be read, or is damaged.
    """
    try:
        content = path.read_bytes()
        return gzip.decompress(content) if content[:2] == b"\x1f\x8b" else content
    except _BROKEN as error:
        raise DataError(f"{path} cannot be read: {_reason(error)}") from None


def archive_members(path: Path, *, largest_bytes: int) -> Iterator[tuple[str, bytes]]:
    """Name and content of each file in a tar archive, gzipped or not, in its order.

    Nothing is written, no link is followed: a member must be a regular file (or a folder, which
    is passed over) with a plain name.

    Args:
        path: the archive.
        largest_bytes: size above which a member is refused.

    Raises:
        DataError: the archive is damaged, or a member is a link or a device, has an absolute name
            or one with `..` in it, occurs twice, or is too large.
    """
    try:
        with tarfile.open(path, mode="r:*") as archive:
            seen: set[str] = set()
            for member in archive:
                _require_plain(path, member, seen, largest_bytes)
                seen.add(member.name)
                stream = archive.extractfile(member) if member.isreg() else None
                if stream is not None:
                    content = stream.read()
                    if len(content) != member.size:
                        raise DataError(f"{path} ends inside its member {member.name!r}")
                    yield member.name.removeprefix("./"), content
            _require_clean_end(path, archive)
    except DataError:
        raise
    except _BROKEN as error:
        raise DataError(f"{path} cannot be read as a tar archive: {_reason(error)}") from None


def content_sha256_of(path: Path, *, largest_bytes: int) -> str:
    """SHA-256 of what a packed file holds, whatever the packing.

    Of an archive: of the names (without folders) and digests of its files, sorted.

    Raises:
        DataError: the file is damaged, or an archive holds what `archive_members` refuses.
    """
    if not _is_archive(path):
        return hashlib.sha256(unpacked_bytes(path)).hexdigest()
    lines = [
        f"{Path(name).name}\n{hashlib.sha256(content).hexdigest()}\n"
        for name, content in archive_members(path, largest_bytes=largest_bytes)
    ]
    return hashlib.sha256("".join(sorted(lines)).encode()).hexdigest()


def _is_archive(path: Path) -> bool:
    try:
        with path.open("rb") as stream:
            packed = stream.read(2) == b"\x1f\x8b"
        with gzip.open(path) if packed else path.open("rb") as stream:
            return stream.read(512)[_TAR_MARK] == b"ustar"
    except _BROKEN as error:
        raise DataError(f"{path} cannot be read: {_reason(error)}") from None


def _require_plain(path: Path, member: tarfile.TarInfo, seen: set[str], largest_bytes: int) -> None:
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
    if name in seen:
        raise DataError(f"{path} holds {name!r} twice")
    if member.size > largest_bytes:
        raise DataError(
            f"{path} holds {name!r} of {member.size} bytes; at most {largest_bytes} are allowed"
        )


def _require_clean_end(path: Path, archive: tarfile.TarFile) -> None:
    """Refuse an archive whose list of members breaks off at a damaged header."""
    stream: Any = archive.fileobj
    if stream is None:
        return
    stream.seek(archive.offset)
    if stream.read().strip(b"\0"):
        raise DataError(f"{path} is damaged at byte {archive.offset} of its unpacked content")


def _reason(error: BaseException) -> str:
    return str(error).rstrip(".").replace("\n", "; ") or type(error).__name__
