"""Raw files of a data set: where they lie, and whether they are the right ones.

Knows digests and addresses only; never parses a file.
"""

import hashlib
from pathlib import Path

from frugal.config.dataset import RawFile
from frugal.core.errors import ConfigError, DataError
from frugal.core.schema_check import listed
from frugal.data.description import Description
from frugal.data.packed import content_sha256_of

LARGEST_MEMBER_BYTES = 10_000_000  # of an archive; the largest stay of PhysioNet 2012 has 24 kB
_CHUNK_BYTES = 1 << 20


def file_of(description: Description, name: str) -> RawFile:
    """The file of that name.

    Raises:
        ConfigError: the description has no such file.
    """
    for file in description.source.files:
        if file.name == name:
            return file
    known = listed(f.name for f in description.source.files) or "none"
    raise ConfigError(f"data set {description.name!r} has no file {name!r}; its files are {known}")


def locate_file(description: Description, name: str, *, data_mirror: Path | None) -> Path | None:
    """Where a raw file lies on this machine, or None if it is to be downloaded.

    Files of kind `download` lie in the mirror, if there is one, and else come from their publisher.
    Files of kind `path` lie beside the description, else in the working folder, else in the mirror.

    Raises:
        ConfigError: the description has no such file.
        DataError: the file is in none of these places.
    """
    file = file_of(description, name)
    if description.source.kind == "download":
        if data_mirror is None:
            return None
        if not (data_mirror / name).is_file():
            raise DataError(
                f"data set {description.name!r}: the data mirror {data_mirror} has no file "
                f"{name!r}; put it there, or unset data_mirror to use the publisher's"
            )
        return data_mirror / name
    beside = description.path.parent / name  # an absolute name stays as it is
    candidates = [beside, Path(name), *([data_mirror / name] if data_mirror else [])]
    for path in candidates:
        if path.is_file():
            return path
    origin = f"obtain it at {file.url} and " if file.url else ""
    raise DataError(
        f"data set {description.name!r}: there is no file {name!r} beside {description.path}, in "
        f"the working folder or in data_mirror; {origin}write its path to "
        "'source.files' there, or set data_mirror to a folder that holds it"
    )


def sha256_of(path: Path) -> str:
    """SHA-256 digest of a file, in hexadecimal."""
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        while chunk := stream.read(_CHUNK_BYTES):
            digest.update(chunk)
    return digest.hexdigest()


def verify_sha256(path: Path, expected: str | None) -> str:
    """The digest of a file, which must be the one expected; None accepts any content.

    Raises:
        DataError: it is another; the sentence holds both.
    """
    found = sha256_of(path)
    if expected is not None and found != expected:
        raise DataError(
            f"{path} has SHA-256 {found}, but {expected} is expected: it is not the file that "
            "the data set describes"
        )
    return found


def verify_content(path: Path, expected: str | None) -> str | None:
    """The digest of what a packed file holds, which must be the one expected, whatever the packing.

    None accepts any content, and then nothing is unpacked.

    Raises:
        DataError: it is another, or the file is damaged.
    """
    if expected is None:
        return None
    found = content_sha256_of(path, largest_bytes=LARGEST_MEMBER_BYTES)
    if found != expected:
        raise DataError(
            f"the unpacked content of {path} has SHA-256 {found}, but {expected} is expected: it "
            "is not the file that the data set describes"
        )
    return found
