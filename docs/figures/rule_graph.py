"""Draws rule_graph.png: the rules of the default and what each waits for, a band for each study.

`python docs/figures/rule_graph.py` in the project's folder. Edges that others imply are left out.
"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import networkx as nx
from matplotlib.patches import Rectangle

HERE = Path(__file__).parent
PROJECT = HERE.parents[1]
HALF_WIDTH = 0.42  # of a box, columns
BANDS = {  # study → colour, and the files of its rules
    "tables": ("#777777", ("data",)),
    "afape": ("#0072B2", ("chain", "seeds", "figures", "grid")),
    "dadi": ("#D55E00", ("dadi",)),
    "diagnosis": ("#009E73", ("diagnosis",)),
    "treatment": ("#CC79A7", ("treatment",)),
    "recourse": ("#996600", ("recourse",)),
}


def rule_graph() -> nx.DiGraph:
    """Rule → those that wait for it, as `snakemake --rulegraph` tells; without `all`."""
    with tempfile.TemporaryDirectory() as folder:
        words = ["--rulegraph", "--snakefile", str(PROJECT / "Snakefile"), "--directory", folder]
        output = subprocess.run(
            [sys.executable, "-m", "snakemake", *words], capture_output=True, text=True, check=True
        ).stdout
    names = dict(re.findall(r'(\d+)\[label = "(\w+)"', output))
    graph = nx.DiGraph()
    graph.add_nodes_from(names.values())
    graph.add_edges_from((names[a], names[b]) for a, b in re.findall(r"(\d+) -> (\d+)", output))
    graph.remove_node("all")
    return nx.transitive_reduction(graph)


def band_of() -> dict[str, str]:
    """Rule → study, by the file in which it stands."""
    found = {}
    for study, (_, stems) in BANDS.items():
        for stem in stems:
            text = (PROJECT / "workflow" / "rules" / f"{stem}.smk").read_text()
            found |= dict.fromkeys(
                re.findall(r"^ *(?:use rule stage as|rule) (\w+)", text, re.MULTILINE), study
            )
    return found


def places(graph: nx.DiGraph) -> tuple[dict[str, tuple[float, float]], dict[str, float]]:
    """Column and line of each rule, and the first line of each study."""
    study, at, first, line = band_of(), {}, {}, 0
    depth = {
        rule: column
        for column, rules in enumerate(nx.topological_generations(graph))
        for rule in rules
    }
    for name in BANDS:
        rules = [rule for rule in graph if study[rule] == name]
        rows: dict[int, int] = {}
        for rule in sorted(rules, key=lambda rule: (depth[rule], rule)):
            row = rows.get(depth[rule], 0)
            rows[depth[rule]] = row + 1
            at[rule] = (float(depth[rule]), -float(line + row))
        first[name] = -float(line)
        line += max(rows.values(), default=0) + 1
    return at, first


def main() -> None:
    """Draw and write the picture."""
    graph, study = rule_graph(), band_of()
    at, first = places(graph)
    figure, axes = plt.subplots(figsize=(13, 9))
    for before, after in graph.edges:
        colour = BANDS[study[after]][0]
        (x, y), (end, height) = at[before], at[after]
        axes.annotate(
            "",
            (end - HALF_WIDTH, height),
            (x + HALF_WIDTH, y),
            zorder=1,
            arrowprops={
                "arrowstyle": "-|>",
                "color": colour,
                "alpha": 0.6,
                "shrinkA": 0,
                "shrinkB": 0,
            },
        )
    for rule, (x, y) in at.items():
        corner, size = (x - HALF_WIDTH, y - 0.4), (2 * HALF_WIDTH, 0.8)
        axes.add_patch(Rectangle(corner, *size, fc="white", ec=BANDS[study[rule]][0], zorder=2))
        words = rule.replace("_", "\n", 1).replace("_", " ")
        axes.text(x, y, words, ha="center", va="center", fontsize=6.5, zorder=3)
    for name, y in first.items():
        axes.text(-0.75, y, name, color=BANDS[name][0], weight="bold", ha="right", va="center")
    columns = max(x for x, _ in at.values())
    axes.set(xlim=(-1.4, columns + 0.6), ylim=(min(y for _, y in at.values()) - 0.8, 0.8))
    axes.axis("off")
    figure.savefig(HERE / "rule_graph.png", dpi=110, bbox_inches="tight", metadata={"Software": ""})


if __name__ == "__main__":
    main()
