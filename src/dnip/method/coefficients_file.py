"""The text of a coefficients file: JSON, never pickle, with a version."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dnip.base.errors import CoefficientsFormatError, InvalidInputError
from dnip.base.files import read_text
from dnip.base.validation import check_scale
from dnip.method.scales import Spacing, WeightScale

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    from dnip.base.typing import Floats, WeightIndices

FORMAT = "dnip-coefficients"
#: Of files with weights ξ/K; every version of the package reads it.
VERSION = 1
#: Of files with other weights; a reader that knows linear scales alone refuses it.
SPACED_VERSION = 2

#: What to do about a file that is no good.
REFIT = "Give the coefficients.json that `dnip fit` wrote, or fit again"

_JSON_KINDS = {list: "array", dict: "object"}


class Stored(NamedTuple):
    """What a file holds."""

    arguments: dict[str, Any]  # of Coefficients
    content: dict[str, Any]

    def check_weights(self, weights: Floats) -> None:
        """Refuse a file whose weights, which are there for people to read, are other ones."""
        if "weights" not in self.content or _are_close(self.content["weights"], weights):
            return
        linear = self.arguments["scale"].spacing is Spacing.LINEAR
        expected = "weight_indices / scale" if linear else "those of the scale"
        raise InvalidInputError(f"weights do not equal {expected}")


def to_text(
    *,
    classes: Sequence[str],
    weight_indices: WeightIndices,
    scale: WeightScale,
    weights: Floats,
    objective: dict[str, Any],
    fit: dict[str, Any],
) -> str:
    """Return coefficients as JSON text."""
    linear = scale.spacing is Spacing.LINEAR
    content = {
        "format": FORMAT,
        "version": VERSION if linear else SPACED_VERSION,
        "classes": list(classes),
        "weight_indices": weight_indices.tolist() or None,
        "scale": scale.size or None,
        **({} if linear else {"spacing": scale.spacing.value}),
        "weights": weights.tolist(),
        "objective": objective,
        "fit": fit,
    }
    return json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


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


def from_text(text: str, source: str) -> Stored:
    """Read JSON text.

    Parameters
    ----------
    text : str
    source : str
        Where the text came from, for messages.

    Raises
    ------
    CoefficientsFormatError
        If the text is damaged, of another format, or of an unknown version.
    """
    try:
        content = json.loads(text, parse_constant=_refuse_constant, parse_float=_finite)
    except (ValueError, RecursionError) as error:  # RecursionError: brackets without end
        raise CoefficientsFormatError(f"{source}: not valid JSON: {error}", hint=REFIT) from error
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise CoefficientsFormatError(f'{source}: "format" is not "{FORMAT}"', hint=REFIT)
    version = content.get("version")
    if version not in (VERSION, SPACED_VERSION):
        raise CoefficientsFormatError(
            f"{source}: version {version!r} is unknown; this package reads "
            f"versions {VERSION} and {SPACED_VERSION}",
            hint="Install the newer package that wrote the file",
        )
    spacing = _check_content(content, source, linear=version == VERSION)
    continuous = spacing is Spacing.CONTINUOUS
    try:
        size = 0 if continuous else check_scale(content["scale"])
    except (ValueError, TypeError) as error:
        raise CoefficientsFormatError(f"{source}: {error}", hint=REFIT) from error
    arguments = {
        "classes": content["classes"],
        "weight_indices": [] if continuous else content["weight_indices"],
        "scale": WeightScale(spacing, size),
        "objective": content.get("objective"),
        "fit": content.get("fit"),
        "weights": content["weights"] if continuous else None,
    }
    return Stored(arguments, content)


def _check_content(content: dict[str, Any], source: str, *, linear: bool) -> Spacing:
    """Refuse content with something missing, or of another kind; return its spacing."""
    needed = ["classes", "weight_indices", "scale"]
    needed += [] if linear else ["spacing", "weights"]
    missing = [key for key in needed if key not in content]
    if missing:
        raise CoefficientsFormatError(f"{source}: {', '.join(missing)} missing", hint=REFIT)
    spacing = Spacing.LINEAR.value if linear else content["spacing"]
    if not linear and spacing not in (Spacing.LOG, Spacing.CONTINUOUS):
        raise CoefficientsFormatError(
            f'{source}: "spacing" is {spacing!r}, not "log" or "continuous"', hint=REFIT
        )
    for key, kind in (
        ("classes", list),
        ("weights" if spacing == Spacing.CONTINUOUS else "weight_indices", list),
        ("objective", dict),
        ("fit", dict),
    ):
        if not isinstance(content.get(key, kind()), kind):
            raise CoefficientsFormatError(
                f'{source}: "{key}" is {content[key]!r}, not a JSON {_JSON_KINDS[kind]}',
                hint=REFIT,
            )
    if not all(isinstance(name, str) for name in content["classes"]):
        raise CoefficientsFormatError(
            f'{source}: "classes" holds other things than names: {content["classes"]!r}',
            hint=REFIT,
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


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON number")


def _are_close(stated: object, weights: Floats) -> bool:
    values = np.asarray(stated)
    return (
        values.shape == weights.shape
        and values.dtype.kind in "iuf"
        and np.allclose(values, weights, rtol=0, atol=1e-9)
    )
