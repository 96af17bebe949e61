"""The answer for a table of one's own: as a text for the terminal and as one page.

Knows no study: words, a table of costs and accuracies of policies, notes and links.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape

import pandas as pd

STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:46rem;margin:2rem auto;padding:0 1rem;"
    "color:#222}h1{font-size:1.4rem}h2{font-size:1.1rem;margin-top:2rem}.answer{font-size:1.15rem;"
    "border-left:4px solid #0072b2;padding:.2rem 0 .2rem 1rem}table{border-collapse:collapse;"
    "width:100%}td,th{padding:.25rem .6rem;text-align:right;border-bottom:1px solid #ccc}"
    "td:first-child,th:first-child,td:last-child,th:last-child{text-align:left}img{max-width:100%}"
    "pre{white-space:pre-wrap;background:#f7f7f7;padding:.6rem;font-size:.9rem}"
    "pre div{padding-left:calc(var(--in)*1ch);text-indent:calc(var(--in)*-1ch)}"  # hanging
    "summary{cursor:pointer;margin-top:1.5rem;color:#0072b2}"
    "code{background:#f3f3f3;padding:.1rem .3rem;overflow-wrap:anywhere}.wide{overflow-x:auto}"
    ".steps td,.steps th{text-align:left!important;vertical-align:top}"
    ".steps td:first-child{white-space:nowrap}@media(max-width:40rem){"
    ".steps thead{display:none}.steps td{display:block;border:0}.steps tr{display:block;"
    "padding:.4rem 0;border-bottom:1px solid #ccc}"
    ".steps td::before{content:attr(data-name)': ';color:#555}}"
)


@dataclass(frozen=True, eq=False)
class AnswerText:
    """The answer about one table, as text and page.

    Attributes:
        title: of the table.
        heading: of the curve.
        sentence: the answer.
        curve: a row per policy or budget, the cheapest first; the first and last columns are words.
        further: sentences on the answer's precision and its assumptions.
        reading: next steps: words → file or command.
        lead: sentences below the answer, each a line of the text.
        does: decisions of the policy, as lines of a tree; on the page only.
        parts: heading on the page → sentences, each a line of the text.
        folded: whether the curve and the sentences on it are folded on the page, and the curve is
            left out of the text.
        tables: heading → further table; on the page only.
        steps: line on a unit → its steps, a table of words; on the page only.
    """

    title: str
    heading: str
    sentence: str
    curve: pd.DataFrame
    further: Sequence[str]
    reading: Mapping[str, str]
    lead: Sequence[str] = ()
    does: Sequence[str] = ()
    parts: Mapping[str, Sequence[str]] = field(default_factory=dict)
    folded: bool = False
    tables: Mapping[str, pd.DataFrame] = field(default_factory=dict)
    steps: Mapping[str, pd.DataFrame] = field(default_factory=dict)

    def text(self) -> str:
        """For the terminal and verdict.txt."""
        lines = [
            self.sentence,
            *self.lead,
            *(line for part in self.parts.values() for line in part),
        ]
        lines += [] if self.folded else [""]
        if len(self.curve) and not self.folded:
            lines += [f"{self.heading}:", *_aligned(self.curve), ""]
        if not self.folded:
            lines += [*self.further, ""] if self.further else []
        lines += [f"{words}: {place}" for words, place in self.reading.items()]
        return "\n".join(lines) + "\n"

    def page(self, picture: str, further: Mapping[str, tuple[str, str]] | None = None) -> str:
        """One page that needs no other file.

        Args:
            picture: data address of the curve's picture, empty for none.
            further: heading → data address of a further picture, and a sentence on it.
        """
        table = _table(self.heading, self.curve)
        tables = "".join(_table(heading, frame) for heading, frame in self.tables.items())
        lead = "".join(f"<p>{_prose(sentence)}</p>" for sentence in self.lead)
        does = "".join(map(_step, self.does))
        does = f"<h2>Decisions of the policy</h2><pre>{does}</pre>" if does else ""
        steps = "<h2>Some cases under the named policy</h2>" if self.steps else ""
        steps += "".join(
            f"<details open class='steps'><summary>{_prose(line)}</summary>{_rows(frame)}</details>"
            for line, frame in self.steps.items()
        )
        image = f"<img alt='{escape(self.heading)}, with intervals' src='{picture}'>"
        image = image if picture else ""
        parts = "".join(_section(heading, each) for heading, each in self.parts.items())
        more = "".join(
            f"<h2>{escape(heading)}</h2><img alt='{escape(heading)}' src='{address}'>"
            f"<p>{_prose(words)}</p>"
            for heading, (address, words) in (further or {}).items()
        )
        know = _section("Notes", self.further)
        read = "".join(
            f"<li>{escape(words)}: <code>{escape(place)}</code></li>"
            for words, place in self.reading.items()
            if not place.endswith(".html")  # this page
        )
        return (
            "<!doctype html><html lang='en'><head><meta charset='utf-8'>"
            "<meta name='viewport' content='width=device-width, initial-scale=1'>"
            f"<title>{escape(self.title)}: which policy?</title><style>{STYLE}</style></head><body>"
            f"<h1>{escape(self.title)}: which policy, at which cost, and how sure?</h1>"
            f"<p class='answer'>{_prose(self.sentence)}</p>{lead}{image}{does}{parts}{tables}{more}"
            f"{self._folded((table if len(self.curve) else '') + know)}{steps}"
            f"{f'<h2>Next steps</h2><ul>{read}</ul>' if read else ''}</body></html>\n"
        )

    def _folded(self, details: str) -> str:
        """Details in the open, or behind a line that opens them."""
        if not self.folded:
            return details
        return f"<details><summary>Every policy, and the assumptions</summary>{details}</details>"


def _table(heading: str, frame: pd.DataFrame) -> str:
    """A heading with a table."""
    return f"<h2>{escape(heading)}</h2><div class='wide'>{_rows(frame)}</div>"


def _rows(frame: pd.DataFrame) -> str:
    """A table, each cell with the name of its column."""
    names = [escape(str(name)) for name in frame.columns]
    heads = "".join(f"<th>{name}</th>" for name in names)
    cell = "<td data-name='{}'>{}</td>".format
    rows = "".join(
        f"<tr>{''.join(map(cell, names, map(escape, cells)))}</tr>" for cells in _cells(frame)
    )
    return f"<table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>"


def _section(heading: str, sentences: Sequence[str]) -> str:
    """A heading with a list; nothing without sentences."""
    each = "".join(f"<li>{_prose(sentence)}</li>" for sentence in sentences)
    return f"<h2>{escape(heading)}</h2><ul>{each}</ul>" if each else ""


def _step(line: str) -> str:
    """A line of a tree; the part that does not fit begins two columns to the right of it."""
    indent = len(line) - len(line.lstrip()) + 2
    return f"<div style='--in:{indent}'>{escape(line)}</div>"


def _prose(text: str) -> str:
    """Escaped; a number and its % stay on one line."""
    return escape(text).replace(" %", "\u00a0%")


def _cells(curve: pd.DataFrame) -> list[list[str]]:
    return [
        [f"{cell:.3g}" if isinstance(cell, float) else str(cell) for cell in row]
        for row in curve.itertuples(index=False)
    ]


def _aligned(curve: pd.DataFrame) -> list[str]:
    """The curve as lines of text, numbers to the right."""
    lines = [[str(name) for name in curve.columns], *_cells(curve)]
    widths = [max(len(line[k]) for line in lines) for k in range(len(lines[0]))]
    last = len(widths) - 1
    return [
        "  ".join(
            cell.ljust(width) if k in (0, last) else cell.rjust(width)
            for k, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    ]
