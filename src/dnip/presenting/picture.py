"""The class-accuracy picture."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from dnip.base.errors import InvalidInputError
from dnip.base.files import atomic_path, check_writable
from dnip.base.optional import load_optional
from dnip.metrics import accuracy, class_accuracies, cobias
from dnip.presenting.escaping import literal

if TYPE_CHECKING:
    import os

    from dnip.deploying.evaluation import Evaluation

BEFORE, AFTER = "#b9bec7", "#1f6fb4"


#: Formats of pictures, by suffix.
SUFFIXES = (".png", ".svg", ".pdf")


def check_picture(path: str | os.PathLike[str]) -> None:
    """See that a picture can be drawn and written there, before long work.

    Raises
    ------
    InvalidInputError
        For another suffix than .png, .svg and .pdf.
    MissingDependencyError
        If matplotlib is not installed.
    OutputError
        If the file cannot be written.
    """
    if Path(path).suffix not in SUFFIXES:
        raise InvalidInputError(
            f"{path} is no name of a picture: its suffix must be one of {', '.join(SUFFIXES)}",
            hint="Name it flows.png, say",
        )
    load_optional("matplotlib.figure", purpose="draw pictures", extra="plot")
    check_writable(path)


def draw_class_accuracies(evaluation: Evaluation, path: str | os.PathLike[str]) -> None:
    """Draw the accuracy of every class before and after, with accuracy and COBias above.

    Parameters
    ----------
    evaluation : Evaluation
        With coefficients.
    path : path-like
        A .png, .svg or .pdf file.

    Raises
    ------
    MissingDependencyError
        If matplotlib is not installed.
    OutputError
        If the file cannot be written.
    """
    figure_module = load_optional("matplotlib.figure", purpose="draw pictures", extra="plot")
    n_classes = len(evaluation.classes)
    figure = figure_module.Figure(figsize=(max(6.4, 0.45 * n_classes), 3.6), layout="constrained")
    axes = figure.subplots()
    at = np.arange(n_classes)
    sides = [("before", evaluation.raw, BEFORE, -0.2), ("after", evaluation.reweighted, AFTER, 0.2)]
    titles = []
    for name, confusion, colour, shift in sides:
        if confusion is None:
            continue
        rates = class_accuracies(confusion)
        bars = axes.bar(at + shift, rates, width=0.38, color=colour, label=name)
        titles.append(f"{name}: accuracy {accuracy(confusion):.3f}, COBias {cobias(confusion):.3f}")
        if n_classes <= 12:
            labels = ["" if np.isnan(rate) else f"{rate:.2f}" for rate in rates]
            axes.bar_label(bars, labels, fontsize=8, padding=2, color="#333333")
    axes.set_title("\n".join(titles), fontsize=10, loc="left")
    names = [literal(name) for name in evaluation.classes]
    axes.set_xticks(at, names, rotation=0 if n_classes <= 6 else 90)
    axes.set_ylim(0, 1.08)
    axes.set_ylabel("class accuracy")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, loc="lower right", bbox_to_anchor=(1, 1.0), ncols=2)
    with atomic_path(path) as temporary:
        figure.savefig(temporary, dpi=160)
