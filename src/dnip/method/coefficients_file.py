"""The file of coefficients: JSON, never pickle, with a version; and the record of a fit in it."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

from dnip.base.errors import CoefficientsFormatError
from dnip.base.objects import once
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

#: What to do about a file that is no good.
REFIT = "Give the coefficients.json that `dnip fit` wrote, or fit again"


# What coefficients without what a fit has learned cannot be.
_PURPOSE = "moved to another class mix"

# What the parts of a file are in JSON.
_KINDS: dict[str, type] = dict.fromkeys(("classes", "weights", "weight_indices"), list)
_KINDS |= dict.fromkeys(("objective", "fit", "defer"), dict)


def to_text(content: dict[str, Any]) -> str:
    """Return the content of coefficients as JSON text, of the lowest version that can hold it."""
    needless = [] if content["defer"] else ["defer"]
    if needless and content["spacing"] == Spacing.LINEAR:
        needless.append("spacing")
    version = (DEFER_VERSION, SPACED_VERSION, VERSION)[len(needless)]
    kept = {name: value for name, value in content.items() if name not in needless}
    whole = {"format": FORMAT, "version": version, **kept}
    return json.dumps(whole, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def digest_of(classes: tuple[str, ...], weights: list[float]) -> str:
    """Return a hash of classes and weights."""
    return hashlib.sha256(json.dumps([classes, weights]).encode()).hexdigest()[:16]


def from_text(text: str, source: str, make: Callable[..., Any]) -> Any:  # noqa: ANN401
    """Read JSON text; `make` is ``Coefficients``, whose arguments it holds."""
    content = _read_content(text, source)
    continuous = content["spacing"] == Spacing.CONTINUOUS
    try:
        spacing, size = Spacing(content["spacing"]), 0
        if not continuous:
            size = check_scale(content["scale"])
        made = make(
            content["classes"],
            [] if continuous else content["weight_indices"],
            WeightScale(spacing, size),
            content.get("objective"),
            content.get("fit"),
            content["weights"] if continuous else None,
            Deferral(**content["defer"]) if "defer" in content else None,
        )
    except (ValueError, TypeError) as error:
        raise _broken(source, str(error)) from error
    if "weights" in content and not _are_close(content["weights"], made.weights):
        raise _broken(source, "weights do not equal those of weight_indices")
    return made


def shares_of(fit: Mapping[str, Any], n_classes: int) -> Floats:
    """Return the class shares that the record of a fit holds, shape (N,)."""
    shares = recorded(fit, "class_shares", _PURPOSE)
    with reading("class_shares"):
        found = np.asarray(shares, np.float64)
        sound = found.shape == (n_classes,) and bool((found >= 0).all())
        if not sound or not 0 < found.sum() < np.inf:
            raise ValueError(f"{shares!r} is not one share for each class")
    return np.asarray(found / found.sum())


def calibration_of(fit: Mapping[str, Any], n_classes: int) -> Calibration:
    """Return the calibration that the record of a fit holds."""
    learned = recorded(fit, "calibration", _PURPOSE)
    with reading("calibration"):
        return Calibration.from_dict(learned, n_classes)


@contextmanager
def reading(name: str) -> Iterator[None]:
    """Say which part of the record of a fit is damaged, where it cannot be read."""
    try:
        yield
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise _broken("coefficients", f"fit.{name} is damaged: {error}") from error


def _broken(source: str, what: str) -> CoefficientsFormatError:
    return CoefficientsFormatError(f"{source}: {what}", hint=REFIT)


def _read_content(text: str, source: str) -> dict[str, Any]:
    """Return the content of a file; one with something missing, or of another kind, is refused."""
    try:
        content = json.loads(
            text, parse_constant=_refuse_constant, parse_float=_finite, object_pairs_hook=once
        )
    except (ValueError, RecursionError) as error:  # RecursionError: brackets without end
        raise _broken(source, f"not valid JSON: {error}") from error
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise _broken(source, f'"format" is not "{FORMAT}"')
    version = content.get("version")
    if version not in (VERSION, SPACED_VERSION, DEFER_VERSION):
        raise CoefficientsFormatError(
            f"{source}: version {version!r} is unknown; this package reads "
            f"versions {VERSION} to {DEFER_VERSION}",
            hint="Install the newer package that wrote the file",
        )
    needed = ["classes", "weight_indices", "scale"]
    needed += [] if version == VERSION else ["spacing", "weights"]
    needed += ["defer"] if version == DEFER_VERSION else []
    missing = [key for key in needed if key not in content]
    if missing:
        raise _broken(source, f"{', '.join(missing)} missing")
    if version == VERSION:
        content["spacing"] = Spacing.LINEAR.value
    spacing, known = content["spacing"], [each.value for each in Spacing]
    known = known[version == SPACED_VERSION :]
    if spacing not in known:
        said = " or ".join(map(json.dumps, known))
        raise _broken(source, f'"spacing" is {spacing!r}, not {said}')
    unread = "weight_indices" if spacing == Spacing.CONTINUOUS else "weights"
    for key, kind in _KINDS.items():
        if key != unread and not isinstance(content.get(key, kind()), kind):
            name = "array" if kind is list else "object"
            raise _broken(source, f'"{key}" is {content[key]!r}, not a JSON {name}')
    if not all(isinstance(name, str) for name in content["classes"]):
        raise _broken(source, f'"classes" holds other things than names: {content["classes"]!r}')
    return content


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
