"""Raw files of a data set: where they lie, under which names, and whether they are the right ones.

Knows digests and addresses only; never parses a file. A declared name stays in the description;
files under `results/` bear the encoded one: plain words for every shell, path and log.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from frugal.config.dataset import RawFile
from frugal.core.errors import ConfigError, DataError
from frugal.core.schema_check import listed
from frugal.data.description import Description
from frugal.data.packed import content_sha256_of

LONGEST = 230  # a file's name has 255 bytes at most; its manifest's and temporary one are longer
_KEPT_OF_LONG = 180
_OURS = (".html", ".json", ".md", ".parquet", ".pdf", ".png", ".safetensors")  # read by suffix
_STRANGE = re.compile(rb"[^A-Za-z0-9._-]")
LARGEST_MEMBER_BYTES = 10_000_000  # of an archive; the largest stay of PhysioNet 2012 has 24 kB


def file_of(description: Description, name: str) -> RawFile:
    """The file of that name.

    Raises:
        ConfigError: the description has no such file.
    """
    for file in description.source.files:
        if file.name == name:
            return file
    files = listed(f.name for f in description.source.files) or "none"
    raise ConfigError(f"data set {description.name!r} has no file {name!r}; its files are {files}")


def locate_file(description: Description, name: str, *, data_mirror: Path | None) -> Path | None:
    """Where a raw file lies on this machine, or None if it is to be downloaded.

    Files of kind `download` lie in the mirror, if there is one, and else come from their publisher.
    Files of kind `path` are next to the description, in the working folder, or in the mirror.

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
    local = description.path.parent / name  # an absolute name stays as it is
    candidates = [local, Path(name), *([data_mirror / name] if data_mirror else [])]
    for path in candidates:
        if path.is_file():
            return path
    origin = f"obtain it at {file.url} and " if file.url else ""
    raise DataError(
        f"data set {description.name!r}: there is no file {name!r} next to {description.path}, in "
        f"the working folder or in data_mirror; {origin}write its path to "
        "'source.files' there, or set data_mirror to a folder that holds it"
    )


def sha256_of(path: Path) -> str:
    """SHA-256 digest of a file, in hexadecimal."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def verify_sha256(path: Path, expected: str | None) -> str:
    """The digest of a file, which must be the one expected; None accepts any content.

    Raises:
        DataError: it is another; the sentence holds both.
    """
    digest = sha256_of(path)
    if expected is not None and digest != expected:
        raise DataError(
            f"{path} has SHA-256 {digest}, but {expected} is expected: it is not the file that "
            "the data set describes"
        )
    return digest


def verify_content(
    path: Path | str, expected: str | None, content: bytes | None = None
) -> str | None:
    """Digest of the content of a packed file, for any packing; it must be the one expected.

    None accepts any content, and then nothing is unpacked. With `content`, the bytes of the file,
    nothing is read from disk.

    Raises:
        DataError: it is another, or the file is damaged.
    """
    if expected is None:
        return None
    digest = content_sha256_of(path, largest_bytes=LARGEST_MEMBER_BYTES, content=content)
    if digest != expected:
        raise DataError(
            f"the unpacked content of {path} has SHA-256 {digest}, but {expected} is expected: it "
            "is not the file that the data set describes"
        )
    return digest


def with_stored_names(files: Sequence[RawFile]) -> list[tuple[RawFile, str]]:
    """Each declared file of a data set with its stored name, in order."""
    return list(zip(files, stored_names([file.name for file in files]), strict=True))


def raw_paths(description: Description, dataset: str, data_mirror: Path | None) -> list[str]:
    """Each raw file of a data set: on this machine, or where a download puts it."""
    paths = []
    for file, stored in with_stored_names(description.source.files):
        path = locate_file(description, file.name, data_mirror=data_mirror)
        paths.append(f"results/raw/dataset={dataset}/{stored}" if path is None else str(path))
    return paths


def fetch_settings(description: Description | None, stored_name: str) -> dict[str, Any] | None:
    """Where a raw file is published, its size, and the SHA-256 of it or of its content.

    Args:
        description: of the data set, or None where it has none.
        stored_name: see `stored_names`.

    Returns:
        None where the data set has no such file.
    """
    for file, stored in with_stored_names(description.source.files if description else ()):
        if stored == stored_name:
            return {
                "url": file.url,
                "sha256": file.sha256,
                "content_sha256": file.content_sha256,
                "bytes": file.published_bytes,
            }
    return None


def stored_names(names: Sequence[str]) -> list[str]:
    """The stored name of each declared file of a data set, in order.

    It is the last part of the declared name, or all of it where two files share the last part.
    """
    last = [PurePosixPath(name).name for name in names]
    shared = Counter(last)
    return [
        _encoded(full_name if shared[part] > 1 else part)
        for full_name, part in zip(names, last, strict=True)
    ]


def _encoded(name: str) -> str:
    """ASCII letters, digits, `.`, `_` and `-` as they are; every other byte as `+` and two digits.

    So is the first character of a manifest's or a hidden file's name, and the dot before a suffix
    that determines how one of our own files is read. A name that is too long ends in its SHA-256.
    """
    encoded = _STRANGE.sub(lambda match: b"+%02X" % match[0][0], name.encode()).decode()
    if encoded.startswith(("_", ".")):
        encoded = f"+{ord(encoded[0]):02X}{encoded[1:]}"
    stem, dot, suffix = encoded.rpartition(".")
    if dot + suffix in _OURS:
        encoded = f"{stem}+2E{suffix}"
    if len(encoded) <= LONGEST:
        return encoded
    return f"{encoded[:_KEPT_OF_LONG]}+{hashlib.sha256(name.encode()).hexdigest()[:32]}"
