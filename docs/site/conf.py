"""Makes the pages a site: `make docs`. Links, headings and the menu are as on a code host.

The source is the project's folder, so that a link from a page to any file of it leads there. The
menu is docs/README.md: each heading, and below it the pages that are linked there.
"""

import os
import re
import sys
from pathlib import Path
from typing import Any

PROJECT = Path(__file__).resolve().parents[2]
INDEX = PROJECT / "docs" / "README.md"
_LINK = re.compile(r"\[([^\]]*)\]\(([^)\s#]+)\.(?:md|ipynb)(?:#[^)\s]*)?\)")
sys.path.insert(0, str(Path(__file__).parent))  # notebooks.py

project = "Frugal"
author = "the authors of Frugal"
root_doc = "README"
include_patterns = [
    "README.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "config/README.md",
    "docs/**.md",
    "docs/notebooks/*.ipynb",
]
source_suffix = {".md": "markdown", ".ipynb": "markdown"}
exclude_patterns = [".*", "build", "results", "logs", "benchmarks", "workflow", "tests"]
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
autodoc_class_signature = "separated"
autodoc_default_options = {"exclude-members": "__init__"}
napoleon_use_ivar, napoleon_use_rtype = True, False
python_maximum_signature_line_length = 88
default_role = "code"  # `names` in docstrings are code, as in Markdown
nitpick_ignore_regex = [("py:.*", ".*")]  # types of other packages have no page here
myst_heading_anchors = 4
highlight_language = "none"
language = "en"
smartquotes = False  # "--config" is no dash

html_theme = "furo"
html_title = "Frugal"
html_baseurl = ""
html_static_path = ["static"]
html_extra_path = ["front"]  # index.html, which leads to README.html
html_css_files = ["site.css"]
html_show_search_summary = False  # a page opened as a file may not fetch others
html_copy_source = False
html_show_sphinx = False
html_show_copyright = False
html_theme_options = {"navigation_with_keys": True}


def menu() -> str:
    """Tables of contents in the words of docs/README.md."""
    _, *parts = INDEX.read_text(encoding="utf-8").split("\n## ")
    written = [_toctree("Start", ["Where to begin <docs/README>", "In one minute <self>"])]
    listed: set[str] = set()
    for part in parts:
        kind, _, body = part.partition("\n")
        pages = []
        for words, link in _LINK.findall(body):
            name = os.path.relpath(os.path.normpath(INDEX.parent / link), PROJECT)
            if name not in listed:
                listed.add(name)
                title = " ".join(words.replace("`", "").split())
                pages.append(f"{title[:1].upper()}{title[1:]} <{name}>")
        written.append(_toctree(kind.strip(), pages))
    return "\n".join(written)


def _toctree(caption: str, pages: list[str]) -> str:
    return "\n".join(["```{toctree}", ":hidden:", f":caption: {caption}", "", *pages, "```", ""])


def setup(app: Any) -> None:
    """The menu belongs to the root page and is in no file; a notebook is read as Markdown."""
    from notebooks import as_markdown

    def change(_: Any, page: str, source: list[str]) -> None:
        if page == root_doc:
            source[0] += "\n" + menu()
        if app.env.doc2path(page).suffix == ".ipynb":
            source[0] = as_markdown(source[0])

    app.connect("source-read", change)
