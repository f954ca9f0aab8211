"""The main job on the bundled table: fit, evaluate before and after, report."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass
from importlib.resources import as_file, files
from pathlib import Path

from dnip.base.errors import MissingDependencyError
from dnip.base.files import new_folder, write_text
from dnip.fitting.fit import Fit, fit
from dnip.presenting.pictures import class_accuracy_figure, save_figure
from dnip.presenting.text import describe_evaluation
from dnip.tables import ProbabilityTable
from dnip.using.evaluation import Evaluation, evaluate

CLASSES = ("World", "Sports", "Business", "Technology")
#: What is written.
FILES = ("coefficients.json", "class_accuracies.png", "report.md")


@dataclass(frozen=True, eq=False)
class Demonstration:
    """What the demonstration found and wrote.

    Attributes
    ----------
    fit : Fit
        On the opt table.
    test : Evaluation
        On the test table, before and after.
    written : tuple of pathlib.Path
        Coefficients, picture (where matplotlib is installed) and report.
    """

    fit: Fit
    test: Evaluation
    written: tuple[Path, ...]


def bundled_table(name: str) -> ProbabilityTable:
    """Return a bundled table of AG News, "opt" or "test"; see ``data/README.md``.

    Examples
    --------
    >>> bundled_table("opt").n_classes
    4
    """
    with as_file(files("dnip.comparing") / "data" / f"{name}.csv") as path:
        return ProbabilityTable.read(path)


def run_demonstration(folder: str | os.PathLike[str]) -> Demonstration:
    """Fit on the opt table, score the test table, and write the results into a folder.

    Parameters
    ----------
    folder : path-like
        Made if it does not exist.

    Raises
    ------
    OutputError
        If the folder or a file in it cannot be written.
    """
    with new_folder(folder) as target:
        fitted = fit(bundled_table("opt"), evidence=False)
        test = evaluate([bundled_table("test")], coefficients=fitted.coefficients)
        coefficients, picture, report = (target / name for name in FILES)
        fitted.coefficients.save(coefficients)
        written = [coefficients]
        with suppress(MissingDependencyError):  # the report then goes without its picture
            written += save_figure(class_accuracy_figure(test), picture)
        written.append(write_text(report, _report(fitted, test, with_picture=len(written) > 1)))
    return Demonstration(fitted, test, tuple(written))


def _report(fit: Fit, test: Evaluation, *, with_picture: bool) -> str:
    picture = "![class accuracies](class_accuracies.png)\n\n" if with_picture else ""
    return f"""# One coefficient per class

Fitted on {fit.evaluation.n:,} labelled rows, scored on {test.n:,} others.

{picture}```
{describe_evaluation(test, fit.coefficients)}
```

Apply the coefficients to new probabilities with

    dnip apply TABLE --coefficients coefficients.json --out PREDICTIONS.csv
"""
