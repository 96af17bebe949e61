"""The page of all that is declared: `python -m frugal reference > docs/reference.md`.

Read from the declarations without importing one of them.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from frugal.core.declarations import Declared, declared
from frugal.core.errors import ConfigError
from frugal.core.schema_check import SCHEMAS, read_yaml
from frugal.core.sources import PACKAGE

_Says = Mapping[str, Any]
_HEAD = """# Reference: what is declared

Made from the declarations by `python -m frugal reference > docs/reference.md`. How to add one:
[CONTRIBUTING.md](../CONTRIBUTING.md).
"""


def reference_page() -> str:
    """The page as Markdown."""
    parts = [
        _HEAD,
        _table(
            "Estimators",
            "Rows of `results/summary/afape.parquet`, words of `afape.figures.estimators`.",
            {"estimator": _name, "in figures": _of("label"), "what it does": _of("doc"),
             "source": lambda _, says: f"`{says['equation']}`"},
            declared("frugal.judge.estimators", "Estimator"),
        ),
        _table(
            "Agents",
            "Kinds of `afape.agents`.",
            {"kind": _name, "what it is": _of("doc"), "learns": _learns, "settings": _settings},
            declared("frugal.acquire.policies", "AgentKind"),
        ),
        _table(
            "Planners",
            "Words of `planners` in the grids of `treatment.scenarios`.",
            {"planner": _name, "in figures": _of("label"), "what it does": _of("doc"),
             "reads": _of("reads"), "thresholds": _of("thresholds")},
            declared("frugal.search.planners", "SearchPlanner"),
        ),
        _table(
            "Generators",
            "Kinds of `recourse.generators`.",
            {"kind": _name, "in figures": _of("label"), "what it does": _of("doc"),
             "settings": _settings},
            declared("frugal.cover.generators", "GeneratorKind"),
        ),
    ]  # fmt: skip
    for folder in sorted(PACKAGE.glob("studies/*/figures")):
        study = folder.parent.name
        parts.append(
            _table(
                f"Figures of `{study}`",
                "PNG, PDF, and the table that is shown, under `results/figures/`.",
                {"figure": _name, "what it shows": _of("doc"), "drawn by": _stages},
                declared(f"frugal.studies.{study}.figures", "PrintedFigure"),
            )
        )
    return "\n".join(parts)


def reference_command(words: list[str]) -> int:
    """Print the page, or with the word `library` that of `frugal.library`; returns the exit status.

    Raises:
        ConfigError: another word is given.
    """
    if words not in ([], ["library"]):
        raise ConfigError(f"reference {' '.join(words)[:50]!r}: allowed is nothing, or library")
    if words:
        from frugal.run.library_page import library_page

        print(library_page(), end="")
    else:
        print(reference_page(), end="")
    return 0


def _table(
    title: str,
    words: str,
    columns: Mapping[str, Callable[[str, _Says], str]],
    found: Mapping[str, Declared],
) -> str:
    """A heading, a sentence and a table, one row per declaration in the order of their places."""
    order = sorted(found, key=lambda name: (found[name].says.get("place", 0), name))
    lines = [_row(columns), _row("---" for _ in columns)]
    lines += [_row(cell(name, found[name].says) for cell in columns.values()) for name in order]
    return "\n".join([f"\n## {title}\n\n{words}\n", *lines, ""])


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _name(name: str, says: _Says) -> str:
    del says
    return f"`{name}`"


def _of(key: str) -> Callable[[str, _Says], str]:
    return lambda _, says: str(says.get(key) or "none")


def _learns(name: str, says: _Says) -> str:
    del name
    return "no" if "fit" in says else "yes"


def _stages(name: str, says: _Says) -> str:
    del name
    return ", ".join(f"`{stage}`" for stage in says["stages"])


def _settings(name: str, says: _Says) -> str:
    """Names and meanings of settings; those that kinds share are named by their group."""
    del name
    words = []
    for key, said in says["settings"].items():
        meaning = said.get("description", "") if isinstance(said, dict) else said[1]
        words.append(f"`{key}`: {meaning}" if meaning else f"`{key}`")
    schema = read_yaml(SCHEMAS / "config.schema.yaml")["$defs"]
    for group in says.get("shares", ()):
        words += [f"`{key}`" for key in schema[group]["properties"]]
    return "; ".join(words) or "none"
