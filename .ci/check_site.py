#!/usr/bin/env python3
"""Opens the pages of docs/ as a site in a headless Chromium, at the width of a desk and of a phone.

The site is built as `make docs` does, and opened as files. No error and no warning in the console,
no request to anywhere, no picture that is lost, nothing wider than the window; the search finds a
page and leads to it; on a phone the menu opens. Screenshots are put into FOLDER/shots.
With --short: one page of each kind.
Usage: .ci/check_site.py [--short] FOLDER      (an empty folder; a minute)
"""

import sys
from pathlib import Path

import environment
from environment import require

if __name__ == "__main__":
    OPTIONS = environment.begin(__doc__)
from tests.unit.test_site import made_site
from tests.workflow.report_browser import WIDTHS, browser_program
from tests.workflow.shared import folder_of_runs

SHORT = (
    "README",
    "docs/README",
    "docs/tutorials/verdict",
    "docs/how-to/own_table",
    "docs/reference/config",
    "docs/results/diagnosis",
    "docs/notes/dadi",
)
SOUGHT, FOUND_ON = "ferritin", "diagnosis"


def main() -> None:
    """Build the site, then visit it."""
    program = browser_program()
    if program is None:
        environment.cannot_run(
            "there is no headless Chromium; on Debian: apt-get install -y chromium"
        )
    OPTIONS.folder.mkdir(parents=True, exist_ok=True)
    site = made_site(folder_of_runs(OPTIONS.folder))
    require(site.is_dir(), "the site is made, without a warning")
    pages = sorted(p for p in site.rglob("*.html") if p.name not in ("search.html", "index.html"))
    if OPTIONS.short:
        pages = [site / f"{name}.html" for name in SHORT]
    (OPTIONS.folder / "shots").mkdir()
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=str(program), args=["--no-sandbox"])
        for name, size in WIDTHS.items():
            look(browser, name, size, pages, site)
        browser.close()


def look(browser, name: str, size: tuple, pages: list, site: Path) -> None:
    """All pages in a window of one width, the search, and on a phone the menu."""
    window = browser.new_page(viewport={"width": size[0], "height": size[1]})
    noticed = []

    def notice_request(request) -> None:
        if is_outside(request.url):
            noticed.append(request.url)

    window.on("console", lambda message: noticed.append(f"{message.type}: {message.text}"))
    window.on("pageerror", lambda error: noticed.append(str(error)))
    window.on("request", notice_request)
    for path in pages:
        visit(window, path, f"{name}, {path.relative_to(site)}")
        shot = f"{name}-{path.parent.name}-{path.stem}.png"
        window.screenshot(path=OPTIONS.folder / "shots" / shot)
    search(window, site, name)
    if name == "phone":
        menu(window, site)
    require(not noticed, f"{name}: no error, no warning, no request", "\n".join(noticed))


def is_outside(address: str) -> bool:
    """Whether an address is neither a file nor written out in the page."""
    return not address.startswith(("file:", "data:", "blob:"))


def visit(window, path: Path, where: str) -> None:
    """One page: as wide as the window, with all its pictures."""
    window.goto(path.as_uri())
    wider = window.evaluate("document.documentElement.scrollWidth - window.innerWidth")
    require(wider <= 0, f"{where}: nothing is wider than the window", f"{wider} pixels")
    lost = window.evaluate(
        "[...document.images].filter(one => one.complete && !one.naturalWidth).map(one => one.src)"
    )
    require(not lost, f"{where}: every picture is there", str(lost))


def search(window, site: Path, where: str) -> None:
    """A word is found, and its page opened."""
    window.goto((site / "search.html").as_uri() + f"?q={SOUGHT}")
    hit = window.locator(f"#search-results ul.search li a[href*={FOUND_ON}]").first
    hit.wait_for(timeout=20_000)  # results appear one after the other
    hit.click()
    require(FOUND_ON in window.url, f"{where}: and leads to the page", window.url)


def menu(window, site: Path) -> None:
    """On a phone the menu is opened by a button and leads to a page."""
    window.goto((site / "README.html").as_uri())
    window.locator(".nav-overlay-icon:visible").first.click()
    link = window.locator(".sidebar-tree a", has_text="A table to a verdict")
    link.wait_for(state="visible", timeout=5_000)
    link.click()
    require("verdict" in window.url, "phone: the menu leads to a page", window.url)


if __name__ == "__main__":
    sys.exit(main())
