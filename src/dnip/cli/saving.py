"""Coefficients written to a file that may hold others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dnip.base.errors import CoefficientsFormatError, listed
from dnip.cli.console import complain
from dnip.method.coefficients import Coefficients

if TYPE_CHECKING:
    from pathlib import Path


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
