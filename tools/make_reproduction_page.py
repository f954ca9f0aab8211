"""Write the measured part of docs/reproduction.md.

python tools/make_reproduction_page.py MODELS TABLES COMMIT

MODELS and TABLES are folders that ``python -m reproduction`` has written, on a language model and
on saved tables; COMMIT is what they were made at. What stands between ``<!-- measured -->`` and
``<!-- end -->`` is replaced, and the pictures that it shows are put beside the others in fewer
colours.
"""

from __future__ import annotations

import argparse
import json
import re
from pathlib import Path

from PIL import Image

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "reproduction.md"
_WIDEST, _COLOURS = 1000, 256
# Figures to show: of which run, and what it is.
_SHOWN = {
    "kde-1": ("tables", "Densities of the probability of the true class"),
    "overview-differences": ("tables", "Differences between class accuracies"),
    "opt-size": ("tables", "Accuracy and COBias over the number of labels"),
    "prior-methods": ("models", "Comparison with prior methods"),
}
_SHORT = {"holds": "holds", "does not hold": "no", "not judged": "–"}


def main() -> None:
    """Write the page and its images."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", type=Path)
    parser.add_argument("tables", type=Path)
    parser.add_argument("commit")
    given = parser.parse_args()
    runs = {"models": given.models, "tables": given.tables}
    parts = [f"Measured at commit {given.commit}.", claims(runs)]
    for folder in runs.values():
        headline = (folder / "tables" / "main-headline.md").read_text(encoding="utf-8")
        parts.append(
            headline.split("\n\nA row is")[0].replace("**Before", f"**{_name(folder)}: before")
        )
    for name, (run, title) in _SHOWN.items():
        image = f"reproduction-{name}.png"
        shrink(runs[run] / "figures" / f"{name}.png", PAGE.parent / "images" / image)
        parts.append(f"![{title}, {_name(runs[run])}](images/{image})")
    text = PAGE.read_text(encoding="utf-8")
    measured = "<!-- measured -->\n" + "\n\n".join(parts) + "\n<!-- end -->"
    PAGE.write_text(
        re.sub(r"<!-- measured -->.*<!-- end -->", lambda _: measured, text, flags=re.S),
        encoding="utf-8",
    )


def claims(runs: dict[str, Path]) -> str:
    """Return what the paper says, and whether it holds in each run, as a table."""
    found = {
        name: {claim["claim"]: claim for claim in json.loads((folder / "claims.json").read_text())}
        for name, folder in runs.items()
    }
    lines = ["| experiment | the paper says | model | tables |", "| --- | --- | --- | --- |"]
    for name, claim in found["models"].items():
        other = found["tables"].get(name)
        verdicts = [_SHORT[one["verdict"]] if one else "" for one in (claim, other)]
        paper = "" if "no number" in claim["paper"] else f" ({claim['paper']})"
        lines.append(f"| {claim['experiment']} | {name}{paper} | {' | '.join(verdicts)} |")
    return "\n".join(lines)


def _name(folder: Path) -> str:
    """Return what a run was made on."""
    inputs = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))["inputs"]
    return "models/small" if inputs["saved_tables"] is None else "seven saved tables"


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
