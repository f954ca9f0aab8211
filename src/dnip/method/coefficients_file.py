"""The file of coefficients: JSON, never pickle, with a version; and the record of a fit in it."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable
from typing import Any

from dnip.base.errors import CoefficientsFormatError
from dnip.base.validation import once
from dnip.method.defer import Deferral
from dnip.method.scales import Spacing, WeightScale

FORMAT = "dnip-coefficients"
#: Of the content of a file; a reader refuses a version that it does not know.
VERSION = 1

#: What to do about a file that is no good.
REFIT = "Give the coefficients.json that `dnip fit` wrote, or fit again"


# What the parts of a file are in JSON.
_KINDS: dict[str, type] = dict.fromkeys(("classes", "weights", "weight_indices"), list)
_KINDS |= dict.fromkeys(("objective", "fit", "defer"), dict)


def to_text(content: dict[str, Any]) -> str:
    """Return the content of coefficients as JSON text."""
    whole = {"format": FORMAT, "version": VERSION, **content}
    return json.dumps(whole, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def digest_of(classes: tuple[str, ...], weights: list[float]) -> str:
    """Return a hash of classes and weights."""
    return hashlib.sha256(json.dumps([classes, weights]).encode()).hexdigest()[:16]


def from_text(text: str, source: str, make: Callable[..., Any]) -> Any:  # noqa: ANN401
    """Read JSON text; `make` is ``Coefficients``, whose arguments it holds."""
    content = _read_content(text, source)
    defer = content.get("defer")
    try:
        return make(
            content["classes"],
            content["weight_indices"] or [],
            WeightScale.from_dict(content),
            content.get("objective"),
            content.get("fit"),
            content.get("weights"),
            None if defer is None else Deferral(**defer),
        )
    except (ValueError, TypeError) as error:
        raise _broken(source, str(error)) from error


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
    if version != VERSION:
        raise CoefficientsFormatError(
            f"{source}: version {version!r} is unknown; this package reads version {VERSION}",
            hint="Install the newer package that wrote the file",
        )
    content.setdefault("spacing", Spacing.LINEAR.value)
    missing = [key for key in ("classes", "weight_indices", "scale") if key not in content]
    if missing:
        raise _broken(source, f"{', '.join(missing)} missing")
    spacing, known = content["spacing"], [each.value for each in Spacing]
    if spacing not in known:
        names = " or ".join(map(json.dumps, known))
        raise _broken(source, f'"spacing" is {spacing!r}, not {names}')
    absent = ["defer", "weight_indices"] if spacing == Spacing.CONTINUOUS else ["defer"]
    for key, kind in _KINDS.items():
        allowed = (kind, type(None)) if key in absent else kind
        if not isinstance(content.get(key, kind()), allowed):
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


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON number")
