"""Answers as folders: written once, read anywhere, with no row of the table in them.

A folder holds `verdict.txt`, `answer.json`, `policy` (a bundle) and `answer.html`.
"""

import html
import shutil
from collections.abc import Sequence
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
    parts = [folder / name for name in (TEXT, DOCUMENT, PAGE, POLICY)]
    if existing := [path for path in (folder, *parts) if path.exists() and path != folder]:
        raise DataError(f"{existing[0]} is there already; name a folder without an answer")
    if folder.exists() and not folder.is_dir():
        raise DataError(f"{folder} is no folder; name one")
    draws = find_spec("matplotlib") is not None
    named = folder if shown is None else shown
    bundle, page = (named / POLICY).as_posix(), (named / PAGE).as_posix()
    page += "" if draws else " (needs pip install 'frugal[report]')"
    advise = f"{program()} advise {bundle} cases.csv"
    text = answer.text_with(advise, page)
    document = {key: value for key, value in answer.document.items() if key != "seal"}
    files = {
        folder / TEXT: text.encode(),
        folder / DOCUMENT: json_bytes(sealed(document | {"bundle": POLICY})),
    }
    if draws:
        files[folder / PAGE] = _page(answer, (advise, page)).encode()
    source = answer.policy().bundle
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copytree(source, folder / POLICY)
    replace_files(files)
    return text


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

    def policy(self) -> StoredPolicy:
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
        return f"KeptAnswer({str(self.folder)!r}, policy={self.best!r}, state={self.state!r})"
