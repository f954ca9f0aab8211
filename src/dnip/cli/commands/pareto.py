"""``dnip pareto``: every trade-off between accuracy and COBias, and one of them to deploy."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from dnip.base.option import Switch
from dnip.cli import options
from dnip.cli.console import complain, finish, live_progress


def pareto(
    table: Path,
    /,
    test: Path | None = None,
    folder: Path = Path("dnip-pareto"),
    choose: str | None = None,
    out: Path | None = None,
    classes: str | None = None,
    scale: Annotated[str | None, options.scale_name] = None,
    smoothing: float | None = None,
    effort: float = 1.0,
    cross_fit: Switch = "auto",
    seed: int = 0,
    time_limit: float | None = None,
    json: bool = False,
) -> None:
    """Show every trade-off between accuracy and COBias.

    Finds all weights that no other weights beat in both on the labelled rows, from the most
    accurate to the most even. Scores them on a test table, draws them, and writes the coefficients
    of the one that a rule chooses. Ctrl-C keeps the front so far.

    Parameters
    ----------
    table
        Labelled probabilities to fit on: a column for each class, and label; .csv, .jsonl,
        .parquet, or a folder of it.
    test : TABLE
        Also score every point on these rows. They choose nothing.
    folder : DIR
        Folder for pareto.json, pareto.csv and pareto.png.
    choose : RULE
        Write the coefficients of one point, chosen on TABLE alone: knee, max-accuracy, min-cobias,
        'accuracy>=0.7', 'cobias<=0.05', 'loss<=0.01' (accuracy given up for less COBias), or the
        number of a point.
    out : FILE
        Where to write the coefficients. [default: coefficients.json]

    Search
    ------
    effort
        Multiplies the number of fits, 46.
    cross_fit
        Also score points on rows of TABLE that were left out. auto: if a class has fewer than 100
        labels.
    seed
        Seed of the search.
    time_limit
        Seconds after which the front so far is kept.

    Examples
    --------
    dnip pareto opt.csv --test test.csv
    dnip pareto opt.csv --choose 'loss<=0.01' --out coefficients.json
    """
    from dnip.base.errors import InvalidInputError, listed
    from dnip.base.files import check_files
    from dnip.cli.coefficients import USUAL_OUT, check_out, save_coefficients
    from dnip.fitting.pareto import Rule, trace_front
    from dnip.method.solution import Status
    from dnip.presenting.front import FILES, describe_choice, present_front
    from dnip.tables import Scan

    rule = None if choose is None else Rule.of(choose)
    if rule is None and out is not None:
        raise InvalidInputError(
            f"--out {out} is for the coefficients of a chosen point, but none is chosen",
            hint="Add --choose knee, or name a folder for the front with --folder",
        )
    names = options.split_classes(classes)
    target = USUAL_OUT if rule is None else check_out(out, table, names)
    writes = {} if rule is None else {"out": target}
    check_files({"table": table, "test": test}, writes, FILES.within(folder))
    first = next(iter(Scan(table, names)))
    (held_out,) = options.read_others(first, names, test)
    FILES.prepare(folder)
    with live_progress("searching") as show:
        found = trace_front(
            table,
            held_out,
            classes=names,
            scale=scale,
            smoothing=smoothing,
            effort=effort,
            seed=seed,
            time_limit=time_limit,
            cross=cross_fit,
            progress=lambda done, total, points: show(
                f"{min(done / total, 1):.0%}, {points} points on the front", done, total
            ),
            cross_progress=lambda fold, n_folds: show(
                f"without fold {fold} of {n_folds}", fold - 1, n_folds
            ),
        )
    if found.front.status is Status.INTERRUPTED:
        complain("interrupted", f"{len(found.front.points)} points found so far are kept")
    if found.test is not None:
        unseen = [found.classes[c] for c, own in enumerate(found.test.points[0]) if not own.any()]
        if unseen:
            complain("warning", f"{test}: no labelled row of class {listed(unseen)}: left out")
    data = found.provenance["data"]
    if "sample" in data:
        drawn = data["sample"]["rows"]
        complain("note", f"the front is that of a sample of {drawn:,} of {data['rows']:,} rows")
    summary = found.to_dict()
    if rule is not None:
        summary["chosen"] = {**found.choice(rule), "out": str(target)}
    results = present_front(found, summary, rule)
    written, text = FILES.write(folder, results), results.to_text()
    if rule is not None:
        save_coefficients(found.coefficients(rule), target)
        written = (*written, target)
        text += f"\n{describe_choice(found, rule)}"
    finish(summary, text, json=json, written=written)
