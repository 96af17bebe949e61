"""A store in which results lie (`--default-storage-provider`), and the folder of its local copies.

Snakemake brings the inputs of a job from the store into that folder, and takes its outputs there. A
job of ours works inside it (`Store.room`): so it sees the paths of a run without a store, and
writes the same bytes. A step needs the sidecar of each input, which vouches for it, and leaves a
receipt; neither is in its rule, so the plugin's objects bring and put them (`vouch`). Knows storage
plugins by their interface; must not know any rule.
"""

import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from frugal.core.errors import DataError
from frugal.results.receipts import STEPS, receipt_file
from frugal.results.sidecars import MADE_IN, sidecar_path

OURS = Path(".snakemake/frugal")  # files of the engine's own, from the working folder on
Stamp = tuple[float, int]  # when a file was put into the store, and its bytes


@dataclass(frozen=True)
class Store:
    """Where results lie.

    Attributes:
        provider: of the storage plugin.
        prefix: what precedes `results/…` in a query, with the module's own prefix.
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

        A plugin lists by a method of its own (`fs`), or notes a file's whole folder when it reads
        one (`s3`).

        Raises:
            DataError: the store cannot be reached, or its plugin can do neither.
        """
        try:
            listed = self._by_folder(folder) or self._by_inventory(folder)
            if not listed:  # `s3` also lists nothing where nothing answers
                self.object(f"{folder}/any").exists()
        except Exception as error:
            reason = " ".join(str(error).split())[:300]
            raise DataError(f"the store {self.shown(folder)} cannot be read: {reason}") from None
        return dict(sorted(listed.items()))

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
        stored = ((Path(key).as_posix(), key) for key in cache.mtime)
        return {
            path.removeprefix(room): (cache.mtime[key].storage(), cache.size[key])
            for path, key in stored
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
        """The text of a small file of the store; None where there is none."""
        target = OURS / "read" / name
        return target.read_text(encoding="utf-8") if self.copy(name, target) else None

    def put(self, name: str, path: Path) -> None:
        """Put a file into the store."""
        one = self.object(name)
        one.set_local_path(path)
        one.store_object()

    def bring_sidecar(self, name: str) -> Path | None:
        """The sidecar of a file that a step has made, in the room; None where there is none."""
        if Path(name).parts[0] not in MADE_IN:
            return None
        sidecar = sidecar_path(Path(name))
        path = self.room / sidecar
        return path if self.refresh(sidecar.as_posix(), path) else None

    def bring_behind(self, names: Iterable[str]) -> None:
        """Bring the sidecar of every file from which these were made, back to the raw data."""
        seen, waiting = set(), list(names)
        while waiting:
            name = waiting.pop()
            if name in seen or not name.startswith("results/"):
                continue
            seen.add(name)
            if sidecar := self.bring_sidecar(name):
                records = json.loads(sidecar.read_bytes())["inputs"]
                waiting += [record["path"] for record in records]

    def put_receipt(self, sidecar: str) -> None:
        """Put the receipt of the step into the store whose last sidecar has been put there."""
        document = json.loads((self.room / sidecar).read_bytes())
        made = {Path(path): sidecar_path(Path(path)) for path in document["outputs"].values()}
        if Path(sidecar) == [*made.values()][-1]:
            for path in receipt_file(document["stage"], made, document["environment"]):
                if (self.room / path).is_file():
                    self.put(path.as_posix(), self.room / path)
                    (self.room / path).unlink()

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


def vouch(store: Store) -> None:
    """Have the plugin bring the sidecar with each input, and put the receipt behind the outputs."""
    plain = store.provider.get_storage_object_cls()
    if not issubclass(plain, _Vouched):
        plain = type("Vouched", (_Vouched, plain), {"stores": []})
        store.provider.get_storage_object_cls = lambda: plain
    plain.stores.append(store)


class _Vouched:
    """What is added to a plugin's object of a file, by the methods that every plugin has."""

    stores: list[Store]
    query: str
    _overwrite_local_path: Path | None

    def __post_init__(self) -> None:
        """A sidecar stays here as long as its file, which Snakemake does not know to go with it."""
        self._has_read = self.query
        super().__post_init__()  # type: ignore[misc]
        if _is_sidecar(self._name()[1]):
            self.keep_local = True

    def _name(self) -> tuple[Store | None, str]:
        """Its store and path from the room on; none where it is put or read by itself."""
        if self._overwrite_local_path is None:
            for store in sorted(self.stores, key=lambda each: -len(each.prefix)):
                if self.query.startswith(store.prefix):
                    return store, self.query.removeprefix(store.prefix)
        return None, ""

    def local_suffix(self) -> str:
        """By the query as it is now: Snakemake puts constraints of wildcards into it."""
        if self.query != self._has_read:
            self.__post_init__()
        return str(super().local_suffix())  # type: ignore[misc]

    def retrieve_object(self) -> None:
        """Bring the file; its sidecar first, so that a file that is here has it."""
        store, name = self._name()
        if store is not None and name:
            store.bring_sidecar(name)
        super().retrieve_object()  # type: ignore[misc]

    def store_object(self) -> None:
        """Put the file there; behind the last sidecar of a step its receipt."""
        if "snakemake-workflow-sources." in self.query:  # a temporary file, which others must read
            mask = os.umask(0)
            os.umask(mask)
            self.local_path().chmod(0o666 & ~mask)  # type: ignore[attr-defined]
        super().store_object()  # type: ignore[misc]
        store, name = self._name()
        if store is not None and _is_sidecar(name):
            store.put_receipt(name)

    def cleanup(self) -> None:
        """Remove the sidecar when the run ends, as Snakemake does the file."""
        super().cleanup()  # type: ignore[misc]
        store, name = self._name()
        if store is not None:
            (store.room / sidecar_path(Path(name))).unlink(missing_ok=True)


def _is_sidecar(name: str) -> bool:
    path = Path(name)
    return path.parts[:1] in [(part,) for part in MADE_IN] and path.name.startswith("_")


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
