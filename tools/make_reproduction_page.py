"""Write the measured part of docs/reproduction.md.

    python -m reproduction --out OUT
    python tools/make_reproduction_page.py OUT

What stands between ``<!-- measured -->`` and ``<!-- end -->`` is replaced, and the pictures that it
shows are put beside the others in fewer colours.
"""

from __future__ import annotations

import re
import sys
import textwrap
from pathlib import Path

from PIL import Image

PAGE = Path(__file__).parents[1] / "docs" / "reproduction.md"
SHOWN = ("main", "ablation", "opt-size")
WIDEST, COLOURS = 1000, 256


def main() -> None:
    """Write the page and its images."""
    out = Path(sys.argv[1])
    _, model, claims, *_ = (out / "report.md").read_text(encoding="utf-8").split("\n\n")
    _, headline, *_ = (out / "main.md").read_text(encoding="utf-8").split("\n\n")
    parts = [textwrap.fill(model, 120), of_one_shot(headline), without_numbers(claims)]
    for name in SHOWN:
        image = f"reproduction-{name}.png"
        shrink(out / f"{name}.png", PAGE.parent / "images" / image)
        parts.append(f"![{name}](images/{image})")
    measured = "<!-- measured -->\n" + "\n\n".join(parts) + "\n<!-- end -->"
    text = PAGE.read_text(encoding="utf-8")
    text = re.sub(r"<!-- measured -->.*<!-- end -->", lambda _: measured, text, flags=re.S)
    PAGE.write_text(text, encoding="utf-8")


def of_one_shot(headline: str) -> str:
    """Leave out the rows of other ways of prompting, which are in the table of the experiment."""
    lines = headline.split("\n")
    return "\n".join(line for line in lines if not line.startswith(("| N-shot", "| 5-shot")))


def without_numbers(claims: str) -> str:
    """Leave out the paper's own numbers, and intervals; both are in the report."""
    claims = re.sub(r", 95 % interval| \(−?[\d.]+ to −?[\d.]+\)", "", claims)
    lines = [line.split(" | ") for line in claims.split("\n")]
    return "\n".join(" | ".join(cells[:2] + cells[3:]) for cells in lines)


def shrink(source: Path, target: Path) -> None:
    """Write a picture no wider than the page, in a palette."""
    with Image.open(source) as picture:
        small = picture.convert("RGB")
        if small.width > WIDEST:
            height = round(small.height * WIDEST / small.width)
            small = small.resize((WIDEST, height), Image.Resampling.LANCZOS)
        small = small.quantize(COLOURS, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
        small.save(target, optimize=True)


if __name__ == "__main__":
    main()
