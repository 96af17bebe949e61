"""Counts of words on pages: sentences, abbreviations, long lines.

`python -m tests.unit.page_words` prints a line for each page of README and docs.
Code, tables, headings and the addresses of links do not count as sentences.
"""

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
LONG_LINE = 500
_FENCE = re.compile(r"^(```|~~~).*?^\1\s*$", re.DOTALL | re.MULTILINE)
_LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
_CODE = re.compile(r"`[^`]*`")
_END = re.compile(r"(?<=[a-zA-Z0-9)»”*`%])[.!?](?=\s|$)")
_SHORT = re.compile(r"\b[A-Z][A-Z0-9]*[A-Z][A-Z0-9]*(?:-[A-Z]{2,})?\b")
_TERM = re.compile(r"^\| ([^|]+) \| [^|]+ \|$", re.MULTILINE)
# Names of formats, units, licences and makers that nobody spells out, files, and words to fill in.
PLAIN = frozenset(
    (
        "CSV",
        "TSV",
        "ARFF",
        "PNG",
        "PDF",
        "HTML",
        "JSON",
        "YAML",
        "SAS",
        "MIT",
        "EUR",
        "USD",
        "GB",
        "MB",
        "KB",
        "SHA",
        "ASCII",
        "UTF",
        "URL",
        "HTTP",
        "OK",
        "ID",
        "UCI",
        "FICO",
        "AMD",
        "EPYC",
        "ICLR",
        "README",
        "CITATION",
        "CONTRIBUTING",
        "BUNDLE",
        "COLUMN",
        "FOLDER",
        "NAME",
        "POLICY",
        "STAGE",
        "VALUE",
        "PATH",
        "TARGET",
        "RO",
    )
)


@dataclass(frozen=True)
class Page:
    """What was counted on a page."""

    path: Path
    words: int
    sentences: list[str]
    abbreviations: set[str]
    long_lines: int

    @property
    def mean(self) -> float:
        """Words in a sentence, in the mean."""
        return self.words / max(1, len(self.sentences))


def counted(path: Path) -> Page:
    """Counts of one page of Markdown."""
    text = path.read_text(encoding="utf-8")
    prose = _FENCE.sub("", text)
    lines = prose.splitlines()
    kept, block = [], []
    for line in [*lines, ""]:
        bare = line.strip()
        if bare.startswith(("|", "#", "!", "<")) or not bare:
            kept.append(" ".join(block))
            block = []
            continue
        if re.match(r"^([-*>]|\d+\.) ", bare):
            kept.append(" ".join(block))
            block = [bare.split(" ", 1)[1]]
        else:
            block.append(bare)
    sentences = [s for part in kept for s in _sentences(part)]
    return Page(
        path,
        sum(len(s.split()) for s in sentences),
        sentences,
        set(_SHORT.findall(_CODE.sub("", _LINK.sub(r"\1", "\n".join(lines))))),
        sum(len(line) > LONG_LINE for line in text.splitlines()),
    )


def _sentences(block: str) -> list[str]:
    said = _CODE.sub("code", _LINK.sub(r"\1", block)).replace("*", "")
    return [s.strip() for s in _END.split(said) if len(s.split()) > 1]


def glossary() -> set[str]:
    """Words that docs/reference/glossary.md explains."""
    text = (ROOT / "docs/reference/glossary.md").read_text(encoding="utf-8")
    return {term.strip() for cell in _TERM.findall(text) for term in cell.split(",")}


def pages() -> list[Path]:
    """README and all pages of docs."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def main() -> None:
    """A line per page."""
    known = glossary() | PLAIN
    print("page                              words  a sentence  longest  long lines  unexplained")
    for page in map(counted, pages()):
        longest = max((len(s.split()) for s in page.sentences), default=0)
        left = ", ".join(sorted(page.abbreviations - known))
        name = str(page.path.relative_to(ROOT))
        print(f"{name:32}{page.words:7}{page.mean:12.1f}{longest:9}{page.long_lines:12}  {left}")


if __name__ == "__main__":
    main()
