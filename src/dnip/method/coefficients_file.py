"""The text of a coefficients file: JSON, never pickle, with a version; and what it records."""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from dnip.base.errors import CoefficientsFormatError
from dnip.base.files import read_text
from dnip.base.typing import Floats
from dnip.base.validation import check_scale
from dnip.method.defer import Deferral
from dnip.method.scales import Spacing, WeightScale
from dnip.priors.calibration import Calibration

FORMAT = "dnip-coefficients"
#: Of files with weights ξ/K; every version of the package reads it.
VERSION = 1
#: Of files with other weights; a reader that knows linear scales alone refuses it.
SPACED_VERSION = 2
#: Of files with thresholds of deferring; a reader that would defer nothing refuses it.
DEFER_VERSION = 3

#: What coefficients without what a fit has learned cannot be.
_PURPOSE = "moved to another class mix"

#: What to do about a file that is no good.
REFIT = "Give the coefficients.json that `dnip fit` wrote, or fit again"

_JSON_KINDS = {list: "array", dict: "object"}


def to_text(content: dict[str, Any]) -> str:
    """Return the content of coefficients as JSON text, of the lowest version that can hold it."""
    needless = [] if content["defer"] else ["defer"]
    if needless and content["spacing"] == Spacing.LINEAR.value:
        needless.append("spacing")
    head = {"format": FORMAT, "version": (DEFER_VERSION, SPACED_VERSION, VERSION)[len(needless)]}
    kept = {name: value for name, value in content.items() if name not in needless}
    return json.dumps({**head, **kept}, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def digest(classes: tuple[str, ...], weights: list[float]) -> str:
    """Return a hash of coefficients, the same on every scale that gives these weights.

    Examples
    --------
    >>> digest(("no", "yes"), [1.0, 0.5])
    '202fe88dd43e4192'
    """
    return hashlib.sha256(json.dumps([classes, weights]).encode()).hexdigest()[:16]


def read(path: str | os.PathLike[str]) -> str:
    """Return the text of a file.

    Raises
    ------
    CoefficientsFormatError
        If it cannot be read.
    """
    try:
        return read_text(path)
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8 text"
        raise CoefficientsFormatError(
            f"{path}: cannot be read: {reason}",
            hint="Give the coefficients.json that `dnip fit` wrote",
        ) from error


def from_text(text: str, source: str, make: Callable[..., Any]) -> Any:  # noqa: ANN401
    """Read JSON text.

    Parameters
    ----------
    text : str
    source : str
        Where the text came from, for messages.
    make : callable
        ``Coefficients``; what it makes is returned.

    Raises
    ------
    CoefficientsFormatError
        If the text is damaged, of another format, or of an unknown version.
    """
    try:
        content = json.loads(
            text, parse_constant=_refuse_constant, parse_float=_finite, object_pairs_hook=once
        )
    except (ValueError, RecursionError) as error:  # RecursionError: brackets without end
        raise CoefficientsFormatError(f"{source}: not valid JSON: {error}", hint=REFIT) from error
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise CoefficientsFormatError(f'{source}: "format" is not "{FORMAT}"', hint=REFIT)
    version = content.get("version")
    if version not in (VERSION, SPACED_VERSION, DEFER_VERSION):
        raise CoefficientsFormatError(
            f"{source}: version {version!r} is unknown; this package reads "
            f"versions {VERSION} to {DEFER_VERSION}",
            hint="Install the newer package that wrote the file",
        )
    spacing = _check_content(content, source, version)
    continuous = spacing is Spacing.CONTINUOUS
    try:
        size = 0 if continuous else check_scale(content["scale"])
        defer = Deferral(**content["defer"]) if "defer" in content else None
        made = make(
            classes=content["classes"],
            weight_indices=[] if continuous else content["weight_indices"],
            scale=WeightScale(spacing, size),
            objective=content.get("objective"),
            fit=content.get("fit"),
            weights=content["weights"] if continuous else None,
            defer=defer,
        )
    except (ValueError, TypeError) as error:
        raise CoefficientsFormatError(f"{source}: {error}", hint=REFIT) from error
    stated = content.get("weights", ...)  # for people to read
    if stated is not ... and not _are_close(stated, made.weights):
        raise CoefficientsFormatError(
            f"{source}: weights do not equal those of weight_indices", hint=REFIT
        )
    return made


def _check_content(content: dict[str, Any], source: str, version: int) -> Spacing:
    """Refuse content with something missing, or of another kind; return its spacing."""
    linear = version == VERSION
    needed = ["classes", "weight_indices", "scale"]
    needed += [] if linear else ["spacing", "weights"]
    needed += ["defer"] if version == DEFER_VERSION else []
    missing = [key for key in needed if key not in content]
    if missing:
        raise CoefficientsFormatError(f"{source}: {', '.join(missing)} missing", hint=REFIT)
    spacing = Spacing.LINEAR.value if linear else content["spacing"]
    known = [each.value for each in Spacing][version == SPACED_VERSION :]
    if spacing not in known:
        raise CoefficientsFormatError(
            f'{source}: "spacing" is {spacing!r}, not {" or ".join(map(json.dumps, known))}',
            hint=REFIT,
        )
    for key, kind in (
        ("classes", list),
        ("weights" if spacing == Spacing.CONTINUOUS else "weight_indices", list),
        ("objective", dict),
        ("fit", dict),
        ("defer", dict),
    ):
        if not isinstance(content.get(key, kind()), kind):
            raise CoefficientsFormatError(
                f'{source}: "{key}" is {content[key]!r}, not a JSON {_JSON_KINDS[kind]}', hint=REFIT
            )
    if not all(isinstance(name, str) for name in content["classes"]):
        raise CoefficientsFormatError(
            f'{source}: "classes" holds other things than names: {content["classes"]!r}', hint=REFIT
        )
    return Spacing(spacing)


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text:.60} is too large a number")
    return number


def recorded(fit: Mapping[str, Any], name: str, purpose: str) -> Any:  # noqa: ANN401 - JSON
    """Return an entry of the record of a fit.

    Parameters
    ----------
    fit : mapping
    name : str
    purpose : str
        What coefficients without it cannot be, for the message.

    Raises
    ------
    CoefficientsFormatError
        If it is not there.
    """
    if name not in fit:
        raise CoefficientsFormatError(
            f"coefficients: fit.{name} is missing, so they cannot be {purpose}: an older version "
            "wrote them, or they were made by hand",
            hint="Fit again with `dnip fit`",
        )
    return fit[name]


def of_other_weights(
    objective: Mapping[str, Any], fit: Mapping[str, Any], shares: Floats, adjusted: dict[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return both records without what belongs to other weights, or to rows of another mix."""
    gone = ("value", "term_values", "scores", "sketch")
    kept = [{k: v for k, v in record.items() if k not in gone} for record in (objective, fit)]
    return kept[0], {**kept[1], "class_shares": shares.tolist(), "adjusted": adjusted}


def class_shares(fit: Mapping[str, Any], n_classes: int) -> Floats:
    """Return the class shares, shape (N,), that the provenance of a fit holds."""
    shares = recorded(fit, "class_shares", _PURPOSE)
    try:
        found = np.asarray(shares, np.float64)
        sound = found.shape == (n_classes,) and bool((found >= 0).all())
        if not sound or not 0 < found.sum() < np.inf:
            raise ValueError("not one share for each class")
    except (TypeError, ValueError, OverflowError) as error:
        raise CoefficientsFormatError(
            f"coefficients: fit.class_shares is {shares!r}: {error}", hint=REFIT
        ) from error
    return np.asarray(found / found.sum())


def calibration(fit: Mapping[str, Any], n_classes: int) -> Calibration:
    """Return the calibration that the provenance of a fit holds."""
    learned = recorded(fit, "calibration", _PURPOSE)
    try:
        return Calibration.from_dict(learned, n_classes)
    except ValueError as error:
        raise CoefficientsFormatError(
            f"coefficients: fit.calibration: {error}", hint=REFIT
        ) from error


def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return a JSON object; one with a key twice, which readers take in two ways, is refused.

    Raises
    ------
    TwiceError
        If there is one.
    """
    found = dict(pairs)
    if len(found) < len(pairs):
        raise TwiceError("a key stands there twice")
    return found


class TwiceError(ValueError):
    """A JSON object that has a key twice."""


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON number")


def _are_close(stated: object, weights: Floats) -> bool:
    """Whether weights that a file states are these, of shape (N,)."""
    values = np.asarray(stated)
    return (
        values.shape == weights.shape
        and values.dtype.kind in "iuf"
        and np.allclose(values, weights, rtol=0, atol=1e-9)
    )
