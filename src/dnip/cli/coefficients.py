"""Coefficients that a command moves to another class mix, or writes over those of another fit."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from dnip.base.errors import CoefficientsFormatError, InvalidInputError, listed
from dnip.cli.console import complain, live_progress
from dnip.cli.options import COEFFICIENTS
from dnip.method.coefficients import Coefficients
from dnip.priors import TargetPrior, check_prior, is_estimate
from dnip.tables import Scan
from dnip.using.application import estimate_stream


def check_out(out: Path | None, table: Path, classes: Sequence[str] | None) -> Path:
    """Return where to write coefficients.

    Raises
    ------
    InvalidInputError
        If no file is named, and the usual one holds something else than coefficients of the
        table's classes.
    """
    if out is not None or not COEFFICIENTS.is_file():
        return out or COEFFICIENTS
    old = _held(COEFFICIENTS)
    layout = None if table.is_fifo() else Scan(table, classes).layout  # a pipe is read once
    if old is None or (layout is not None and old.classes != layout.classes):
        raise InvalidInputError(
            f"{COEFFICIENTS} holds {_described(old)}, and would be lost",
            hint=f"Name another file with --out, or write over it with --out {COEFFICIENTS}",
        )
    return COEFFICIENTS


def save_coefficients(coefficients: Coefficients, path: Path) -> None:
    """Write coefficients to a file, and say what it held if those were others."""
    is_file = path.is_file()  # no pipe or device
    old = _held(path) if is_file else None
    coefficients.save(path)
    if is_file and (old is None or _decides(old) != _decides(coefficients)):
        complain("note", f"{path} is replaced; it held {_described(old)}")


def _decides(fitted: Coefficients) -> tuple[object, ...]:
    return fitted.logit_bias(), fitted.defer and fitted.defer.to_dict()


def _held(path: Path) -> Coefficients | None:
    try:
        return Coefficients.load(path)
    except CoefficientsFormatError:
        return None


def _described(old: Coefficients | None) -> str:
    if old is None:
        return "something else than coefficients"
    source = None if old.fit.data is None else old.fit.data.source
    return f"coefficients of {listed(old.classes)}" + (f", fitted on {source}" if source else "")


class Moved(NamedTuple):
    """Coefficients for the class mix that was asked for."""

    coefficients: Coefficients
    target: TargetPrior
    way: float  # how far it goes toward the most accurate weights, 0..1

    def to_dict(self) -> dict[str, Any]:
        """Return the mix and the weights, as ``--json`` prints them."""
        classes = self.coefficients.classes
        weights = dict(zip(classes, self.coefficients.weights.tolist(), strict=True))
        return {**self.target.to_dict(classes), "part": self.way, "weights": weights}


def move_to(mix: str, fitted: Coefficients, chunks: Scan) -> Moved:
    """Move coefficients to a class mix, given or estimated in a pass over the table."""
    if is_estimate(mix):
        with live_progress("estimating the target prior") as show:
            estimate = estimate_stream(chunks, fitted, progress=lambda n: show(f"{n:,} rows"))
        target = TargetPrior(estimate.shares, estimate)
    else:
        target = TargetPrior(check_prior(mix, fitted.classes))
    moved = fitted.adjusted(target.estimate or target.shares)
    way = 0.0 if moved is fitted else float((moved.fit.adjusted or {})["part"])
    complain("note", target.sentence(fitted.classes))
    if moved is fitted:
        complain("note", "the coefficients are unchanged: this mix needs no others")
    return Moved(moved, target, way)
