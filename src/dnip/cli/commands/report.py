"""``dnip report``: one HTML page about a table."""

from __future__ import annotations

from pathlib import Path

from dnip.cli import options
from dnip.cli.console import finish, live_progress


@options.command(
    "report",
    """
    Write one HTML page: which classes starve, and what mending costs.

    With coefficients, TABLE is scored. Without, one half of it is fitted and the other is scored.
    With --test, TABLE is fitted and the test is scored. The page loads nothing, and holds no row.
    """,
    examples=[
        "dnip report opt.csv",
        "dnip report test.csv --coefficients coefficients.json --out report.html",
    ],
)
@options.scored_table
@options.option(
    "--test",
    type=options.path,
    metavar="TABLE",
    help="Show these rows; TABLE serves to find weights.",
)
@options.option(
    "--coefficients",
    type=options.path,
    metavar="FILE",
    help="Show what these coefficients do, and fit none. [default: none]",
)
@options.option(
    "--out",
    type=options.path,
    metavar="FILE",
    default=Path("report.html"),
    help="Where to write the page.",
)
@options.classes
@options.json
@options.confidence
@options.seed
def report(
    table: Path,
    test: Path | None,
    coefficients: Path | None,
    out: Path,
    classes: tuple[str, ...] | None,
    confidence: float,
    seed: int,
    json: bool,
) -> None:
    from dnip.base.files import check_files
    from dnip.method.coefficients import Coefficients
    from dnip.presenting.formats import wrapped
    from dnip.presenting.report import report as report_on
    from dnip.tables import ProbabilityTable

    reads = {"table": table, "test": test, "coefficients": coefficients}
    check_files(reads, {"out": out})
    fitted = None if coefficients is None else Coefficients.load(coefficients)
    names = classes or (None if fitted is None else fitted.classes)
    rows = ProbabilityTable.read(table, names)
    (others,) = options.read_others(rows, names, test)
    with live_progress("searching"):
        page = report_on(rows, test=others, coefficients=fitted, confidence=confidence, seed=seed)
    page.save(out)
    text = wrapped(f"{page.verdict}\n\nwritten: {out}")
    if test is None and fitted is None and not page.verdict.startswith("No signal"):
        text += f"\nNext, ask for a verdict on all rows: {options.line('fit', table, classes)}"
    finish({"verdict": page.verdict, "written": [str(out)]}, text, json=json)
