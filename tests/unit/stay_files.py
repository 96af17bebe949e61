"""Archives of stays, well or badly made, for tests of their readers."""

import io
import tarfile
from collections.abc import Mapping
from pathlib import Path

HEADER = "Time,Parameter,Value\n"


def stay_text(record: int, lines: list[str]) -> bytes:
    body = [f"00:00,RecordID,{record}", *lines]
    return (HEADER + "\n".join(body) + "\n").encode()


def archive(
    path: Path,
    members: Mapping[str, bytes],
    *,
    others: tuple[tarfile.TarInfo, ...] = (),
    mode: str = "w:gz",
    folder: bool = True,
) -> Path:
    with tarfile.open(path, mode) as tar:  # pyright: ignore[reportCallIssue, reportArgumentType]
        if folder:
            top = tarfile.TarInfo("set")
            top.type = tarfile.DIRTYPE
            tar.addfile(top)
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
        for info in others:
            tar.addfile(info)
    return path


def linked(name: str, target: str, kind: bytes = tarfile.SYMTYPE) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, target
    return info
