"""Draws gallery/NAME.png for each notebook: its first picture, small, for the first page.

`python docs/figures/gallery.py` in the project's folder, after outputs of notebooks were stored.
"""

import base64
import json
from io import BytesIO
from pathlib import Path

from PIL import Image, ImageOps

HERE = Path(__file__).parent
SIZE = (320, 192)
COLOURS = 32


def first_picture(notebook: Path) -> Image.Image:
    """The first picture among the outputs that are stored in a notebook."""
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    shown = (output.get("data", {}) for cell in cells for output in cell.get("outputs", []))
    picture = next(data["image/png"] for data in shown if "image/png" in data)
    return Image.open(BytesIO(base64.b64decode(picture))).convert("RGB")


def main() -> None:
    """Write a picture for each notebook."""
    for notebook in sorted((HERE.parent / "notebooks").glob("*.ipynb")):
        small = ImageOps.pad(first_picture(notebook), SIZE, color="white")
        path = HERE / "gallery" / f"{notebook.stem}.png"
        small.quantize(COLOURS).save(path, optimize=True)


if __name__ == "__main__":
    main()
