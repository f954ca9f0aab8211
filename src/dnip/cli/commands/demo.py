"""``dnip demo``: the main job on a bundled real table."""

from __future__ import annotations

from pathlib import Path

from dnip.cli import options
from dnip.cli.console import finish, live_progress


@options.command(
    "demo",
    """
    Run the main job on a bundled table.

    The tables have the probabilities that SmolLM2-135M-Instruct gave to AG News. Coefficients are
    fitted on one of them and scored on the other; coefficients, a picture and a report are
    written to a folder. No download, no key, no GPU.
    """,
    examples=["dnip demo", "dnip demo --out results"],
)
@options.option(
    "--out",
    type=options.path,
    metavar="DIR",
    default=Path("dnip-demo"),
    help="Folder for the results.",
)
@options.json
def demo(out: Path, json: bool) -> None:
    from dnip.base.files import check_files
    from dnip.comparing.demonstration import FILES, run_demonstration
    from dnip.presenting.text import describe_evaluation

    check_files({}, {}, {name: out / name for name in FILES})
    with live_progress("fitting"):
        result = run_demonstration(out)
    text = (
        f"AG News, sorted by SmolLM2-135M-Instruct, which starves two classes. Coefficients fitted "
        f"on\n{result.fit.evaluation.n:,} rows, scored on {result.test.n:,} others.\n\n"
        f"{describe_evaluation(result.test, result.fit.coefficients)}"
    )
    content = {**result.fit.solution.to_dict(), "test": result.test.to_dict()}
    finish(content, text, json=json, written=result.written)
