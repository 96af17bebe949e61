"""A notebook as a page of Markdown: its text, its code, and the outputs that are stored in it."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any


def as_markdown(text: str) -> str:
    """The page of a notebook, for the site."""
    return "\n\n".join(part for cell in json.loads(text)["cells"] for part in _cell(cell))


def _cell(cell: Mapping[str, Any]) -> Iterator[str]:
    source = "".join(cell["source"])
    if cell["cell_type"] == "markdown":
        yield source
        return
    yield f"```python\n{source}\n```"
    for output in cell["outputs"]:
        yield _output(output)


def _output(output: Mapping[str, Any]) -> str:
    """One output: a picture, a table, or a text, by what it has."""
    if output["output_type"] == "stream":
        return f"```text\n{''.join(output['text']).rstrip()}\n```"
    data = {kind: "".join(lines) for kind, lines in output["data"].items()}
    if picture := data.get("image/png"):
        return f"![Output of the cell above](data:image/png;base64,{picture.strip()})"
    if table := data.get("text/html"):
        table = re.sub(r"<style.*?</style>", "", table, flags=re.DOTALL)
        table = re.sub(r'<table border="1" class="dataframe">', '<table class="docutils">', table)
        lines = re.sub(r' style="text-align: right;"', "", table).splitlines()
        return f'<div class="output">{"".join(line.strip() for line in lines)}</div>'
    return f"```text\n{data['text/plain']}\n```"
