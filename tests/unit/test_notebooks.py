"""Notebooks of docs/notebooks run, and give the texts and tables that are stored in them.

`python -m tests.unit.test_notebooks` stores the outputs anew. No Jupyter is needed: a cell shows
its last expression as Jupyter does. They run in portable arithmetic: training depends on the CPU.
"""

import ast
import base64
import contextlib
import io
import json
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import pytest
from frugal.core.arithmetic import pinned
from PIL import Image

from tests.unit.page_words import ROOT

FOLDER = ROOT / "docs" / "notebooks"
ALL = sorted(FOLDER.glob("*.ipynb"))
MOST_BYTES, MOST_LINES, MOST_BYTES_OF_A_PICTURE = 300_000, 59, 25_000


def outputs_of(source: str, names: dict[str, Any]) -> list[dict[str, Any]]:
    """What a cell prints, then what it shows, then the figures that it drew by pyplot."""
    tree, last, printed = ast.parse(source), None, io.StringIO()
    if isinstance(tree.body[-1], ast.Expr):
        last = ast.Expression(tree.body.pop().value)  # pyright: ignore[reportAttributeAccessIssue]
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, "cell", "exec"), names)
        value = None if last is None else eval(compile(last, "cell", "eval"), names)
    outputs: list[dict[str, Any]] = []
    figures = [plt.figure(number) for number in plt.get_fignums()]
    plt.close("all")
    if text := printed.getvalue():
        outputs.append({"name": "stdout", "output_type": "stream", "text": lines(text)})
    for one in (*([] if value is None else [value]), *figures):
        outputs.append({"data": shown(one), "metadata": {}, "output_type": "display_data"})
    return outputs


def shown(value: Any) -> dict[str, Any]:
    """The forms in which a value shows itself."""
    content = io.BytesIO()
    if hasattr(value, "savefig"):
        value.savefig(content, format="png", dpi=90, bbox_inches="tight")
    elif hasattr(value, "_repr_png_"):
        content.write(value._repr_png_())
    if content.tell():
        picture = base64.b64encode(content.getvalue()).decode()
        return {"image/png": picture, "text/plain": ["figure"]}
    data = {"text/plain": lines(repr(value))}
    if hasattr(value, "_repr_html_"):
        data["text/html"] = lines(value._repr_html_())
    return dict(sorted(data.items()))


def lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


def run(path: Path) -> dict[str, Any]:
    """The notebook with the outputs of a run in its own folder."""
    notebook, names = json.loads(path.read_text(encoding="utf-8")), {}
    before = Path.cwd()
    try:
        os.chdir(path.parent)
        for number, cell in enumerate(notebook["cells"]):
            if cell["cell_type"] == "code":
                cell["outputs"] = outputs_of("".join(cell["source"]), names)
                cell["execution_count"] = None
            cell["id"] = f"cell-{number}"
    finally:
        os.chdir(before)
    return notebook


def run_portable(paths: Sequence[Path]) -> list[dict[str, Any]]:
    """The same from a process of its own whose arithmetic is that of any CPU."""
    command = [sys.executable, "-m", "tests.unit.test_notebooks", "--show", *map(str, paths)]
    done = subprocess.run(
        command, cwd=ROOT, env=pinned(os.environ), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout)


def without_pictures(notebook: dict[str, Any]) -> list[Any]:
    """Outputs cell by cell; of a figure only that there is one."""
    outputs = [cell.get("outputs", []) for cell in notebook["cells"]]
    for one in (output for cell in outputs for output in cell):
        if "image/png" in one.get("data", {}):
            one["data"]["image/png"] = "figure"
    return outputs


@pytest.mark.trains
def test_notebooks_give_the_outputs_that_are_stored_in_them():
    """One process runs all of them, for each would import the same libraries."""
    for path, made in zip(ALL, run_portable(ALL), strict=True):
        stored = json.loads(path.read_text(encoding="utf-8"))
        assert without_pictures(made) == without_pictures(stored), path.name


@pytest.mark.parametrize("path", ALL, ids=lambda path: path.stem)
def test_a_notebook_is_valid_small_and_names_no_folder_of_a_machine(path: Path):
    import nbformat

    nbformat.validate(nbformat.reads(path.read_text(encoding="utf-8"), as_version=4))
    content = path.read_bytes()
    assert len(content) < MOST_BYTES
    assert not re.search(rb"/(home|work|tmp|root)/", content)


@pytest.mark.parametrize("path", ALL, ids=lambda path: path.stem)
def test_a_notebook_is_short(path: Path):
    """Lines of code and prose; seconds are in docs/notes/tests.md, for no test reads the clock."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    assert sum(len(cell["source"]) for cell in cells) <= MOST_LINES


def test_the_gallery_shows_a_small_picture_of_each_notebook():
    index = (ROOT / "docs" / "README.md").read_text(encoding="utf-8")
    linked = re.findall(r"^- \[!\[.+?\]\(figures/(.+?)\)\]\(notebooks/(\w+)\.ipynb\)", index, re.M)
    assert len(ALL) == 12
    assert sorted(linked) == [(f"gallery/{path.stem}.png", path.stem) for path in ALL]
    for picture, _ in linked:
        path = ROOT / "docs" / "figures" / picture
        assert path.stat().st_size <= MOST_BYTES_OF_A_PICTURE
        with Image.open(path) as image:
            assert image.width == 320


if __name__ == "__main__":
    if sys.argv[1:2] == ["--show"]:
        print(json.dumps([run(Path(name)) for name in sys.argv[2:]]))
        sys.exit()
    chosen = [Path(name).absolute() for name in sys.argv[1:]] or ALL
    for path, made in zip(chosen, run_portable(chosen), strict=True):
        written = json.dumps(made, ensure_ascii=False, indent=1)
        path.write_text(written + "\n", encoding="utf-8")
