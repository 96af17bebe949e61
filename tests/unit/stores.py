"""A store without a server or rsync: a storage plugin's interface over a folder."""

import asyncio
import shutil
from pathlib import Path

from frugal_store import Store
from snakemake_interface_storage_plugins.io import Mtime


class File:
    """An object of the store."""

    keep_local = False
    _overwrite_local_path: Path | None = None

    def __init__(self, query: str, provider: "Folder") -> None:
        self.query = self.print_query = query
        self.provider = provider
        self.__post_init__()

    def __post_init__(self) -> None:
        self.path, self.suffix = self.provider.root / self.query, self.query

    def set_local_path(self, path: Path) -> None:
        self._overwrite_local_path = path

    def local_path(self) -> Path:
        return self._overwrite_local_path or self.provider.room / self.local_suffix()

    def local_suffix(self) -> str:
        """As the plugin for S3, which reads the query once."""
        return self.suffix

    def cleanup(self) -> None:
        """Nothing is left."""

    def exists(self) -> bool:
        self.provider.require_open()
        return self.path.is_file()

    def mtime(self) -> float:
        return self.path.stat().st_mtime

    def size(self) -> int:
        return self.path.stat().st_size

    def retrieve_object(self) -> None:
        self.provider.fetched.append(self.query)
        shutil.copyfile(self.path, self.local_path())

    def store_object(self) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(self.local_path(), self.path)

    async def inventory(self, cache) -> None:
        """As the plugin for S3: all that lies in the folder of the object, by local paths."""
        self.provider.require_open()
        if self.provider.waits:
            await asyncio.sleep(0)
        for path in self.path.parent.rglob("*"):
            if path.is_file():
                key = str(self.provider.room / path.relative_to(self.provider.root))
                cache.mtime[key] = Mtime(storage=path.stat().st_mtime)
                cache.size[key] = path.stat().st_size


class Folder:
    """A provider that lists nothing by itself.

    Attributes:
        root: where the objects lie.
        room: where local copies lie.
        fetched: queries of what was fetched, in order.
        closed: nothing can be read.
        waits: it lets other work run while it lists.
    """

    def __init__(self, root: Path, room: Path) -> None:
        self.root, self.room = root, room
        self.fetched: list[str] = []
        self.closed = self.waits = False

    def require_open(self) -> None:
        if self.closed:
            raise OSError("Could not connect to the endpoint")

    def get_storage_object_cls(self) -> type[File]:
        return File

    def object(self, query: str) -> File:
        return self.get_storage_object_cls()(query, self)


class ListingFolder(Folder):
    """One that has a method to list, with folders, as the plugin `fs`; queries are full paths."""

    def list_objects(self, query: str):
        self.require_open()
        return map(str, Path(query).rglob("*"))


def folder_store(folder: Path, kind: type[Folder] = Folder) -> Store:
    """An empty store in a folder, with the prefix `study/`."""
    (folder / "there").mkdir()
    provider = kind(folder / "there", folder / "room")
    prefix = f"{folder / 'there'}/study/" if kind is ListingFolder else "study/"
    return Store(provider, prefix, folder / "room" / "study")


def put(store: Store, name: str, content: bytes) -> None:
    """A file that lies in the store."""
    path = store.provider.root / "study" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
