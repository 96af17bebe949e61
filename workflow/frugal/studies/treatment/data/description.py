"""A data set of the treatment search, read from its YAML: reader, files, drugs, options.

Serves the study `treatment`. Must not read the data themselves, and imports no table library, so
that a workflow can check all descriptions before it plans a single job.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from frugal.core.errors import ConfigError, DataError
from frugal.core.schema_check import read_yaml
from frugal.data.mimic_items import RESULTS, TESTED
from frugal.studies.treatment.data.keys import WORLD, SearchDataset, SearchFile


@dataclass(frozen=True)
class SearchDescription:
    """A data set of the treatment search, as described in its YAML.

    Attributes:
        path: the YAML itself; relative paths inside it start in its folder.
        name: as in paths and in config.yaml.
        title: for figures.
        note: origin of the data and their limits.
        reader: of units from the files, or `synthetic_world`.
        files: in the order in which the reader takes them; none for a world.
        actions: name of each action → its name in the files.
        results: letter of each outcome, from the worst to the best.
        options: of the reader.

    Raises:
        ConfigError: the reader knows other actions or results.
    """

    path: Path
    name: str
    title: str
    note: str
    reader: str
    files: tuple[SearchFile, ...]
    actions: Mapping[str, str]
    results: tuple[str, ...]
    options: Mapping[str, Any]

    def __post_init__(self) -> None:
        if self.reader != "mimic3":
            return
        for key, value, allowed in (
            ("actions", list(self.actions.items()), list(TESTED.items())),
            ("results", list(self.results), list(RESULTS)),
        ):
            if value != allowed:
                listed = [": ".join(v) if isinstance(v, tuple) else v for v in allowed]
                raise ConfigError(
                    f"{self.path}: reader 'mimic3' knows one list of {key} only, in this order: "
                    f"{', '.join(listed)}"
                )

    @property
    def simulated(self) -> bool:
        """True where units are drawn, not read."""
        return self.reader == WORLD


def load_search_description(path: Path) -> SearchDescription:
    """The data set that a YAML describes, checked against its schema and for sense.

    Raises:
        ConfigError: the file is missing, not YAML, has an unknown key or lacks one, or its options
            do not go with its reader.
    """
    document = read_yaml(path)
    parsed = SearchDataset.read(document, where=str(path))
    same = ("name", "title", "note", "reader", "files", "results")
    return SearchDescription(
        path=path,
        **{key: getattr(parsed, key) for key in same},
        actions=dict(parsed.actions),
        options=document["options"],
    )


def locate_search_file(
    description: SearchDescription, file: SearchFile, *, data_mirror: Path | None
) -> Path | None:
    """Where a raw file lies on this machine, or None if it is to be downloaded.

    Raises:
        DataError: it is nowhere, and its address gives a page, not the file.
    """
    places = [Path(), description.path.parent, *([data_mirror] if data_mirror else [])]
    for place in places:
        if (place / file.name).is_file():
            return place / file.name
    if file.downloadable and data_mirror is None:
        return None
    raise DataError(
        f"data set {description.name!r}: there is no file {file.name!r} in the working folder, "
        f"next to {description.path} or in data_mirror; obtain it from {file.url} and put it "
        "there, or set data_mirror to a folder that holds it"
    )
