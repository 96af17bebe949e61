"""What a data set of the treatment search is, read from its YAML: reader, files, drugs, options.

Serves the study `treatment`. Must not read the data themselves, and imports no table library, so
that a workflow can check all descriptions before it plans a single job.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from frugal.core.errors import ConfigError, DataError
from frugal.core.schema_check import SCHEMAS, check_against_schema, listed, load_schema, read_yaml
from frugal.data.antibiotic_names import RESULTS, TESTED

SCHEMA_PATH = SCHEMAS / "search_dataset.schema.json"
WORLD = "synthetic_world"
_OPTIONS = {
    WORLD: {
        "covariates", "moderators", "covariate_scale", "form", "p_stop", "p_stop_best",
        "test_units",
    },
    "kpneumoniae_mic": {"breakpoints"},
    "ecoli_ast": set(),
    "amr_isolates": {"organisms", "factors"},
    "mimic3": {"exclude_other_antibiotics"},
}  # fmt: skip
_FILES = {WORLD: 0, "mimic3": 5}  # files that a reader takes; of the others one


@dataclass(frozen=True)
class SearchFile:
    """A raw file: name in a mirror, address, and the digests that are accepted.

    Attributes:
        name: relative to a mirror, the working folder or the YAML.
        url: where it is published.
        sha256: digests of the file as it may lie there; empty accepts any content.
        downloadable: the address gives the file itself, not a page about it.
        published_bytes: size of what the address gives, where the YAML says it.
    """

    name: str
    url: str
    sha256: tuple[str, ...]
    downloadable: bool
    published_bytes: int | None = None


@dataclass(frozen=True)
class SearchDescription:
    """A data set of the treatment search, as its YAML tells it.

    Attributes:
        path: the YAML itself; relative paths inside it start in its folder.
        name: as in paths and in config.yaml.
        title: for figures.
        note: where the data come from and what they are not.
        reader: what makes units from the files, or `synthetic_world`.
        files: in the order in which the reader takes them; none for a world.
        actions: name of each action → its name in the files.
        results: letter of each outcome, from the worst to the best.
        options: of the reader.

    Raises:
        ConfigError: the reader takes another number of files, or knows other actions or results.
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
        wanted = _FILES.get(self.reader, 1)
        if len(self.files) != wanted:
            raise ConfigError(
                f"{self.path} names {len(self.files)} files; reader {self.reader!r} takes {wanted}"
            )
        if self.reader != "mimic3":
            return
        for key, found, known in (
            ("actions", list(self.actions.items()), list(TESTED.items())),
            ("results", list(self.results), list(RESULTS)),
        ):
            if found != known:
                told = [": ".join(v) if isinstance(v, tuple) else v for v in known]
                raise ConfigError(
                    f"{self.path}: reader 'mimic3' knows one list of {key} only, in this order: "
                    f"{', '.join(told)}"
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
    check_against_schema(document, load_schema(SCHEMA_PATH), where=str(path))
    reader, options = document["reader"], document["options"]
    for key in sorted(_OPTIONS[reader] ^ set(options)):
        told = "is missing" if key in _OPTIONS[reader] else "does not apply"
        raise ConfigError(
            f"{path}: option {key!r} {told}; reader {reader!r} takes "
            f"{listed(sorted(_OPTIONS[reader])) or 'none'}"
        )
    raw = list(document["actions"].values())
    if twice := [name for name in raw if raw.count(name) > 1]:
        raise ConfigError(f"{path}: 'actions' has {twice[0]!r} for two actions; each has its own")
    return SearchDescription(
        path=path,
        name=document["name"],
        title=document["title"],
        note=document["note"],
        reader=reader,
        files=tuple(
            SearchFile(f["name"], f["url"], tuple(f["sha256"]), f["downloadable"], f.get("bytes"))
            for f in document["files"]
        ),
        actions=dict(document["actions"]),
        results=tuple(document["results"]),
        options=options,
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
        f"beside {description.path} or in data_mirror; obtain it from {file.url} and put it there, "
        "or set data_mirror to a folder that holds it"
    )
