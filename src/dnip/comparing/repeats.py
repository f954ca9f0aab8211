"""Work that is repeated over variants and seeds until it is done or the user stops it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Generic, TypeVar

from dnip.base.errors import DNIPError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

#: Called before every piece of work: its variant, its number, and the number of all.
Progress = Callable[[str, int, int], None]

Result = TypeVar("Result")


@dataclass
class Repeats(Generic[Result]):
    """What was found until the end, or until the user stopped it.

    Attributes
    ----------
    n_seeds : int
    found : dict of str to list
        Results by variant, one per seed; fewer where it failed or was interrupted.
    skipped : dict of str to str
        Variants that failed, and why.
    interrupted : bool
        Whether Ctrl-C ended the work.
    """

    n_seeds: int
    found: dict[str, list[Result]] = field(default_factory=dict)
    skipped: dict[str, str] = field(default_factory=dict)
    interrupted: bool = False

    @property
    def complete(self) -> dict[str, list[Result]]:
        """The variants that have a result for every seed."""
        return {name: found for name, found in self.found.items() if len(found) == self.n_seeds}


def repeat(
    variants: Mapping[str, Callable[[int], Result]],
    seeds: Sequence[int],
    progress: Progress | None = None,
    *,
    strict: bool = False,
) -> Repeats[Result]:
    """Call every variant with every seed, and keep what is finished when Ctrl-C is pressed.

    Parameters
    ----------
    variants : mapping of str to callable
        From a seed to a result. A variant whose call raises a :class:`~dnip.DNIPError` is left
        with what it has; a call may raise KeyboardInterrupt to end the work.
    seeds : sequence of int
    progress : callable, optional
        Called before every call of a variant.
    strict : bool, default=False
        Raise the error of a variant instead.

    Examples
    --------
    >>> repeats = repeat({"double": lambda seed: 2 * seed, "half": lambda seed: seed / 2}, [1, 2])
    >>> repeats.complete
    {'double': [2, 4], 'half': [0.5, 1.0]}
    """
    repeats: Repeats[Result] = Repeats(len(seeds))
    total = len(variants) * len(seeds)
    try:
        for place, (name, run) in enumerate(variants.items()):
            found = repeats.found.setdefault(name, [])
            try:
                for number, seed in enumerate(seeds, start=place * len(seeds) + 1):
                    if progress is not None:
                        progress(name, number, total)
                    found.append(run(seed))
            except DNIPError as error:
                if strict:
                    raise
                repeats.skipped[name] = str(error)
    except KeyboardInterrupt:
        repeats.interrupted = True
    return repeats
