"""The report in a headless Chromium: what a reader does, and whether the page answers rightly.

Numbers are compared with the Parquet tables, never with what the page says of itself.
"""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
from frugal.results.manifests import load_record

from tests.workflow.report_page import Embedded, document_of, embedded_tables

WIDTHS = {"desktop": (1280, 900), "phone": (390, 844)}
_PROGRAMS = ("chromium", "chromium-browser", "google-chrome")


def browser_program() -> str | None:
    """The headless browser of this machine; None where there is none."""
    return next((path for name in _PROGRAMS if (path := shutil.which(name))), None)


@dataclass
class Visit:
    """One page in one browser window.

    Attributes:
        page: playwright's.
        folder: of the results.
        report: the file.
        noticed: what the page requested or complained of.
    """

    page: Any
    folder: Path
    report: Path
    noticed: list[str]

    def sections(self) -> list[str]:
        """Names of the studies on the page."""
        found = (part for part in document_of(self.report)["parts"])
        return [part["study"] for part in found if part["kind"] == "section"]


@contextmanager
def visit(program: str, folder: Path, size: tuple[int, int]) -> Iterator[Visit]:
    """Open `results/report.html` of a folder."""
    from playwright.sync_api import sync_playwright

    report = folder / "results" / "report.html"
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=program, args=["--no-sandbox"])
        width, height = size
        page = browser.new_page(viewport={"width": width, "height": height})
        made = Visit(page, folder, report, [])
        page.on("console", lambda message: made.noticed.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: made.noticed.append(f"error: {error}"))
        page.on("request", lambda request: _note_request(made, request.url))
        page.goto(report.as_uri())
        page.wait_for_selector("html[data-ready]")
        yield made
        browser.close()


def _note_request(made: Visit, url: str) -> None:
    if url != made.report.as_uri() and not url.startswith("data:"):
        made.noticed.append(f"request: {url[:200]}")


def draw_all_charts(seen: Visit) -> int:
    """Scroll to every chart, wait until each is drawn; returns how many there are."""
    charts = seen.page.locator("figure")
    for k in range(charts.count()):
        chart = charts.nth(k)
        chart.scroll_into_view_if_needed()
        chart.locator(".chart svg, p:not([hidden])").first.wait_for()
    return charts.count()


def pixels_too_wide(seen: Visit) -> int:
    """By how many pixels the page is wider than the window."""
    return seen.page.evaluate("document.documentElement.scrollWidth - window.innerWidth")


def rows_after_a_legend_box(seen: Visit, study: str) -> tuple[int, int]:
    """Marks of the first chart of a study before and after the first shown name is taken out."""
    figure = seen.page.locator(f"#{study} figure").first
    figure.scroll_into_view_if_needed()
    figure.locator(".chart svg").wait_for()
    before = int(figure.locator(".chart").get_attribute("data-rows"))
    figure.locator("input:checked").first.uncheck()
    seen.page.wait_for_function(
        "([chart, before]) => Number(chart.dataset.rows) !== before",
        arg=[figure.locator(".chart").element_handle(), before],
    )
    return before, int(figure.locator(".chart").get_attribute("data-rows"))


def sorted_column(seen: Visit, table: Embedded, column: str) -> list[float]:
    """A column of numbers after a click on its head: the first cells, over all data sets."""
    view = _opened(seen, table)
    _ask_for_all(view)
    view.locator(f'button[data-column="{column}"]').click()
    place = list(table.content["columns"]).index(column)
    cells = view.locator(f"tbody tr td:nth-child({place + 1})")
    found = [cells.nth(k).get_attribute("title") for k in range(cells.count())]
    return [float(value) for value in found if value]


def count_below(seen: Visit, table: Embedded, column: str, limit: float) -> int:
    """How many rows the filter `column<limit` leaves."""
    view = _opened(seen, table)
    _ask_for_all(view)
    view.locator("input[type=search]").fill(f"{column}<{limit!r}")
    shown = view.locator("[role=status]").inner_text()
    view.locator("input[type=search]").fill("")
    return int(shown.split(" of ")[0].replace(",", ""))


def taken_by_slider(seen: Visit, study: str) -> Iterator[tuple[float, dict[str, Any]]]:
    """The row that each of a few places of the slider names, by column."""
    tables = {
        one.name: one for one in embedded_tables(seen.report, seen.folder) if one.study == study
    }
    part = next(
        p
        for p in document_of(seen.report)["parts"]
        if p["kind"] == "section" and p["study"] == study
    )
    slider = seen.page.locator(f"#{study}-slider input[type=range]")
    name = part["sliders"][0]["table"] if part["sliders"] else "summary"
    for place in (40, 100, 200):
        slider.fill(str(place))
        row = seen.page.locator(f"#{study}-slider .taken").get_attribute("data-row")
        if row is not None and seen.page.locator(f"#{study}-slider dl").count():
            shown = seen.page.locator(f"#{study}-slider dd")
            cells = [shown.nth(k) for k in range(shown.count())]
            values = {
                one.get_attribute("data-name"): one.get_attribute("data-value") for one in cells
            }
            yield float(place), {"shown": values, "row": tables[name].parquet().iloc[int(row)]}


def walked_to_the_end(seen: Visit, study: str) -> dict[str, Any]:
    """Steps of the first unit under the last policy: how many, and what the page says is paid."""
    view = seen.page.locator(f"#{study}-patient")
    rows = view.locator("table tbody tr")
    last = rows.last
    last.get_by_role("button", name="step").click()
    steps = 0
    while view.get_by_role("button", name="Next step").is_enabled():
        view.get_by_role("button", name="Next step").click()
        steps += 1
    view.get_by_role("button", name="Back").press("ArrowLeft")
    part = next(
        p for p in document_of(seen.report)["parts"] if p["kind"] == "cases" and p["study"] == study
    )
    policies = part["patients"]["policies"]
    run = [p for p in policies if p["units"][0]][-1]
    return {
        "steps": steps,
        "wanted": len(run["units"][0]["actions"]),
        "paid": float(rows.last.locator("td[data-value]").get_attribute("data-value")),
        "policy": run["name"],
        "row_id": part["patients"]["row_id"][0],
        "part": part,
    }


def origin_of_first_row(seen: Visit, table: Embedded) -> dict[str, Any]:
    """The digests that two clicks lead to: a row's file, and the raw data behind it."""
    view = _opened(seen, table)
    view.get_by_role("button", name="comes from").first.click()
    dialog = seen.page.locator("dialog")
    lists = dialog.locator("ul")
    found = {
        "files": lists.nth(0).inner_text(),
        "raw": lists.nth(1).inner_text(),
        "command": dialog.locator("p code").inner_text(),
    }
    lists.nth(0).locator("button").first.click()
    found["file"] = dialog.inner_text()
    seen.page.keyboard.press("Escape")
    dialog.wait_for(state="hidden")
    return found


def digest_of(path: Path) -> str:
    """The digest that a file's manifest states."""
    folder = next(folder.parent for folder in path.parents if folder.name == "results")
    return load_record(path.relative_to(folder), folder)["sha256"]


def _opened(seen: Visit, table: Embedded) -> Any:
    view = seen.page.locator(f"#{table.study}-table-{table.name}")
    if view.get_attribute("open") is None:
        view.locator("summary").first.click()
    return view


def _ask_for_all(view: Any) -> None:
    for label in ("all data sets and draws", "all columns"):
        box = view.get_by_label(label)
        if box.count() and not box.is_checked():
            box.check()


def numeric(table: pd.DataFrame) -> list[str]:
    """Columns of numbers with more than two distinct values."""
    return [str(c) for c in table if table[c].dtype.kind == "f" and table[c].nunique() > 2]
