"""``dnip demo``: the main job on a bundled real table."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dnip.cli.console import live_progress, print_json, say
from dnip.cli.options import AsJson


def demo(
    out: Annotated[Path, typer.Option(help="Folder for the results.", readable=False)] = Path(
        "dnip-demo"
    ),
    json: AsJson = False,
) -> None:
    """Run the main job on a bundled table.

    Fits on one half of a table of AG News probabilities that a small language model gave, scores
    the other half, and writes coefficients, a picture and a report. No download, no key, no GPU.
    """
    from dnip.base.files import check_files
    from dnip.presenting.text import describe
    from dnip.studies.demonstration import FILES, run_demonstration

    check_files({}, {}, {name: out / name for name in FILES})
    with live_progress("fitting"):
        result = run_demonstration(out)
    if json:
        print_json(
            {
                **result.fit.solution.to_dict(),
                "test": result.test.to_dict(),
                "written": [str(path) for path in result.written],
            }
        )
        return
    say(
        f"AG News, a small language model that starves one class: coefficients fitted on "
        f"{result.fit.evaluation.n:,} rows,\nscored on {result.test.n:,} others.\n"
    )
    say(describe(result.test, result.fit.coefficients))
    say("\nwritten: " + ", ".join(str(path) for path in result.written))
    if not any(path.suffix == ".png" for path in result.written):
        say("The picture needs matplotlib: pip install 'dnip[plot]'", err=True)
