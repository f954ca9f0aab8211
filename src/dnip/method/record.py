"""The record of a fit, and the file of coefficients that holds it: JSON, never pickle."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from typing import Any, Self

import numpy as np

from dnip.base.errors import CoefficientsFormatError
from dnip.base.typing import Floats
from dnip.base.validation import once
from dnip.method.defer import Deferral
from dnip.method.scales import Spacing, WeightScale
from dnip.priors.estimate import Calibration

_REFIT = "Fit again with `dnip fit`"


@dataclass(frozen=True, kw_only=True)
class DataRecord:
    """Where rows came from.

    Attributes
    ----------
    source : str or None
        Name of the table.
    sha256 : str or None
        Hash of its classes, probabilities and labels.
    rows, labelled_rows : int or None
    sample : dict or None
        How many rows were drawn to fit on, and the seed; None for all.
    origin : dict or None
        The model, the prompt and the question, where they are known.
    """

    source: str | None = None
    sha256: str | None = None
    rows: int | None = None
    labelled_rows: int | None = None
    sample: Mapping[str, Any] | None = None
    origin: Mapping[str, Any] | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return what is known, ready for JSON."""
        return _present(self)

    @classmethod
    def from_dict(cls, content: object) -> Self:
        """Read what `to_dict` wrote; what is of another kind is not known."""
        content = content if isinstance(content, dict) else {}
        kinds = {"source": str, "sha256": str, "rows": int, "labelled_rows": int}
        return cls(
            **{
                column.name: content[column.name]
                for column in fields(cls)
                if isinstance(content.get(column.name), kinds.get(column.name, dict))
            }
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class FitRecord:
    """How coefficients came about; every part may be missing, as in coefficients made by hand.

    Attributes
    ----------
    package_version : str or None
    data, unlabelled : DataRecord or None
        The opt table; and the table of more rows without a label, if they were used.
    class_shares : ndarray of shape (N,) or None
        The class mix that the fit is for.
    calibration : Calibration or None
        How to make calibrated log-odds of probabilities.
    target_prior, robust, adjusted, defer_below : dict or None
        What was decided on the class mix, by a robust fit, at a move to another mix, and of what is
        served.
    evidence : dict or None
        ``verdict`` and ``reason``.
    search : dict
        Solver, status, bound, evaluations, seconds, seed, classes that were not fitted, and
        constraints.
    scores : dict or None
        Rows of each class and those that are right, with what is expected of other rows.
    sketch : dict or None
        How the probabilities are distributed.
    deferring : tuple of dict
        What is expected by the share of rows that is deferred.
    notes : dict
        Entries of any other name.

    Examples
    --------
    >>> record = FitRecord.from_dict({"seed": 0, "data": {"source": "opt.csv"}}, 2)
    >>> record.data.source, record.to_dict()
    ('opt.csv', {'data': {'source': 'opt.csv'}, 'seed': 0})
    """

    package_version: str | None = None
    data: DataRecord | None = None
    class_shares: Floats | None = None
    calibration: Calibration | None = None
    target_prior: Mapping[str, Any] | None = None
    robust: Mapping[str, Any] | None = None
    unlabelled: DataRecord | None = None
    evidence: Mapping[str, Any] | None = None
    search: Mapping[str, Any] = field(default_factory=dict)
    scores: Mapping[str, Any] | None = None
    sketch: Mapping[str, Any] | None = None
    deferring: tuple[Mapping[str, Any], ...] = ()
    defer_below: Mapping[str, Any] | None = None
    adjusted: Mapping[str, Any] | None = None
    notes: Mapping[str, Any] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return the record as a coefficients file holds it."""
        content = _present(self)
        search, notes = content.pop("search", {}), content.pop("notes", {})
        return {**content, **search, **notes}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any], n_classes: int) -> Self:
        """Read what `to_dict` wrote.

        Raises
        ------
        CoefficientsFormatError
            For a part that is damaged.
        """
        known: dict[str, Any] = {"search": {}, "notes": {}}
        names = {column.name for column in fields(cls)} - known.keys()
        for name, value in content.items():
            if name in names:
                known[name] = _read(name, value, n_classes)
            else:
                known["search" if name in _SEARCH else "notes"][name] = value
        return cls(**known)

    def needed(self, name: str, purpose: str) -> Any:  # noqa: ANN401 - the kind of the part
        """Return a part of the record.

        Raises
        ------
        CoefficientsFormatError
            If it is missing; `purpose` says what coefficients without it cannot be.
        """
        value = getattr(self, name)
        if value is None:
            raise CoefficientsFormatError(
                f"coefficients: fit.{name} is missing, so they cannot be {purpose}: they were not "
                "made by a fit",
                hint=_REFIT,
            )
        return value


# What a solver tells of its search; these stand beside the other parts in a file.
_SEARCH = [
    "solver",
    "status",
    "lower_bound",
    "gap",
    "evaluations",
    "seconds",
    "seed",
    "unfitted",
    "constraints",
    "sharpness",
]


@contextmanager
def reading(name: str) -> Iterator[None]:
    """Say which part of a record is damaged, where it cannot be read."""
    try:
        yield
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise CoefficientsFormatError(
            f"coefficients: fit.{name} is damaged: {error}", hint=_REFIT
        ) from error


def _present(record: DataRecord | FitRecord) -> dict[str, Any]:
    """Return the parts that are there, by name, ready for JSON."""
    values = {column.name: getattr(record, column.name) for column in fields(record)}
    return {name: _plain(value) for name, value in values.items() if not _is_missing(value)}


def _is_missing(value: object) -> bool:
    return value is None or (isinstance(value, dict | tuple) and not value)


def _plain(value: Any) -> Any:  # noqa: ANN401 - any part of a record
    if isinstance(value, np.ndarray | tuple):
        return list(value) if isinstance(value, tuple) else value.tolist()
    return value.to_dict() if isinstance(value, DataRecord | Calibration) else value


def _read(name: str, value: Any, n_classes: int) -> Any:  # noqa: ANN401 - any part of a record
    """Return a part of a record from JSON."""
    with reading(name):
        match name:
            case "package_version":
                return str(value)
            case "data" | "unlabelled":
                return DataRecord.from_dict(value)
            case "class_shares":
                shares = np.asarray(value, np.float64)
                sound = shares.shape == (n_classes,) and bool((shares >= 0).all())
                if not sound or not 0 < shares.sum() < np.inf:
                    raise ValueError(f"{value!r} is not one share for each class")
                return shares / shares.sum()
            case "calibration":
                return Calibration.from_dict(value, n_classes)
            case "deferring":
                return tuple(dict(point) for point in value)
            case _:
                return dict(value)


FORMAT = "dnip-coefficients"
#: Of the content of a file; a reader refuses a version that it does not know.
VERSION = 1

#: What to do about a file that cannot be used.
GIVE_ANOTHER = "Give the coefficients.json that `dnip fit` wrote, or fit again"

# What the parts of a file are in JSON.
_KINDS: dict[str, type] = dict.fromkeys(("classes", "weights", "weight_indices"), list)
_KINDS |= dict.fromkeys(("objective", "fit", "defer"), dict)


def to_text(content: dict[str, Any]) -> str:
    """Return the content of coefficients as JSON text."""
    whole = {"format": FORMAT, "version": VERSION, **content}
    return json.dumps(whole, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


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
    return CoefficientsFormatError(f"{source}: {what}", hint=GIVE_ANOTHER)


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
    spacing, known = content["spacing"], [member.value for member in Spacing]
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
    raise ValueError(f"{name} is not a JSON number")
