"""The calls of `conda` that Snakemake makes, answered by py-rattler: it solves, verifies, links.

Nothing is pretended: packages are resolved in a channel, their SHA-256 is checked, files are linked
into the prefix. CONDA_CHANNEL_ALIAS, a setting of conda itself, says where a channel's bare name
lies. One call is not conda's: `pin ENV.yaml` writes ENV.linux-64.pin.txt, the explicit list.
"""

import asyncio
import json
import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import yaml
from rattler import Gateway, MatchSpec, RepoDataRecord, VirtualPackage, install, solve

ALIAS = os.environ.get("CONDA_CHANNEL_ALIAS", "https://conda.anaconda.org").rstrip("/")
CACHE = Path(os.environ.get("CONDA_PKGS_DIRS", Path.home() / ".cache" / "rattler"))
PREFIX = Path(__file__).resolve().parent  # Snakemake sources PREFIX/bin/activate
PLATFORMS = ["linux-64", "noarch"]
VERSION = "24.11.3"  # of the conda whose answers these are; Snakemake asks for 24.7.1 at least


def solved(path: Path) -> list[RepoDataRecord]:
    """The packages that a yaml's dependencies resolve to."""
    document = yaml.safe_load(path.read_text())
    channels = [c if "://" in c else f"{ALIAS}/{c}" for c in document["channels"]]
    specs = [MatchSpec(d, strict=False) for d in document["dependencies"]]
    virtual = VirtualPackage.detect()
    return asyncio.run(
        solve(sources=channels, specs=specs, platforms=PLATFORMS, virtual_packages=virtual)
    )


def pinned(path: Path) -> list[RepoDataRecord]:
    """The packages of an @EXPLICIT list; each must have the digest that stands behind its URL."""
    wanted = {}
    for line in path.read_text().splitlines():
        if line and line[0] not in "#@":
            url, _, digest = line.partition("#")
            wanted[url.rsplit("/", 1)[1]] = (url.rsplit("/", 2)[0], digest)
    channels = sorted({channel for channel, _ in wanted.values()})
    names = sorted({file.rsplit("-", 2)[0] for file in wanted})
    query = Gateway().query(sources=channels, platforms=PLATFORMS, specs=names, recursive=False)
    records = [r for found in asyncio.run(query) for r in found if r.file_name in wanted]
    if lacking := sorted(wanted.keys() - {r.file_name for r in records}):
        sys.exit(f"PackagesNotFoundError: {lacking}")
    for record in records:
        if wanted[record.file_name][1] != record.md5.hex():
            sys.exit(f"ChecksumMismatchError: {record.file_name}")
    return records


def link(records: Iterable[RepoDataRecord], prefix: str) -> None:
    """Verify, unpack and link the packages."""
    asyncio.run(
        install(records=list(records), target_prefix=prefix, cache_dir=CACHE, show_progress=False)
    )


def write_pin(path: Path) -> None:
    """The explicit list beside a yaml."""
    lines = [f"{record.url}#{record.md5.hex()}\n" for record in solved(path)]
    path.with_suffix(".linux-64.pin.txt").write_text("@EXPLICIT\n" + "".join(lines))


def main(words: list[str]) -> None:
    """Answer one call."""

    def option(*names: str) -> str:
        return next(words[words.index(name) + 1] for name in names if name in words)

    answers: dict[str, Any] = {
        "conda_prefix": str(PREFIX),
        "root_prefix": str(PREFIX),
        "platform": "linux-64",
        "conda_version": VERSION,
        "channel_alias": ALIAS,
    }
    match words[:2]:
        case ["--version"]:
            print(f"conda {VERSION}")
        case ["info", "--json"]:
            print(json.dumps(answers))
        case ["config", *_]:
            print(json.dumps({"get": {"channel_priority": "strict"}}))
        case ["env", "create"]:
            link(solved(Path(option("--file"))), option("--prefix", "-p"))
        case ["create", *_]:
            link(pinned(Path(option("--file"))), option("--prefix", "-p"))
        case ["pin", path]:
            write_pin(Path(path))
        case ["list", *_]:
            print("@EXPLICIT")
            for meta in sorted(Path(option("--prefix", "-p"), "conda-meta").glob("*.json")):
                record = json.loads(meta.read_text())
                print(f"{record['url']}#{record['md5']}")
        case ["clean", *_]:
            pass
        case _:
            sys.exit(f"this stand-in of conda does not know: {' '.join(words)}")


if __name__ == "__main__":
    main(sys.argv[1:])
    sys.stdout.flush()
    os._exit(0)  # py-rattler may crash while the interpreter ends
