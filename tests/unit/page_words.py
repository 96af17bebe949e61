"""Counts of words on pages: sentences, abbreviations, long lines, and rates of words to avoid.

`python -m tests.unit.page_words` prints a line for each page of README and docs.
`python -m tests.unit.page_words rates sklearn,pandas numpy,scipy snakemake` prints the table of
docs/notes/tests.md: rates of Frugal, and the highest of installed packages. Code, tables, headings
and the addresses of links do not count as sentences.
"""

import ast
import importlib.util
import re
import sys
from collections.abc import Iterable, Iterator
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
_WORD = re.compile(r"[A-Za-z][A-Za-z'’-]*")
AVOIDED = {
    term: re.compile(rf"\b(?:{pattern})\b", re.IGNORECASE)
    for term, pattern in (
        ("told", "told|tells?"),
        ("said", "said|says?"),
        ("stands", "stands?|stood"),
        ("beside", "beside"),
        ("asked", "asked|asks?"),
        ("what", "what"),
        ("so that", "so that"),
        ("worth", "worth"),
        ("dear", "dear(?:er|est)?"),
        ("alike", "alike"),
        ("lots", "lots"),
        ("coin", "coins?"),
        ("whatever", "whatever"),
    )
}
SENTENCE = "words a sentence"
# Names of formats, units, licences and makers that nobody spells out, files, and words to fill in.
_PLAIN = """
    CSV TSV ARFF PNG PDF HTML JSON YAML SAS MIT EUR USD GB MB KB SHA ASCII UTF URL HTTP OK ID
    UCI FICO AMD EPYC ICLR README CITATION CONTRIBUTING BUNDLE COLUMN FOLDER NAME POLICY STAGE
    VALUE PATH TARGET RO
"""
PLAIN = frozenset(_PLAIN.split())


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
    prose = _CODE.sub("code", _LINK.sub(r"\1", block)).replace("*", "")
    return [s.strip() for s in _END.split(prose) if len(s.split()) > 1]


def glossary() -> set[str]:
    """Words that docs/reference/glossary.md explains."""
    text = (ROOT / "docs/reference/glossary.md").read_text(encoding="utf-8")
    return {term.strip() for cell in _TERM.findall(text) for term in cell.split(",")}


def pages() -> list[Path]:
    """README and all pages of docs."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def rates(texts: Iterable[str]) -> dict[str, float]:
    """How often each word to avoid occurs in 1,000 words."""
    whole = list(texts)
    words = max(1, sum(len(_WORD.findall(text)) for text in whole))
    return {
        term: round(1000 * sum(len(found.findall(text)) for text in whole) / words, 2)
        for term, found in AVOIDED.items()
    }


def comments() -> Iterator[str]:
    """Comments of config.yaml and of the YAML files below config."""
    for path in [ROOT / "config.yaml", *(ROOT / "config").rglob("*.yaml")]:
        yield from re.findall(r"(?:^|\s)#(.*)$", path.read_text(encoding="utf-8"), re.MULTILINE)


def written(package: Path) -> tuple[list[str], list[str]]:
    """Docstrings, and other texts of more than three words, of the modules of a package."""
    docstrings, literals = [], []
    for path in sorted(package.rglob("*.py")):
        if {"test", "tests"} & set(path.relative_to(package).parts):
            continue
        nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8", errors="replace"))))
        passed = set()
        for node in nodes:
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
                if text := ast.get_docstring(node):
                    docstrings.append(text)
                    passed.add(id(getattr(node.body[0], "value", None)))
            elif isinstance(node, ast.JoinedStr):
                passed |= {id(part) for part in node.values}
                texts = [getattr(part, "value", "") for part in node.values]
                literals.append("".join(t if isinstance(t, str) else "x" for t in texts))
        literals += [
            node.value
            for node in nodes
            if isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and id(node) not in passed
        ]
    return docstrings, [text for text in literals if len(text.split()) > 3]


def ours() -> dict[str, list[str]]:
    """Texts of this project by kind."""
    docstrings, messages = written(ROOT / "workflow" / "frugal")
    sentences = [sentence for page in pages() for sentence in counted(page).sentences]
    return {"pages": [*sentences, *comments()], "docstrings": docstrings, "messages": messages}


def words_a_sentence(texts: Iterable[str]) -> float:
    """Mean over the sentences of the first paragraph of each text."""
    firsts = [" ".join(text.split("\n\n")[0].split()) for text in texts]
    sentences = [sentence for first in firsts for sentence in _sentences(first)]
    return round(sum(len(s.split()) for s in sentences) / max(1, len(sentences)), 1)


def anchors(names: str) -> dict[str, float]:
    """The highest rates of docstrings and messages of installed packages, by commas."""
    highest = dict.fromkeys([*AVOIDED, SENTENCE], 0.0)
    for name in names.split(","):
        spec = importlib.util.find_spec(name)
        assert spec is not None
        assert spec.origin is not None, f"{name} is not installed"
        for texts in written(Path(spec.origin).parent):
            measured = rates(texts) | {SENTENCE: words_a_sentence(texts)}
            highest = {term: max(rate, measured[term]) for term, rate in highest.items()}
    return highest


def print_rates(packages: list[str]) -> None:
    """A table in Markdown: kinds of text of this project, then packages."""
    here = {k: rates(texts) | {SENTENCE: words_a_sentence(texts)} for k, texts in ours().items()}
    columns = here | {name.replace(",", ", "): anchors(name) for name in packages}
    print(f"| in 1,000 words | {' | '.join(columns)} |\n|{'---|' * (len(columns) + 1)}")
    for term in [*AVOIDED, SENTENCE]:
        print(f"| {term} | {' | '.join(str(column[term]) for column in columns.values())} |")


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
    print_rates(sys.argv[2:]) if sys.argv[1:2] == ["rates"] else main()
