"""What the report holds, read from its file alone: the embedded parts, as tables and files."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
from frugal.draw.explorer.sections import unpacked_column

_BEGIN, _END = '<script type="application/json" id="data">', "</script>"


@dataclass(frozen=True)
class Embedded:
    """A table of the page, and the Parquet files that it is of.

    Attributes:
        study: whose part it is in.
        name: in that part.
        content: as the page has it.
        files: of the source, in a folder of results.
    """

    study: str
    name: str
    content: Mapping[str, Any]
    files: tuple[Path, ...]

    def frame(self) -> pd.DataFrame:
        """Its cells, None where there is none."""
        columns = {name: unpacked_column(one) for name, one in self.content["columns"].items()}
        return pd.DataFrame(columns, dtype=object)

    def parquet(self) -> pd.DataFrame:
        """The cells of the file, as Python's own objects, None where there is none."""
        table = pd.read_parquet(self.files[0], partitioning=None)
        return pd.DataFrame(
            {name: [_cell(value) for value in table[name].tolist()] for name in table.columns},
            dtype=object,
        )


def document_of(page: Path) -> dict[str, Any]:
    """The data of a page."""
    text = page.read_text(encoding="utf-8")
    return json.loads(text.split(_BEGIN)[1].split(_END)[0])


def embedded_tables(page: Path, folder: Path) -> Iterator[Embedded]:
    """Every table of a page whose results lie in a folder."""
    for part in document_of(page)["parts"]:
        if part["kind"] == "section":
            for name, table in part["tables"].items():
                paths = part["sources"][table["source"]]["paths"]
                files = tuple(folder / path for path in paths)
                yield Embedded(part["study"], name, table, files)


def _cell(value: Any) -> Any:
    return None if pd.isna(value) else value
