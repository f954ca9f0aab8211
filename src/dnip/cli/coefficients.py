"""Coefficients that a command moves to another class mix, or writes over those of another fit."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from dnip.base.errors import CoefficientsFormatError, listed
from dnip.cli.console import complain, live_progress
from dnip.deploying.application import estimate_stream
from dnip.method.coefficients import Coefficients
from dnip.priors import TargetPrior, is_estimate, read_prior
from dnip.tables import Scan


def save_coefficients(coefficients: Coefficients, path: Path) -> None:
    """Write coefficients to a file, and say what it held if those were others."""
    held = ""
    if path.is_file():  # no pipe or device
        try:
            old = Coefficients.load(path)
        except CoefficientsFormatError:
            held = "something else than coefficients"
        else:
            source = old.fit.get("data", {}).get("source")
            if old.logit_bias() != coefficients.logit_bias():
                held = f"coefficients of {listed(old.classes)}"
                held += f", fitted on {source}" if source else ""
    coefficients.save(path)
    if held:
        complain("note", f"{path} is replaced; it held {held}")


class Moved(NamedTuple):
    """Coefficients for the class mix that was asked for."""

    coefficients: Coefficients
    target: TargetPrior
    part: float  # of the way to the most accurate weights, 0..1

    def to_dict(self) -> dict[str, Any]:
        """Return the mix and the weights, as ``--json`` prints them."""
        classes = self.coefficients.classes
        weights = dict(zip(classes, self.coefficients.weights.tolist(), strict=True))
        return {**self.target.to_dict(classes), "part": self.part, "weights": weights}


def move_to(mix: str, fitted: Coefficients, chunks: Scan) -> Moved:
    """Move coefficients to a class mix, given or estimated in a pass over the table."""
    if is_estimate(mix):
        with live_progress("estimating the target prior") as show:
            estimate = estimate_stream(chunks, fitted, progress=lambda n: show(f"{n:,} rows"))
        target = TargetPrior(estimate.shares, estimate)
    else:
        target = TargetPrior(read_prior(mix, fitted.classes))
    moved = fitted.adjusted(target.estimate or target.shares)
    part = 0.0 if moved is fitted else float(moved.fit["adjusted"]["part"])
    complain("note", target.sentence(fitted.classes))
    if moved is fitted:
        complain("note", "the coefficients are unchanged: this mix needs no others")
    return Moved(moved, target, part)
