"""The page: one file of HTML that needs no other, made of a template, styles, scripts and data.

The parts of the page lie next to this module under `page/`, as one would write them by hand. A rule
of the page itself (its content security policy) forbids every request, so a browser makes none.
"""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from frugal.core.errors import DataError

_PARTS = Path(__file__).parent / "page"
_SCRIPTS = (
    "numbers",
    "origins",
    "tables",
    "charts",
    "sliders",
    "patients",
    "stays",
    "answers",
    "start",
)


def template_digest() -> str:
    """SHA-256 of all parts of the page, which are no Python and so in no digest of a stage."""
    parts = b"".join(
        path.name.encode() + b"\0" + path.read_bytes() for path in sorted(_PARTS.iterdir())
    )
    return hashlib.sha256(parts).hexdigest()


def assembled(document: Mapping[str, Any]) -> str:
    """The page of a document.

    Raises:
        DataError: the library that draws charts holds the end of a script.
    """
    from vl_convert import javascript_bundle

    library = javascript_bundle()  # pyright: ignore[reportCallIssue]
    if "</script" in library:
        raise DataError("the bundle of vl-convert holds '</script', which would end it on the page")
    scripts = "\n".join(_part(f"{name}.js") for name in _SCRIPTS)
    page = _part("page.html")
    for mark, text in (
        ("/*style*/", _part("look.css")),
        ("/*library*/", library),
        ("/*scripts*/", scripts),
        ("/*data*/", _json(document)),
    ):
        before, after = page.split(mark)
        page = before + text + after
    return page


def _part(name: str) -> str:
    return (_PARTS / name).read_text(encoding="utf-8")


def _json(document: Mapping[str, Any]) -> str:
    """JSON in which no text can end the script that holds it."""
    text = json.dumps(document, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c")
