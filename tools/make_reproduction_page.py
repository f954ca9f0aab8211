"""Make a documentation page of a folder that ``python -m reproduction`` has written.

python tools/make_reproduction_page.py FOLDER docs/reproduction-tables.md --skip confusion kde-1 …

Takes the report as it is, leaves out the sections and figures that are named, and puts the other
figures, in fewer colours, beside the documentation's images. Paths in the command that the report
shows are replaced by names. Pictures that the page no longer shows are deleted.
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path

from PIL import Image

_PICTURE = re.compile(r"!\[(?P<title>[^\]]*)\]\(figures/(?P<name>[^)]+)\.png\)")
_SHOWN = re.compile(r"\(images/(?P<name>[^)]+\.png)\)")
_WIDEST, _COLOURS = 1000, 256
# What stands for the paths of a run.
_NAMES = {"data": "DATASETS", "tables": "TABLES", "out": "reproduction"}


def main() -> None:
    """Write the page and its images."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("page", type=Path)
    parser.add_argument("--skip", nargs="*", default=[], help="titles of sections, or of figures")
    given = parser.parse_args()
    report = (given.folder / "report.md").read_text(encoding="utf-8")
    sections = re.split(r"(?m)^(?=## )", report)
    kept = [s for s in sections if not any(s.startswith(f"## {name}") for name in given.skip)]
    images = given.page.parent / "images"
    before = given.page.read_text(encoding="utf-8") if given.page.is_file() else ""

    def place(found: re.Match[str]) -> str:
        name = found["name"]
        if name in given.skip:
            return ""
        target = images / f"{given.page.stem}-{name}.png"
        shrink(given.folder / "figures" / f"{name}.png", target)
        return f"![{found['title']}](images/{target.name})"

    text = re.sub(r"\n{3,}", "\n\n", _PICTURE.sub(place, "".join(kept)))
    text = without_paths(text)
    given.page.write_text(text, encoding="utf-8")
    for name in set(_SHOWN.findall(before)) - set(_SHOWN.findall(text)):
        (images / name).unlink(missing_ok=True)


def without_paths(text: str) -> str:
    """Return the report with names in place of the paths in its command."""

    def named(found: re.Match[str]) -> str:
        command = found[0]
        for option, name in _NAMES.items():
            command = re.sub(rf"(--{option}[ =])('[^']*'|\S+)", rf"\g<1>{name}", command)
        return re.sub(r"(--model[ =])\S*/(models/)", r"\g<1>\g<2>", command)

    return re.sub(r"(?m)^python -m reproduction .*$", named, text)


def shrink(source: Path, target: Path) -> None:
    """Write a picture no wider than the page, in a palette."""
    with Image.open(source) as picture:
        small = picture.convert("RGB")
        if small.width > _WIDEST:
            height = round(small.height * _WIDEST / small.width)
            small = small.resize((_WIDEST, height), Image.Resampling.LANCZOS)
        small.quantize(_COLOURS, Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE).save(
            target, optimize=True
        )


if __name__ == "__main__":
    main()
