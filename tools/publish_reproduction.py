"""Take the report of a run of `dnip reproduce` into the documentation.

python tools/publish_reproduction.py OUT docs/reproduction.md

Figures go to docs/images/NAME, with few colours so that they stay small.
"""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path

from PIL import Image

_COLOURS = 64
_PICTURE = re.compile(r"(!\[[^]]*\])\(figures/([^)]+)\)")


def publish(out: Path, page: Path) -> None:
    """Write the page and its pictures."""
    pictures = page.parent / "images" / page.stem
    shutil.rmtree(pictures, ignore_errors=True)
    pictures.mkdir(parents=True)
    text = (out / "report.md").read_text(encoding="utf-8")
    for _, name in _PICTURE.findall(text):
        with Image.open(out / "figures" / name) as picture:
            small = picture.convert("RGB").quantize(_COLOURS, dither=Image.Dither.NONE)
            small.save(pictures / name, optimize=True)
    moved = _PICTURE.sub(rf"\1(images/{page.stem}/\2)", text)
    page.write_text(moved, encoding="utf-8")


if __name__ == "__main__":
    publish(Path(sys.argv[1]), Path(sys.argv[2]))
