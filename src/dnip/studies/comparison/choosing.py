"""The choice of methods by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dnip.base.validation import check_choice
from dnip.method.scales import DEFAULT_SCALE
from dnip.studies.baselines import all_methods

if TYPE_CHECKING:
    from dnip.method.objective import Objective
    from dnip.studies.baselines import Method

RAW = "raw"


def choose(
    names: str | None = None,
    objective: Objective | None = None,
    *,
    scale: int | str = DEFAULT_SCALE,
) -> list[Method]:
    """Return the methods that comma-separated names ask for, the raw argmax always first.

    Parameters
    ----------
    names : str, optional
        All where it is left out.
    objective, scale
        As for :func:`dnip.studies.baselines.all_methods`.

    Raises
    ------
    InvalidInputError
        For a name that is not known.

    Examples
    --------
    >>> [method.name for method in choose("dnip, batch-calibration")]
    ['raw', 'dnip', 'batch-calibration']
    """
    known = all_methods(objective, scale=scale)
    if names is None:
        return list(known.values())
    wanted = dict.fromkeys([RAW, *(name.strip() for name in names.split(","))])
    return [known[check_choice("methods", name, list(known))] for name in wanted]
