"""``dnip compare``: the corrections side by side."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dnip.cli import options
from dnip.cli.console import complain, finish, live_progress


@options.command(
    "compare",
    """
    Compare DNIP with other methods.

    Fits every method on the same rows of TABLE, with the same seeds, and scores it on the test: the
    most probable class, batch and contextual calibration, vector and matrix scaling, DNIP with the
    published settings, and ours. All metrics, all runs and a picture go to a folder. A method whose
    library is missing is left out, with the reason. Ctrl-C keeps the finished methods.
    """,
    examples=[
        "dnip compare opt.csv --test test.csv",
        "dnip compare opt.csv --test test.csv --methods raw,dnip",
    ],
)
@options.labelled_table
@options.option(
    "--test",
    type=options.path,
    required=True,
    metavar="TABLE",
    help="Labelled rows to score on. They share no row with TABLE.",
)
@options.option(
    "--out",
    type=options.path,
    metavar="DIR",
    default=Path("dnip-compare"),
    help="Folder for the results.",
)
@options.classes
@options.option(
    "--methods",
    type=options.names,
    metavar="A,B,C",
    help="Methods, comma-separated. It is an error if one cannot run. [default: all that can]",
)
@options.option(
    "--labels",
    type=int,
    metavar="N",
    help="Draw this many labels from TABLE for each run, as many of each class up to 100 labels; "
    "the other rows serve without theirs. [default: all]",
)
@options.option(
    "--seeds", type=int, metavar="N", default=3, help="Runs of each method, with the seeds 0, 1, …."
)
@options.option(
    "--unlabelled",
    type=options.path,
    metavar="TABLE",
    help="More rows without labels to learn from, none of them in the test. Rows of TABLE with an "
    "empty label are used in the same way.",
)
@options.beta
@options.group
@options.json
@options.option(
    "--content-free",
    type=options.path,
    metavar="TABLE",
    heading="Details",
    help="The model's probabilities for texts without content, of `dnip prompt "
    "content-free`. Rows of TABLE or the test whose id begins with content-free are used in the "
    "same way.",
)
def compare(
    table: Path,
    test: Path,
    out: Path,
    classes: tuple[str, ...] | None,
    labels: int | None,
    seeds: int,
    beta: float | None,
    group: str | None,
    json: bool,
    **given: Any,  # noqa: ANN401 - as in Python
) -> None:
    from dnip.base.files import check_files, check_writable, new_folder
    from dnip.comparing import compare as compare_methods
    from dnip.comparing.comparison import FILES, describe_comparison, write_comparison
    from dnip.method.objective import Objective

    reads = {"table": table, "test": test, "unlabelled": given["unlabelled"]}
    reads["content free"] = given["content_free"]
    check_files(reads, {}, {name: out / name for name in FILES})
    with new_folder(out) as folder:  # before long work
        for name in FILES:
            check_writable(folder / name)
    with live_progress("comparing") as show:
        result = compare_methods(
            table,
            test,
            classes=classes,
            groups=group,
            n_labels=labels,
            n_seeds=seeds,
            objective=None if beta is None else Objective(beta=beta),
            progress=lambda what, number, total: show(
                f"{what}, fit {number} of {total}", number - 1, total
            ),
            **given,
        )
    written = write_comparison(result, out)
    if result.interrupted:
        complain("interrupted", f"{len(result.methods)} finished methods are kept")
    line = options.line("fit", table, classes, by=group, there=result.classes)
    finish(result.to_dict(), describe_comparison(result, line), json=json, written=written)
