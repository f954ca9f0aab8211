"""``dnip report``: one HTML page about a table."""

from __future__ import annotations

from pathlib import Path

from dnip.cli import options
from dnip.cli.console import finish, live_progress


@options.command(
    "report",
    """
    Write one HTML page: apply or keep, each class, and what it costs.

    With coefficients, the page shows what they do to TABLE. Without, TABLE is fitted as `dnip fit`
    does, and the page shows what refits expect of other rows. It loads nothing, and holds no row.
    """,
    examples=[
        "dnip report opt.csv",
        "dnip report test.csv --coefficients coefficients.json --out report.html",
    ],
)
@options.scored_table
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
@options.group
@options.by
@options.json
def report(
    table: Path,
    coefficients: Path | None,
    out: Path,
    classes: tuple[str, ...] | None,
    group: str | None,
    by: str | None,
    json: bool,
) -> None:
    from dnip.base.files import check_files, check_suffix
    from dnip.presenting.formats import wrapped
    from dnip.presenting.report import report as report_on

    check_files({"table": table, "coefficients": coefficients}, {"out": out})
    check_suffix(out, ".html")
    with live_progress("searching"):
        page = report_on(table, coefficients=coefficients, classes=classes, groups=group, by=by)
    page.save(out)
    text = wrapped(f"{page.verdict}\n\nwritten: {out}")
    if coefficients is None and page.verdict.startswith("Apply"):
        there = page.coefficients.classes
        line = options.line("fit", table, classes, by=by, there=there, group=group)
        text += f"\nNext, keep the coefficients: {line}"
    finish({"verdict": page.verdict, "written": [str(out)]}, text, json=json)
