"""The answer for a table of one's own: as a text for the terminal and as one page.

Knows no study: words, a table of costs and accuracies of policies, notes and links.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from itertools import pairwise, starmap
from pathlib import Path
from typing import Any

import pandas as pd

from frugal.core.episodes import REFERRED
from frugal.judge.verdicts import joined, percent
from frugal.results.files import payload_bytes

COLOURS = {  # name → by day, by night; figures have those of `draw.style`
    "ink": ("#262626", "#e8e8e8"),
    "page": ("#ffffff", "#15171b"),
    "pale": ("#f1f1f1", "#25282e"),
    "open": ("#d3d8de", "#454b56"),
    "grey": ("#6e6e6e", "#a6a6a6"),
    "black": ("#000000", "#ffffff"),
    "blue": ("#0072b2", "#4fb0ea"),
    "vermillion": ("#d55e00", "#f0803a"),
    "orange": ("#e69f00", "#e69f00"),
    "purple": ("#cc79a7", "#d88fb8"),
    "sky": ("#56b4e9", "#56b4e9"),
    "green": ("#009e73", "#2bbd92"),
}
_DECISIONS = ("blue", "vermillion", "orange", "purple", "sky")  # colours of classes in flows
_ACROSS, _DOWN, _TOP, _BAR, _MARGIN, _SIDE = (
    358.0,
    62.0,
    20.0,
    8.0,
    6.0,
    18.0,
)  # of flows, on a telephone
_SIZE, _LETTER, MOST = 12.0, 7.8, 36  # of their words: height and mean width; letters of a name
OPEN = -1  # in place of a decision
Link = tuple[int, int, int]
_DIGITS = re.compile(r"-?\d+\.\d{3,}")
_BY_DAY, _BY_NIGHT = (
    ":root{" + ";".join(f"--{name}:{pair[k]}" for name, pair in COLOURS.items()) + "}"
    for k in (0, 1)
)
STYLE = (
    f"{_BY_DAY}@media screen and (prefers-color-scheme:dark){{{_BY_NIGHT}}}"
    ":root{color-scheme:light dark}"
    "body{font:1rem/1.5 system-ui,sans-serif;max-width:46rem;margin:0 auto;padding:1rem;"
    "color:var(--ink);background:var(--page)}h1{font-size:1.5rem;line-height:1.25;margin:.5rem 0}"
    "h2{font-size:1.1rem;margin:0 0 .5rem}p,ul,figure{margin:0 0 .75rem}ul{padding-left:1.2rem}"
    ".skip{position:absolute;left:-99rem}.skip:focus{position:static}"
    "dl{display:flex;flex-wrap:wrap;gap:.1rem 1.5rem;margin:0 0 1.5rem;font-size:.9rem}"
    "dt,dd{display:inline;margin:0}dt{color:var(--grey)}dt::after{content:': '}"
    "main{display:grid;grid-template-columns:minmax(0,1fr);gap:1.75rem 3rem}"
    ".answer{font-size:1.2rem;border-left:4px solid var(--blue);padding:.2rem 0 .2rem 1rem}"
    "figcaption{font-size:.9rem}svg,img{display:block;width:100%;max-width:30rem;height:auto}"
    "svg *{stroke-linejoin:round;stroke-linecap:butt}svg text{fill:var(--ink)}"
    ".flow text{font-size:12px;font-weight:600;stroke:var(--page);stroke-width:4px;"
    "paint-order:stroke}.unseen{position:absolute;clip-path:inset(50%);width:1px;height:1px;"
    "overflow:hidden}table{border-collapse:collapse;width:100%;font-size:.9rem}"
    "td,th{padding:.25rem .5rem;text-align:right;border-bottom:1px solid var(--grey)}"
    "th{font-weight:600}td:first-child,th:first-child{text-align:left}"
    "pre,code{background:var(--pale);font-size:.85rem}pre{white-space:pre-wrap;padding:.6rem}"
    "pre div{padding-left:calc(var(--in)*1ch);text-indent:calc(var(--in)*-1ch)}"  # hanging
    "code{padding:.1rem .3rem;overflow-wrap:anywhere}.wide{overflow-x:auto;position:relative;"
    "background:linear-gradient(90deg,var(--page) 30%,transparent) 0/2rem 100% no-repeat local,"
    "linear-gradient(-90deg,var(--page) 30%,transparent) 100%/2rem 100% no-repeat local,"
    "linear-gradient(90deg,var(--grey),transparent) 0/.5rem 100% no-repeat,"  # columns out of view
    "linear-gradient(-90deg,var(--grey),transparent) 100%/.5rem 100% no-repeat}"
    "summary{cursor:pointer;margin-top:1rem;color:var(--blue)}"
    ".steps td,.steps th{text-align:left!important;vertical-align:top}"
    ".steps td:first-child{white-space:nowrap}@media screen and (max-width:40rem){"
    ".steps thead{display:none}.steps td{display:block;border:0}.steps tr{display:block;"
    "padding:.4rem 0;border-bottom:1px solid var(--grey)}"
    ".steps td::before{content:attr(data-name)': ';color:var(--grey)}}"
    "@media screen and (min-width:70rem){body{max-width:74rem}main{grid-template-columns:"
    "repeat(2,minmax(0,1fr))}.all{grid-column:1/-1}.tall{grid-row:span 3}}"
    "@page{size:A4;margin:12mm}@media print{html{font-size:9.5pt}.skip{display:none}"
    "body{line-height:1.35;max-width:none;padding:0;print-color-adjust:exact}"
    "main{display:block;columns:2;column-gap:8mm}td,th{padding:.15rem .3rem}"
    ".wide{overflow:visible;background:none}"
    "section{break-inside:avoid;margin-bottom:4mm}.all{column-span:all}}"
)


@dataclass(frozen=True)
class Drawing:
    """A picture on a page.

    Attributes:
        heading: of its section.
        markup: an SVG, see `drawn` and `flow`, or an image.
        caption: sentences below it.
    """

    heading: str
    markup: str
    caption: str = ""


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
        folded: whether the curve and the sentences on it are on the page only.
        tables: heading → further table; on the page only. One with the heading of sentences is in
            one section with them, which follows the first picture.
        steps: line on a unit → its steps, a table of words; on the page only.
        facts: of the table and of the run: term → words; on the page only.
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
    facts: Mapping[str, str] = field(default_factory=dict)

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

    def page(self, first: Sequence[Drawing] = (), further: Sequence[Drawing] = ()) -> str:
        """One page that needs no other file.

        Args:
            first: pictures that follow the answer.
            further: pictures on single sentences.
        """
        lead = "".join(f"<p>{_prose(sentence)}</p>" for sentence in self.lead)
        does = "".join(map(_step, self.does))
        steps = "".join(
            f"<details open class='steps'><summary>{_prose(line)}</summary>"
            f"{_rows(line, frame)}</details>"
            for line, frame in self.steps.items()
        )
        read = "".join(
            f"<li>{escape(words)}: <code>{escape(place)}</code></li>"
            for words, place in self.reading.items()
            if not place.endswith(".html")  # this page
        )
        facts = "".join(
            f"<div><dt>{escape(term)}</dt><dd>{_prose(fact)}</dd></div>"
            for term, fact in self.facts.items()
        )
        drawn = self.heading in {drawing.heading for drawing in first}
        numbers = "Each policy in numbers" if drawn else self.heading
        parts = {heading: _list(each) for heading, each in self.parts.items()}
        tables = {heading: _scrolled(heading, frame) for heading, frame in self.tables.items()}
        joint = [(h, parts.pop(h) + tables.pop(h), "all") for h in self.parts if h in tables]
        pictures = [_section(drawing.heading, _figure(drawing)) for drawing in first]
        sections = [
            f"<section id='answer'><h2>Answer</h2><p class='answer'>{_prose(self.sentence)}</p>"
            f"{lead}</section>",
            *pictures[:1],
            *starmap(_section, joint),
            *pictures[1:],
            _section(numbers, _scrolled(numbers, self.curve) if len(self.curve) else ""),
            _section("Decisions of the policy", f"<pre>{does}</pre>" if does else ""),
            *starmap(_section, parts.items()),
            *(_section(drawing.heading, _figure(drawing), "tall") for drawing in further),
            *(_section(*table, "all") for table in tables.items()),
            _section("Notes", _list(self.further)),
            _section("Some cases under the named policy", steps, "all"),
            _section("Next steps", f"<ul>{read}</ul>" if read else ""),
        ]
        return (
            "<!doctype html><html lang='en'><head><meta charset='utf-8'>"
            "<meta name='viewport' content='width=device-width, initial-scale=1'>"
            f"<title>{escape(self.title)}: which policy?</title><style>{STYLE}</style></head><body>"
            "<a class='skip' href='#answer'>Skip to the answer</a>"
            f"<header><h1>{escape(self.title)}: which policy, at which cost, and how sure?</h1>"
            f"<dl>{facts}</dl></header><main>{''.join(sections)}</main></body></html>\n"
        )


def _section(heading: str, content: str, kind: str = "") -> str:
    """A heading with its content; nothing without content."""
    return f"<section class='{kind}'><h2>{escape(heading)}</h2>{content}</section>" * bool(content)


def _scrolled(heading: str, frame: pd.DataFrame) -> str:
    """A table that is reached and scrolled by keys where it is wider than the page."""
    place = f"<div class='wide' role='region' tabindex='0' aria-label='{escape(heading)}'>"
    return f"{place}{_rows(heading, frame)}</div>"


def _rows(caption: str, frame: pd.DataFrame) -> str:
    """A table, each cell with the name of its column; the first one names the row."""
    names = [escape(str(name)) for name in frame.columns]
    unseen = "<{0} class='unseen'>{1}</{0}>".format
    heads = "".join(f"<th scope='col'>{n or unseen('span', 'note')}</th>" for n in names)
    cell = "<td data-name='{}'>{}</td>".format
    rows = "".join(
        f"<tr><th scope='row'>{escape(cells[0])}</th>"
        f"{''.join(map(cell, names[1:], map(escape, cells[1:])))}</tr>"
        for cells in _cells(frame)
    )
    head = f"{unseen('caption', escape(caption))}<thead><tr>{heads}</tr></thead>"
    return f"<table>{head}<tbody>{rows}</tbody></table>"


def _list(sentences: Sequence[str]) -> str:
    each = "".join(f"<li>{_prose(sentence)}</li>" for sentence in sentences)
    return f"<ul>{each}</ul>" if each else ""


def _figure(drawing: Drawing) -> str:
    caption = f"<figcaption>{_prose(drawing.caption)}</figcaption>" if drawing.caption else ""
    return f"<figure>{drawing.markup}{caption}</figure>"


def drawn(figure: Any, number: int, title: str, finding: str) -> str:
    """A figure of matplotlib as an SVG, with the colours of the page.

    Args:
        figure: to be drawn.
        number: on the page.
        title: of the figure.
        finding: for readers who do not see it.
    """
    text = payload_bytes(Path("figure.svg"), figure).decode()
    (size,) = re.findall(r'viewBox="[^"]*"', text)
    text = re.sub(r"<metadata>.*?</metadata>|<style.*?</style>", "", text, flags=re.DOTALL)
    text = re.sub(r'<g id="[^"]*"', "<g", text).partition(size)[2].partition(">")[2]
    for name, (colour, _) in COLOURS.items():
        text = text.replace(colour, f"var(--{name})")
    text = re.sub(r'( id="|url\(#|href="#)', rf"\g<1>f{number}-", text)  # an id is in one figure
    text = re.sub(r" font-family: [^;\"]*;?", "", text)
    text = re.sub(r"<[^>]+>", lambda tag: _DIGITS.sub(lambda m: f"{float(m[0]):.2f}", tag[0]), text)
    return _svg(size, number, title, finding) + re.sub(r"\n\s*", " ", text)


def _svg(size: str, number: int, title: str, finding: str) -> str:
    """An SVG up to its name and finding."""
    return (
        f"<svg {size} role='img' aria-labelledby='t{number}' aria-describedby='d{number}'>"
        f"<title id='t{number}'>{escape(title)}</title>"
        f"<desc id='d{number}'>{escape(finding)}</desc>"
    )


def flow(flows: Mapping[str, Any], decisions: Sequence[str], number: int, title: str) -> Drawing:
    """Cases from panel to panel and to decisions, as bands whose widths are shares of cases.

    Undecided cases run down the middle. Decided ones run at the sides, to the left those of the
    first class.

    Args:
        flows: see `judge.policy_tree.flows_of`.
        decisions: names of the classes.
        number: of the picture on the page.
        title: of the picture.
    """
    rows = [("all cases", 1.0), *flows["panels"]]
    last = len(rows)
    links = {(u, v, OPEN): share for u, v, share in flows["flows"]}  # from row to row, decision
    links |= {(u, last, d): share for u, d, share in flows["ends"]}
    ended = sorted({d for *_, d in links} - {OPEN})
    scale = _ACROSS - 2 * _SIDE - _MARGIN * len(ended)
    ends: dict[Link, list[tuple[float, float]]] = {link: [] for link in links}
    bars, words, middle = [], [], dict[int, tuple[float, float]]()

    def put(along: Iterable[Link], x: float, *heights: float) -> float:
        """Bands side by side from x on: their left ends at some heights."""
        for link in along:
            ends[link] += [(x, y) for y in heights]
            x += scale * links[link]
        return x

    for row in range(last + 1):
        top = _TOP + row * _DOWN
        heights = (top, top + _BAR) if row < last else (top,)
        done = [link for link in sorted(links) if link[0] < row and link[2] != OPEN]
        x = put((link for link in done if link[2] == 0), 0.0, *heights)
        middle[0], x = (0.0, x), x + _SIDE
        if row < last:
            name, share = rows[row]
            put((link for link in sorted(links, reverse=True) if link[1] == row), x, top)
            leaving = [link for link in sorted(links) if link[0] == row]
            put(sorted(leaving, key=lambda link: (link[2] > 0, link[2] == OPEN)), x, top + _BAR)
            bars.append(_bar(x, top, scale * share, "ink"))
            text = f"{_cut(name)} for {percent(share)}" if row else name
            words.append(_word(text, x + scale * share / 2, top - 6))
            x += scale * share + _SIDE / 2
            passing = [link for link in links if link[0] < row < link[1] and link[2] == OPEN]
            put(sorted(passing, key=lambda link: (link[1], -link[0])), x, *heights)
        x = _ACROSS
        for decision in reversed([d for d in ended if d]):
            lanes = [link for link in done[::-1] if link[2] == decision]
            x -= scale * sum(links[link] for link in lanes)
            middle[decision] = x, put(lanes, x, *heights)
            x -= _MARGIN
        for link in done:
            if link[0] == row - 1 and row < last and scale * links[link] > 2.5 * _SIZE:
                x = ends[link][-1][0] + scale * links[link] / 2
                words.append(_word(percent(links[link]), x, top + _SIZE))
    names = [*decisions, REFERRED, "not seen in the records"]
    colours = [_DECISIONS[k % len(_DECISIONS)] for k in range(len(decisions))] + ["green", "grey"]
    bands = [
        _band(places, scale * links[link], "open" if link[2] == OPEN else colours[link[2]])
        for link, places in ends.items()
    ]
    decided = {d: sum(share for link, share in links.items() if link[2] == d) for d in ended}
    labels = {d: f"{_cut(names[d])} for {percent(decided[d])}" for d in ended}
    side = sum(map(len, labels.values())) * _LETTER < _ACROSS and len(ended) == 2 and 0 in labels
    below = top + _BAR
    for line, d in enumerate(ended):
        (low, high), down = middle[d], 0.0 if side else 1.5 * _SIZE * line
        bars.append(_bar(low, top, high - low, colours[d]))
        bars.append(_bar((low + high) / 2, below, 1.0, colours[d], down))
        words.append(_word(labels[d], low if d == 0 else high, below + down + 16, d == 0))
    ordered = [f"{name} for {percent(share)}" for name, share in rows[1:]]
    label = f"{joined(ordered)} of all cases" if ordered else "No panel is ordered"
    finding = f"{label}; decisions: {joined(list(labels.values()))}."
    size = f"viewBox='0 0 {_ACROSS:g} {below + down + 22:g}' class='flow'"
    caption = "Widths are shares of cases, from all of them (above) to the decisions (below)."
    if flows["reordered"] >= 0.005:
        caption += f" {percent(flows['reordered'])} get these panels in another order."
    markup = f"{_svg(size, number, title, finding)}{''.join((*bands, *bars, *words))}</svg>"
    return Drawing(title, markup, caption)


def _bar(x: float, y: float, width: float, colour: str, height: float = _BAR) -> str:
    place = f"x='{x:.1f}' y='{y:.1f}' width='{max(width, 1.0):.1f}' height='{height:.1f}'"
    return f"<rect {place} style='fill:var(--{colour})'/>"


def _band(places: Sequence[tuple[float, float]], width: float, colour: str) -> str:
    """A band along places of its left end, downwards."""
    back = [(x + width, y) for x, y in reversed(places)]
    path = ""
    for side, start in ((places, "M"), (back, "L")):
        path += f"{start}{side[0][0]:.1f},{side[0][1]:.1f}"
        for (x, y), (u, v) in pairwise(side):
            path += f"C{x:.1f},{(y + v) / 2:.1f} {u:.1f},{(y + v) / 2:.1f} {u:.1f},{v:.1f}"
    return f"<path d='{path}Z' style='fill:var(--{colour});stroke:var(--page);stroke-width:.5'/>"


def _word(text: str, x: float, y: float, first: bool | None = None) -> str:
    """A text at its middle, or at its begin or end, kept within the picture."""
    wide = _LETTER * len(text)
    anchor, before = {None: ("middle", 0.5), True: ("start", 0.0), False: ("end", 1.0)}[first]
    x = max(min(x, _ACROSS - wide * (1 - before)), wide * before)
    return f"<text x='{x:.1f}' y='{y:.1f}' text-anchor='{anchor}'>{_prose(text)}</text>"


def _cut(name: str) -> str:
    return name if len(name) <= MOST else f"{name[: MOST - 1]}…"


def _step(line: str) -> str:
    """A line of a tree; the part that does not fit begins two columns to the right of it."""
    indent = len(line) - len(line.lstrip()) + 2
    return f"<div style='--in:{indent}'>{_prose(line)}</div>"


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
