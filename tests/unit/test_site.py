"""The pages as a site: every link leads somewhere, and nothing is requested outside."""

import json
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

from tests.unit.page_words import ROOT, pages
from tests.workflow.shared import folder_of_runs, made_once

NEEDED = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "CITATION.cff", "config.yaml")
URLS = {"src", "srcset", "href", "data", "poster", "action"}  # attributes that a browser follows
LEADS = {"a", "form"}  # that it follows only when a reader asks


def make_site(project: Path, out: Path) -> subprocess.CompletedProcess[str]:
    """What `make docs` runs, in another folder."""
    (line,) = re.findall(
        r"^\t\$\(BIN\)/python (-m sphinx .+)$", (ROOT / "Makefile").read_text(), re.M
    )
    words = line.replace("build/doctrees", str(out / "trees")).split()
    words[-1] = str(out / "site")
    return subprocess.run([sys.executable, *words], cwd=project, capture_output=True, text=True)


def made_site(base: Path) -> Path:
    """The site, made without a warning, and once for the tests and `.ci/check_site.py`."""

    def make(out: Path) -> None:
        done = make_site(ROOT, out)
        assert done.returncode == 0, done.stderr
        assert done.stderr == ""

    return made_once(base / "pages", make) / "site"


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    return made_site(folder_of_runs(tmp_path_factory.mktemp("pages")))


class Links(HTMLParser):
    """Addresses that a page asks for by itself, and its menu."""

    def __init__(self) -> None:
        super().__init__()
        self.addresses: list[str] = []
        self.leads: list[str] = []
        self.text = ""

    def handle_starttag(self, tag, attrs):
        addresses = [value for name, value in attrs if name in URLS and value]
        (self.leads if tag in LEADS else self.addresses).extend(addresses)

    def handle_data(self, data):
        self.text += data


def read(page: Path) -> Links:
    found = Links()
    found.feed(page.read_text(encoding="utf-8"))
    return found


def test_every_page_is_there_and_in_the_menu(site):
    menu = {re.sub("#.*", "", lead) for lead in read(site / "README.html").leads}
    for page in pages()[1:]:
        address = page.relative_to(ROOT).with_suffix(".html").as_posix()
        assert (site / address).is_file()
        assert address in menu
    text = read(site / "README.html").text
    for kind in ("Tutorials", "How-to", "Reference", "Results", "Notes"):
        assert kind in text
    assert 'url=docs/README.html"' in (site / "index.html").read_text()


def test_a_search_for_what_newcomers_type_leads_to_a_page(site):
    terms = json.loads(
        re.sub(r"^Search\.setIndex\(|\)$", "", (site / "searchindex.js").read_text())
    )
    for word in ("notebook", "sklearn", "jupyt", "current", "practic", "panda"):
        assert word in terms["terms"] or word in terms["titleterms"], word


def test_a_notebook_is_a_page_with_its_outputs(site):
    page = (site / "docs/notebooks/data_frame.html").read_text(encoding="utf-8")
    assert page.count('src="data:image/png;base64,') == 2
    assert page.count('<div class="output">') == 4
    assert "frugal.decide" in re.sub("<[^>]*>", "", page)


def test_nothing_is_requested_for_outside(site):
    """Pages, styles and icons; what scripts ask for is seen by .ci/check_site.py in a browser."""
    paths = sorted(site.rglob("*.html"))
    assert len(paths) > 45
    for path in paths:
        outside = [a for a in read(path).addresses if re.match(r"(\w+:)?//", a)]
        assert outside == [], path
    for path in site.rglob("*.css"):
        assert not re.search(r"(url\(|@import)\s*['\"]?(\w+:)?//", path.read_text("utf-8")), path


def test_links_and_pictures_are_files_of_the_site(site):
    for path in sorted(site.rglob("*.html")):
        found = read(path)
        for address in [*found.addresses, *found.leads]:
            name = re.sub("[?#].*", "", address)
            if not name or re.match(r"(\w+:|#)", address):
                continue
            assert (path.parent / name).resolve().exists(), f"{path.relative_to(site)}: {address}"


def test_links_that_lead_nowhere_are_errors(tmp_path):
    """A page that is not there, and a heading that a page lacks."""
    project = tmp_path / "copy"
    project.mkdir()
    for name in NEEDED:
        shutil.copy(ROOT / name, project / name)
    for folder in ("docs", "config"):
        shutil.copytree(ROOT / folder, project / folder)
    lost = "\n[lost](docs/how-to/nowhere.md)\n[lost](docs/results/afape.md#nowhere)\n"
    readme = project / "README.md"
    readme.write_text(readme.read_text(encoding="utf-8") + lost, encoding="utf-8")
    done = make_site(project, tmp_path)
    assert done.returncode != 0
    assert "cross-reference target not found: 'docs/how-to/nowhere.md'" in done.stderr
    assert "'nowhere'" in done.stderr
