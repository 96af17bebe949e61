"""Answers as folders: written once, read anywhere, with no row of the table in them.

A folder holds `verdict.txt`, `answer.json`, `policy` (a bundle) and `answer.html`.
"""

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from frugal.core.arguments import program
from frugal.core.errors import DataError
from frugal.library.objects import Answer, Recommendation, StoredPolicy
from frugal.results.files import json_bytes, read_payload, require_sealed, sealed
from frugal.results.replacing import replace_files

TEXT, DOCUMENT, PAGE, POLICY = "verdict.txt", "answer.json", "answer.html", "policy"
_EDITED = "decide again in place of editing it"


def save_answer(answer: Answer, folder: Path, *, shown: Path | None = None) -> str:
    """Write the folder of an answer; its text, in which the folder has the name `shown`.

    Raises:
        DataError: one of its files is there already.
    """
    draws = find_spec("matplotlib") is not None
    named = folder if shown is None else shown
    bundle, page = (named / POLICY).as_posix(), (named / PAGE).as_posix()
    page += "" if draws else " (needs pip install 'frugal[report]')"
    advise = f"{program()} advise {bundle} cases.csv"
    text = answer.text_with(advise, page)
    document = {key: value for key, value in answer.document.items() if key != "seal"}
    html_page = _page(answer, (advise, page)).encode() if draws else None
    keep(
        folder, text, html_page, document | {"bundle": POLICY}, bundle_files(answer.policy().bundle)
    )
    return text


def bundle_files(bundle: Path) -> dict[str, bytes]:
    """The files of a policy, as `keep` takes them."""
    return {f"{POLICY}/{path.name}": path.read_bytes() for path in sorted(bundle.iterdir())}


def keep(
    folder: Path,
    text: str,
    page: bytes | None,
    document: Mapping[str, Any],
    files: Mapping[str, bytes],
) -> None:
    """Write the folder of an answer: its text, page and document, and further files by their names.

    Raises:
        DataError: one of its files is there already.
    """
    contents = {TEXT: text.encode(), DOCUMENT: json_bytes(sealed(document)), **files}
    contents |= {} if page is None else {PAGE: page}
    if existing := [folder / name for name in contents if (folder / name).exists()]:
        raise DataError(f"{existing[0]} is there already; name a folder without an answer")
    if folder.exists() and not folder.is_dir():
        raise DataError(f"{folder} is no folder; name one")
    replace_files({folder / name: content for name, content in contents.items()})


def _page(answer: Answer, now: Sequence[str]) -> str:
    """The page with the date, and this folder's policy and page in place of the workflow's."""
    reading, text = answer.question.decision.answer_settings()["reading"], answer.to_html()
    for former, new in zip(reading.values(), now, strict=True):
        former = former.replace("POLICY", answer.policy().name)
        text = text.replace(html.escape(former), html.escape(new))
    return text.replace("</dl>", f"<div><dt>Date</dt><dd>{date.today()}</dd></div></dl>", 1)


@dataclass(frozen=True, eq=False, repr=False)
class KeptAnswer(Recommendation):
    """An answer in a folder: its words and numbers, and its policy for new cases.

    Attributes:
        folder: that `Answer.save` wrote.
    """

    folder: Path

    def __post_init__(self) -> None:
        path = self.folder / DOCUMENT
        if not path.is_file():
            raise DataError(
                f"{self.folder} is no folder of an answer: that holds {DOCUMENT} and {POLICY}, as "
                "Answer.save and frugal decide leave it"
            )
        require_sealed(path, self.document, _EDITED)

    @property
    def document(self) -> dict[str, Any]:
        """The answer under stable names, docs/reference/answer.md."""
        return read_payload(self.folder / DOCUMENT)

    @property
    def best(self) -> StoredPolicy:
        """The policy to use, for new cases."""
        return StoredPolicy(self.folder / POLICY, None)

    def summary(self) -> str:
        """The answer in at most twelve lines."""
        return (self.folder / TEXT).read_text(encoding="utf-8")

    def to_html(self) -> str:
        """The page as a text of HTML.

        Raises:
            DataError: it was saved without the packages for pictures.
        """
        path = self.folder / PAGE
        if not path.is_file():
            raise DataError(f"{path} was not drawn: pip install 'frugal[report]', and save again")
        return path.read_text(encoding="utf-8")

    def __repr__(self) -> str:
        named = self.document["policy"]
        return f"KeptAnswer({str(self.folder)!r}, policy={named!r}, state={self.state!r})"
