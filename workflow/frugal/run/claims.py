"""Claims of the papers, a row each: its number, ours, and whether it still holds.

Rows are data, `studies/*/claims.yaml`. Pages, counts and the check of results are made of them.
Knows no study.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal

import pandas as pd
from pydantic import Field

from frugal.config.blocks import Block
from frugal.core.arguments import command_parser
from frugal.core.declarations import PACKAGE
from frugal.core.errors import ConfigError, say
from frugal.core.schema_check import read_yaml
from frugal.results.manifests import write_apart
from frugal.run.reference.parts import table

VERDICTS = {
    "reproduced": "same direction, within the bounds that the paper states",
    "differs": "does not; with the reason, or the attempts",
    "other data": "the paper's are not public, others take their place",
    "absent": "not made; with the effort that it would be",
}
_MARK = re.compile(r"(<!-- claims( \w+)? -->).*?(<!-- end -->)", re.DOTALL)

Keys = Mapping[str, str | int | float | bool]
Value = float | str


class Quantity(Block):
    """A number of a summary table: the mean of a column over rows.

    Attributes:
        table: file of results/summary, without its suffix.
        column: averaged.
        where: values of the rows' keys.
        less: keys of rows whose mean is subtracted.
        over: keys of rows by whose mean it is divided.
    """

    table: str
    column: str
    where: Keys
    less: Keys | None = None
    over: Keys | None = None

    def of(self, results: Path) -> float | None:
        """The number; None where these results do not have it.

        Raises:
            ConfigError: the table has no such column.
        """
        path = results / "summary" / f"{self.table}.parquet"
        if not path.is_file():
            return None
        frame = pd.read_parquet(path, partitioning=None)
        mean, less, over = (
            _mean(frame, self.column, keys, path) for keys in (self.where, self.less, self.over)
        )
        if mean is None or (self.less and less is None) or (self.over and not over):
            return None
        return (mean - (less or 0.0)) / (over or 1.0)


def _mean(frame: pd.DataFrame, column: str, where: Keys | None, path: Path) -> float | None:
    """Mean over the rows whose keys are these, as texts; None where there are none."""
    if where is None:
        return None
    if lacking := [name for name in (column, *where) if name not in frame]:
        columns = ", ".join(map(str, frame.columns))
        raise ConfigError(f"{path} has no column {lacking[0]!r}; it has {columns}")
    matching = pd.Series(True, index=frame.index)
    for key, value in where.items():
        matching &= frame[key].map(_key) == _key(value)
    values = frame.loc[matching, column].dropna()
    return float(values.mean()) if len(values) else None


def _key(value: Any) -> str:
    """A key's value as a text: 1 and 1.0 are one."""
    return f"{value:.6g}" if isinstance(value, int | float) else str(value)


class Agreement(Block):
    """When a number agrees with the paper.

    Attributes:
        at_least: least value.
        at_most: largest value.
        near: value in the middle of those that agree.
        by: how far from it.
    """

    at_least: float | None = None
    at_most: float | None = None
    near: float | None = None
    by: Annotated[float, Field(ge=0)] | None = None

    def _refusals(self) -> Iterator[str]:
        if (self.near is None) != (self.by is None):
            yield " has near without by, or by without near; allowed are both"
        if self == type(self).model_construct():
            yield " is empty; allowed are at_least, at_most, near and by"

    def __call__(self, number: float) -> bool:
        """Whether a number agrees."""
        low = [self.at_least] if self.at_least is not None else []
        high = [self.at_most] if self.at_most is not None else []
        if self.near is not None and self.by is not None:
            low.append(self.near - self.by)
            high.append(self.near + self.by)
        return all(number >= end for end in low) and all(number <= end for end in high)


class Claim(Block):
    """A row.

    Attributes:
        item: figure or table of the paper, or the place of a sentence; several in a list.
        claim: in our words.
        paper: value there.
        ours: value here; null where the verdict is absent.
        interval: of ours, 95 %.
        verdict: of `VERDICTS`.
        reason: of a verdict that is not reproduced.
        command: that makes ours.
        cpu: time on one core: `31 min`.
        quantity: ours, in the summary tables of that command.
        holds: when that number agrees with the paper.
    """

    item: str | list[str]
    claim: str
    paper: Value
    ours: Value | None = None
    interval: Annotated[list[float], Field(min_length=2, max_length=2)] | None = None
    verdict: Literal["reproduced", "differs", "other data", "absent"]
    reason: str = ""
    command: str = ""
    cpu: Annotated[str, Field(pattern=r"^([0-9.]+ (s|min|h))?$")] = ""
    quantity: Quantity | None = None
    holds: Agreement | None = None

    def _refusals(self) -> Iterator[str]:
        used = self.verdict != "absent"
        for key in ("ours", "command", "cpu"):
            if used != (getattr(self, key) not in (None, "")):
                yield f".{key} is {'left out' if used else 'there'} for verdict {self.verdict!r}"
        if not self.reason and self.verdict != "reproduced":
            yield f".reason is left out for verdict {self.verdict!r}"
        if self.holds is not None and self.quantity is None:
            yield ".holds needs .quantity"

    @property
    def items(self) -> list[str]:
        """Its items, of the paper."""
        return [self.item] if isinstance(self.item, str) else self.item

    def verdict_on(self, number: float) -> str:
        """The verdict by a number of results; the row's own where no condition decides it."""
        if self.holds is None or self.verdict not in ("reproduced", "differs"):
            return self.verdict
        return "reproduced" if self.holds(number) else "differs"


class Ledger(Block):
    """All rows of a paper.

    Attributes:
        paper: its title.
        items: labels of all its figures and tables.
        claims: the rows.
    """

    paper: str
    items: list[str]
    claims: list[Claim]

    def _refusals(self) -> Iterator[str]:
        rows = {item for claim in self.claims for item in claim.items}
        if lacking := [item for item in self.items if item not in rows]:
            yield f".items has {', '.join(lacking)} without a row in .claims"

    def numbers(self) -> list[int]:
        """Rows of each of `VERDICTS`."""
        number = Counter(claim.verdict for claim in self.claims)
        return [number[each] for each in VERDICTS]

    def counts(self) -> str:
        """How many rows have which verdict, in words."""
        words = ("differ" if each == "differs" else each for each in VERDICTS)
        each = zip(self.numbers(), words, strict=True)
        shown = ", ".join(f"{number} {word}" for number, word in each if number)
        return f"{len(self.claims)} claims: {shown}"

    def commands(self) -> dict[str, str]:
        """Command that makes rows → its time, in the order of the rows."""
        used: dict[str, str] = {}
        for claim in self.claims:
            if claim.command:
                used.setdefault(claim.command, claim.cpu)
        return used


@cache
def ledgers() -> Mapping[str, Ledger]:
    """Study → its ledger, sorted.

    Raises:
        ConfigError: a file of claims is not as it has to be.
    """
    paths = sorted(PACKAGE.glob("studies/*/claims.yaml"))
    return {path.parent.name: Ledger.read(read_yaml(path), where=str(path)) for path in paths}


def checked(ledger: Ledger, results: Path) -> list[dict[str, Any]]:
    """Rows whose numbers these results have: here, with the verdict that it gives."""
    rows = []
    for claim in ledger.claims:
        number = None if claim.quantity is None else claim.quantity.of(results)
        if number is not None:
            rows.append(
                {
                    "item": ", ".join(claim.items),
                    "claim": claim.claim,
                    "paper": claim.paper,
                    "ours": claim.ours,
                    "here": float(f"{number:.4g}"),
                    "verdict": claim.verdict,
                    "verdict_here": claim.verdict_on(number),
                }
            )
    return rows


def claims_page(study: str) -> str:
    """The ledger of a study as a page of Markdown."""
    ledger = ledgers()[study]
    commands = ledger.commands()
    places = {command: str(place) for place, command in enumerate(commands, 1)}
    columns = ["item", "claim", "paper", "ours", "verdict", "by"]
    rows = [
        [
            ", ".join(claim.items),
            claim.claim,
            shown(claim.paper),
            _ours(claim),
            f"**{claim.verdict}**{': ' if claim.reason else ''}{claim.reason}",
            places.get(claim.command, ""),
        ]
        for claim in ledger.claims
    ]
    used = table(["by", "command", "CPU time"], _by(commands, places))
    meanings = ". ".join(f"*{name}*: {words}" for name, words in VERDICTS.items())
    return (
        "\n".join(
            [
                f"# {study}: every claim of the paper\n",
                f"Results: {ledger.counts()} of *{ledger.paper}*. Made from "
                f"[claims.yaml](../../workflow/frugal/studies/{study}/claims.yaml) by "
                "`python -m frugal claims --into docs`; `snakemake claims` recomputes each row "
                f"whose run exists. [Results](../results/{study}.md)\n",
                f"{meanings}.\n",
                table(columns, rows),
                used,
            ]
        ).rstrip("\n")
        + "\n"
    )


def overview_page() -> str:
    """All papers as a page of Markdown: how many rows have which verdict, and the commands."""
    counts, used, seconds = [], [], 0.0
    for study, ledger in ledgers().items():
        numbers = map(str, (len(ledger.claims), *ledger.numbers()))
        counts.append([f"[{study}](claims_{study}.md)", ledger.paper, *numbers])
        rows = Counter(claim.command for claim in ledger.claims if claim.command)
        for command, cpu in ledger.commands().items():
            used.append([study, f"`{command}`", str(rows[command]), cpu])
            seconds += _seconds(cpu)
    return (
        "\n".join(
            [
                "# Every claim of the five papers\n",
                "Results: each figure, table and number of a paper has a row, with the paper's "
                "value, ours, and a verdict. `snakemake claims` recomputes the rows whose runs "
                "exist. Made by `python -m frugal claims --into docs`.\n",
                "![Rows by verdict, a bar for each paper](../figures/claims.png)\n",
                table(["study", "paper", "claims", *VERDICTS], counts),
                f"All commands together take {seconds / 3600:.0f} CPU hours. `snakemake --cores 16 "
                "--config scale=paper` runs the papers' sizes, each config alone runs its rows, "
                "both can be stopped and resumed, and `snakemake plan` states time and memory "
                "beforehand.\n",
                table(["study", "command", "rows", "CPU time"], used),
            ]
        ).rstrip("\n")
        + "\n"
    )


def _seconds(cpu: str) -> float:
    """Of a time like `31 min`."""
    number, unit = cpu.split()
    return float(number) * {"s": 1, "min": 60, "h": 3600}[unit]


def _by(commands: Mapping[str, str], places: Mapping[str, str]) -> Iterator[list[str]]:
    for command, cpu in commands.items():
        yield [places[command], f"`{command}`", cpu]


def shown(value: Value | None) -> str:
    """A value as a text; a number below 0 with a minus sign."""
    if value is None or isinstance(value, str):
        return value or ""
    return f"{value:g}".replace("-", "−")


def _ours(claim: Claim) -> str:
    if claim.interval is None:
        return shown(claim.ours)
    low, high = map(shown, claim.interval)
    return f"{shown(claim.ours)} ({low} to {high})"


def write_pages(docs: Path) -> None:
    """Write a page of claims for each study, and the counts where pages have room for them."""
    write_apart(docs / "results" / "claims.md", overview_page().encode())
    for study in ledgers():
        write_apart(docs / "results" / f"claims_{study}.md", claims_page(study).encode())
    for path in (docs.parent / "README.md", *sorted((docs / "results").glob("*.md"))):
        text = path.read_text(encoding="utf-8")
        if (new := with_counts(text, path.stem)) != text:
            write_apart(path, new.encode())


def with_counts(text: str, page: str) -> str:
    """The text of a page with the counts between its marks.

    A mark alone has the sentence of the page's study; `<!-- claims STUDY -->`, within a line, that
    study's numbers.
    """

    def filled(mark: re.Match[str]) -> str:
        ledger = ledgers().get((mark[2] or page).strip())
        if ledger is None:
            return mark[0]
        if mark[2]:
            return f"{mark[1]}{' · '.join(map(str, ledger.numbers()))}{mark[3]}"
        link = f"[{ledger.counts()}](claims_{page}.md)"
        return f"{mark[1]}\n**The paper, row by row.** {link}.\n{mark[3]}"

    return _MARK.sub(filled, text)


def claims_command(words: list[str]) -> int:
    """`claims [RESULTS] [--into DOCS]`: which claims hold in these results.

    Returns:
        1 where a verdict is another than the row has, else 0.
    """
    parser = command_parser("claims", "Claims of the papers, recomputed from results.")
    parser.add_argument("results", type=Path, nargs="?", default=Path("results"))
    parser.add_argument("--into", type=Path, metavar="DOCS", help="write the pages there instead")
    args = parser.parse_args(words)
    if args.into is not None:
        if not (args.into / "results").is_dir():
            raise ConfigError(f"--into {args.into} has no folder results; allowed is docs")
        write_pages(args.into)
        return 0
    if not (args.results / "summary").is_dir():
        raise ConfigError(f"{args.results} has no folder summary; run the workflow first")
    moved = 0
    for study, ledger in ledgers().items():
        rows = checked(ledger, args.results)
        say(f"{study}: {ledger.counts()}; {len(rows)} recomputed from {args.results}")
        for row in rows:
            holds = row["verdict"] == row["verdict_here"]
            moved += not holds
            state = (
                row["verdict"] if holds else f"{row['verdict']} NO LONGER: {row['verdict_here']}"
            )
            say(
                f"  {row['item']}: {row['claim']}: paper {row['paper']}, ours {row['ours']}, "
                f"here {row['here']:g}: {state}"
            )
    return int(moved > 0)
