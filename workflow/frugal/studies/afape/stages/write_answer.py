"""Stage `write_answer`: one table's answer as a text and as one page."""

import base64
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from frugal.core.streams import Streams
from frugal.studies.afape.answers import answer


def write_answer(
    *,
    summary: pd.DataFrame,
    verdicts: pd.DataFrame,
    comparisons: pd.DataFrame,
    catalogue: Mapping[str, Any],
    picture: Path,
    settings: Mapping[str, Any],
    streams: Streams,
    progress: Callable[..., Any],
) -> dict[str, bytes]:
    """Words, table and picture of the first seed.

    Settings: `budget` (of panels, a case on average, or None), `remarks` (what was assumed),
    `reading` (words → file or command).
    """
    del streams, progress
    verdict = {str(name): value for name, value in verdicts.iloc[0].items()}
    told = answer(
        summary[summary["seed"] == verdict["seed"]],
        comparisons[comparisons["seed"] == verdict["seed"]],
        verdict,
        report=catalogue["report"],
        budget=settings["budget"],
        remarks=settings["remarks"],
        reading=settings["reading"],
    )
    image = base64.b64encode(picture.read_bytes()).decode()
    page = told.page(f"data:image/png;base64,{image}")
    return {"text": told.text().encode(), "page": page.encode()}
