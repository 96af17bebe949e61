"""All that is asked of the report in a browser, at two widths; a sentence for each."""

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

from tests.workflow import report_browser as browser
from tests.workflow.report_page import embedded_tables

Require = Callable[[bool, str, str], None]


def walk(program: str, folder: Path, shots: Path | None, require: Require) -> None:
    """Visit the report of a folder at both widths.

    Args:
        program: the browser.
        folder: that holds results/.
        shots: where screenshots are put; None for none.
        require: called with whether something holds, what, and what was seen.
    """
    for name, size in browser.WIDTHS.items():
        with browser.visit(program, folder, size) as seen:
            _keyboard(seen, name, require)
            charts = browser.draw_all_charts(seen)
            require(charts > 0, f"{name}: all {charts} charts are drawn", "")
            wider = browser.pixels_too_wide(seen)
            require(wider <= 0, f"{name}: nothing is wider than the window", f"{wider} pixels")
            for study in seen.sections():
                _study(seen, study, f"{name}, {study}", require)
            require(
                not seen.noticed,
                f"{name}: no error, no warning, no request",
                "\n".join(seen.noticed),
            )
            if shots is not None:
                _take_pictures(seen, shots, name)


def _study(seen: browser.Visit, study: str, where: str, require: Require) -> None:
    tables = [one for one in embedded_tables(seen.report, seen.folder) if one.study == study]
    whole = next(one for one in tables if one.name in ("summary", "means"))
    truth = pd.read_parquet(whole.files[0], partitioning=None)
    column = browser.numeric(truth)[0]
    found = browser.sorted_column(seen, whole, column)
    wanted = np.sort(truth[column].dropna().to_numpy(dtype=float))[: len(found)]
    require(found == wanted.tolist(), f"{where}: the table sorts by {column}", f"{found[:5]}")
    limit = float(truth[column].median())
    count = browser.count_below(seen, whole, column, limit)
    require(count == int((truth[column] < limit).sum()), f"{where}: the table filters", str(count))
    origin = browser.origin_of_first_row(seen, whole)
    digest = browser.digest_of(whole.files[0])
    require(digest in origin["files"], f"{where}: one click to the file's digest", str(origin))
    require(digest in origin["file"], f"{where}: two clicks to the file", str(origin))
    told = re.search(r"\b[0-9a-f]{64}\b", origin["raw"]) or "simulated" in origin["raw"]
    require(bool(told), f"{where}: what is known of the raw data stands there", str(origin))
    before, after = browser.rows_after_a_legend_box(seen, study)
    require(after < before, f"{where}: the legend filters", f"{before}, {after}")
    if seen.page.locator(f"#{study}-slider").count():
        _slider(seen, study, where, require)
    if seen.page.locator(f"#{study}-patient").count():
        _stepper(seen, study, where, require)


def _slider(seen: browser.Visit, study: str, where: str, require: Require) -> None:
    taken = list(browser.taken_by_slider(seen, study))
    require(bool(taken), f"{where}: the slider names a policy", "")
    for place, one in taken:
        told = {name: value for name, value in one["shown"].items() if value is not None}
        same = all(_same(value, one["row"][name]) for name, value in told.items())
        require(same, f"{where}: at {place:g} the slider's numbers are the table's", str(one))


def _same(shown: str, stored: object) -> bool:
    """The page's number is the table's, to the last digit."""
    return float(shown) == float(str(stored))


def _stepper(seen: browser.Visit, study: str, where: str, require: Require) -> None:
    told = browser.walked_to_the_end(seen, study)
    require(told["steps"] == told["wanted"], f"{where}: the stepper walks to the end", str(told))
    log, part = told["part"]["logs"], told["part"]
    paths = part["sources"][log["input"]]["paths"]
    sums = []
    for path in paths:
        rows = pd.read_parquet(seen.folder / path, partitioning=None)
        mine = rows[(rows["row_id"] == told["row_id"]) & (rows["world"] == "full")]
        sums += mine.groupby(["policy", "member", "seed"])["cost"].sum().tolist()
    near = any(abs(told["paid"] - one) < 1e-9 * max(1.0, one) for one in sums)
    require(near, f"{where}: what the unit paid is in the log", f"{told['paid']} not in {sums}")


def _keyboard(seen: browser.Visit, where: str, require: Require) -> None:
    """A reader without a mouse: the first Tab leads past the head of the page, summaries open."""
    seen.page.keyboard.press("Tab")
    first = seen.page.evaluate("document.activeElement.textContent")
    require(
        first == "Skip to the answers", f"{where}: Tab begins with the way to the answers", first
    )
    card = seen.page.locator("#answers details").first
    card.locator("summary").focus()
    seen.page.keyboard.press("Enter")
    opened = card.get_attribute("open") is not None
    require(opened, f"{where}: Enter opens what to trust", "")
    unnamed = seen.page.evaluate(
        "[...document.querySelectorAll('button, input, select')].filter((one) => !("
        "one.textContent.trim() || one.getAttribute('aria-label') || one.labels?.length)).length"
    )
    require(unnamed == 0, f"{where}: every control has a name", f"{unnamed} have none")


def _take_pictures(seen: browser.Visit, shots: Path, name: str) -> None:
    shots.mkdir(parents=True, exist_ok=True)
    seen.page.evaluate("window.scrollTo(0, 0)")
    seen.page.screenshot(path=shots / f"first_{name}.png")
    seen.page.add_style_tag(content="nav { position: static !important; }")
    for study in ("answers", *seen.sections()):
        seen.page.locator(f"#{study}").screenshot(path=shots / f"{study}_{name}.png")
