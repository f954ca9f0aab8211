"""``dnip compare``: the corrections side by side."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dnip.cli.console import complain, live_progress, print_json, say
from dnip.cli.options import (
    DEFAULT_CONFIDENCE,
    DEFAULT_SCALE,
    AsJson,
    Beta,
    Classes,
    Confidence,
    Scale,
    Smoothing,
    TablePath,
    Tau,
    split_classes,
    tau_of,
)


def compare(
    opt: TablePath,
    test: Annotated[
        Path,
        typer.Argument(
            help="Probability table with labels to score on; it shares no row with OPT.",
            show_default=False,
            readable=False,
        ),
    ],
    out: Annotated[Path, typer.Option(help="Folder for the results.", readable=False)] = Path(
        "dnip-compare"
    ),
    classes: Classes = None,
    methods: Annotated[
        str | None,
        typer.Option(
            help="Methods, comma-separated; one that cannot run is then an error.  [default: all "
            "that can run]",
            metavar="A,B,C",
            show_default=False,
        ),
    ] = None,
    labels: Annotated[
        int | None,
        typer.Option(
            help="Draw this many labels from OPT for each run, class-balanced up to 100; the other "
            "rows serve without their labels.  [default: all]",
            show_default=False,
        ),
    ] = None,
    seeds: Annotated[int, typer.Option(help="Runs of each method, with the seeds 0, 1, ….")] = 3,
    unlabelled: Annotated[
        Path | None,
        typer.Option(
            metavar="TABLE",
            help="More rows without labels to learn from, none of them in TEST; rows of OPT with "
            "an empty label serve likewise.",
            show_default=False,
            readable=False,
        ),
    ] = None,
    content_free: Annotated[
        Path | None,
        typer.Option(
            metavar="TABLE",
            help="What the model answers to content-free texts, as `dnip prompt --split "
            "content-free` writes it; rows of OPT or TEST whose id begins with content-free serve "
            "likewise.",
            show_default=False,
            readable=False,
        ),
    ] = None,
    beta: Beta = 2.7,
    tau: Tau = None,
    scale: Scale = DEFAULT_SCALE,
    smoothing: Smoothing = None,
    confidence: Confidence = DEFAULT_CONFIDENCE,
    json: AsJson = False,
) -> None:
    """Set DNIP beside what one might use instead.

    Fits every method on the same rows of OPT, with the same seeds, and scores it on TEST: raw
    argmax, batch and contextual calibration, prior division, temperature, vector and matrix
    scaling, a linear adapter, membership functions, the paper's DNIP and this package's. Prints
    accuracy, COBias, the worst class and macro-F1 with intervals, and writes them with all runs
    and a picture to a folder. A method whose library is missing is left out, with the reason.
    Ctrl-C keeps the methods that are finished.
    """
    from dnip.base.files import check_files
    from dnip.method.objective import Objective
    from dnip.studies.comparison import Material, choose
    from dnip.studies.comparison import compare as compare_methods
    from dnip.studies.comparison.text import describe_comparison
    from dnip.studies.comparison.writing import FILES, write_comparison
    from dnip.tables import ProbabilityTable

    objective = Objective(beta, tau_of(tau, smoothing), smoothing)
    chosen = choose(methods, objective, scale=scale)
    reads = {"opt": opt, "test": test, "unlabelled": unlabelled, "content free": content_free}
    check_files(reads, {}, FILES.within(out))
    FILES.prepare(out)
    names = split_classes(classes)
    tables = [
        None if path is None else ProbabilityTable.read(path, names) for path in reads.values()
    ]
    opt_table, test_table, more, free = tables
    assert opt_table is not None
    assert test_table is not None
    material = Material.of(opt_table, test_table, unlabelled=more, content_free=free)
    with live_progress("comparing") as show:
        result = compare_methods(
            material,
            chosen,
            n_labels=labels,
            n_seeds=seeds,
            confidence=confidence,
            strict=methods is not None,
            objective=objective,
            scale=scale,
            progress=lambda what, number, total: show(f"{what}, fit {number} of {total}"),
        )
    written = write_comparison(result, out)
    if result.interrupted:
        complain("interrupted", f"{len(result.outcomes)} finished methods are kept")
    if json:
        print_json({**result.to_dict(), "written": [str(path) for path in written]})
    else:
        say(describe_comparison(result))
        say("\nwritten: " + ", ".join(str(path) for path in written))
