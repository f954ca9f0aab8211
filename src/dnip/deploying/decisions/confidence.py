"""Definitions of the confidence that servers report beside probabilities."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from dnip.deploying.decisions.answers import Decision

# A reported confidence may be rounded to two digits.
_ROUNDED = 0.01


def _best(decision: Decision) -> float:
    return float(decision.probabilities[decision.options.index(str(decision.choice))])


def _above_chance(decision: Decision) -> float:
    """Return the excess over chance: 0 where all options are equal, 1 where one has all."""
    chance = 1 / len(decision.options)
    return max(0.0, (_best(decision) - chance) / (1 - chance))


def _nearness(decision: Decision) -> float:
    """Return how near the levels are to the best one: 1 less the mean distance, over chance's."""
    levels = np.arange(len(decision.options))
    best = decision.options.index(str(decision.choice))
    distance = decision.probabilities @ np.abs(levels - best)
    return max(0.0, 1 - float(distance / np.abs(levels - levels.mean()).mean()))


def _share_of_all(decision: Decision) -> float:
    return _best(decision) * (1 if decision.mass is None else decision.mass)


def _evenness(decision: Decision) -> float:
    """Return 1 less the entropy, over that of equal options."""
    p = decision.probabilities[decision.probabilities > 0]
    return max(0.0, 1 + float(p @ np.log(p) / np.log(len(decision.options))))


def confidence_like(reported: float, decision: Decision) -> Callable[[Decision], float]:
    """Return the definition of confidence that gives the reported one; if none does, the first."""
    default = _nearness if decision.kind == "score" else _above_chance
    definitions = (default, _share_of_all, _best, _evenness)
    off = [abs(definition(decision) - reported) for definition in definitions]
    nearest = int(np.argmin(off))
    return definitions[nearest] if off[nearest] <= _ROUNDED else default
