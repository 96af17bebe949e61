"""A store in which results lie (`--default-storage-provider`), and the folder of its local copies.

Snakemake brings the inputs of a job from the store into that folder, and takes its outputs there. A
job of ours works inside it (`Store.room`): so it sees the paths of a run without a store, and
writes the same bytes. Knows storage plugins by their interface; must not know any rule.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from frugal.core.errors import DataError
from frugal.results.receipts import STEPS

OURS = Path(".snakemake/frugal")  # files of the engine's own, from the working folder on
Stamp = tuple[float, int]  # when a file was put into the store, and its bytes


@dataclass(frozen=True)
class Store:
    """Where results lie.

    Attributes:
        provider: of the storage plugin.
        prefix: what stands in front of `results/…` in a query, with the module's own prefix.
        room: the folder of local copies in which jobs work, from the working folder on.
    """

    provider: Any
    prefix: str
    room: Path

    def object(self, name: str) -> Any:
        """The plugin's object of a file, by its path from the room on."""
        return self.provider.object(f"{self.prefix}{name}")

    def shown(self, name: str) -> str:
        """A file as a sentence shows it, without passwords."""
        return str(self.object(name).print_query)

    def listed(self, folder: str) -> dict[str, Stamp]:
        """Every file below a folder of the store.

        A plugin lists by a method of its own (`fs`), or notes all that lies beside a file when it
        is asked for one (`s3`).

        Raises:
            DataError: the store cannot be reached, or its plugin can do neither.
        """
        try:
            found = self._by_folder(folder) or self._by_inventory(folder)
            if not found:  # `s3` also lists nothing where nothing answers
                self.object(f"{folder}/any").exists()
        except Exception as error:
            reason = " ".join(str(error).split())[:300]
            raise DataError(f"the store {self.shown(folder)} cannot be read: {reason}") from None
        return dict(sorted(found.items()))

    def _by_folder(self, folder: str) -> dict[str, Stamp]:
        if not hasattr(self.provider, "list_objects"):
            return {}
        paths = map(Path, self.provider.list_objects(f"{self.prefix}{folder}"))
        names = [os.path.relpath(path, self.prefix or ".") for path in paths if not path.is_dir()]
        objects = {name: self.object(name) for name in names}
        return {name: (one.mtime(), one.size()) for name, one in objects.items()}

    def _by_inventory(self, folder: str) -> dict[str, Stamp]:
        probe, cache = self.object(f"{folder}/any"), _Inventory()
        _now(probe.inventory(cache))
        room = f"{self.room.as_posix()}/"
        found = ((Path(key).as_posix(), key) for key in cache.mtime)
        return {
            path.removeprefix(room): (cache.mtime[key].storage(), cache.size[key])
            for path, key in found
            if path.startswith(f"{room}{folder}/")
        }

    def fetch(self, names: Mapping[str, Stamp], folder: Path) -> None:
        """Copy files of the store into a folder; what is there with the same stamp stays.

        Raises:
            DataError: one cannot be read.
        """
        for name, (mtime, size) in names.items():
            target = folder / name
            if target.is_file():
                there = target.stat()
                if (there.st_mtime, there.st_size) == (mtime, size):
                    continue
            if not self.copy(name, target):
                raise DataError(f"{self.shown(name)} was there a moment ago, and is gone")
            os.utime(target, (mtime, mtime))

    def copy(self, name: str, target: Path) -> bool:
        """Copy one file of the store; False where there is none.

        Raises:
            DataError: it is there, and cannot be read.
        """
        one = self.object(name)
        one.set_local_path(target)
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            if not one.exists():
                return False
            one.retrieve_object()
        except Exception as error:
            reason = " ".join(str(error).split())[:300]
            raise DataError(f"{self.shown(name)} cannot be read: {reason}") from None
        return True

    def refresh(self, name: str, target: Path) -> bool:
        """Copy a file that is not there yet, or newer in the store; False where it is nowhere.

        Raises:
            DataError: it is in the store, and cannot be read.
        """
        if not target.is_file():
            return self.copy(name, target)
        one = self.object(name)
        if one.exists() and one.mtime() > target.stat().st_mtime:
            return self.copy(name, target)
        return True

    def text(self, name: str) -> str | None:
        """What a small file of the store says; None where there is none."""
        target = OURS / "read" / name
        return target.read_text(encoding="utf-8") if self.copy(name, target) else None

    def put(self, name: str, path: Path) -> None:
        """Put a file into the store."""
        one = self.object(name)
        one.set_local_path(path)
        one.store_object()

    def look(self, folder: Path) -> dict[str, Stamp]:
        """Make a folder that shows what the store holds: its receipts, and each other file empty.

        Returns:
            All files of the store below results/.
        """
        listed = self.listed("results")
        folder.mkdir(parents=True, exist_ok=True)
        for path in sorted(folder.rglob("*"), reverse=True):
            if path.is_file() and path.relative_to(folder).as_posix() not in listed:
                path.unlink()
        receipts = {n: s for n, s in listed.items() if Path(n).parent == STEPS}
        self.fetch(receipts, folder)
        for name in listed.keys() - receipts.keys():
            place = folder / name
            if not place.exists():
                place.parent.mkdir(parents=True, exist_ok=True)
                place.touch()
        return listed


class _Inventory:
    """What a plugin notes of the files beside one that it is asked for."""

    def __init__(self) -> None:
        self.mtime: dict[str, Any] = {}
        self.size: dict[str, int] = {}
        self.exists_in_storage: dict[str, bool] = {}
        self.exists_local: dict[str, bool] = {}
        self.checksum: dict[str, str | None] = {}


def _now(steps: Any) -> None:
    """Run a coroutine that waits for nothing."""
    try:
        steps.send(None)
    except StopIteration:
        return
    steps.close()
    raise DataError("its plugin waits for other work while it lists files")
