"""One function in another language, in a file that needs nothing else."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import ClassVar

from dnip.deploying.exports.formats import EXACT, Export
from dnip.method.coefficients import Coefficients

_PYTHON = '''\
"""Decide by class weights, exported by dnip.

%(promise)s.
"""

CLASSES = (
%(classes)s
)
WEIGHTS = (
%(weights)s
)


def predict(probabilities):
    """Return the class with the largest weight times probability; the first one on a tie."""
    if len(probabilities) != len(CLASSES):
        raise ValueError(f"{len(CLASSES)} probabilities are needed, got {len(probabilities)}")
    scores = [weight * float(p) for weight, p in zip(WEIGHTS, probabilities)]
    if not any(probabilities) or not all(0 <= score < float("inf") for score in scores):
        raise ValueError(f"these are no probabilities: {probabilities}")
    return CLASSES[scores.index(max(scores))]
'''

_PYTHON_DEFER = '''

THRESHOLDS = (
%(thresholds)s
)


def deferred(probabilities):
    """Return whether the row goes to somebody better: its share is below that of its class."""
    winner, total = CLASSES.index(predict(probabilities)), 0.0
    for weight, p in zip(WEIGHTS, probabilities):  # sum() rounds in other ways
        total += weight * float(p)
    return WEIGHTS[winner] * float(probabilities[winner]) / total < THRESHOLDS[winner]
'''

_JAVASCRIPT = """\
// Decide by class weights, exported by dnip.
// %(promise)s.

export const CLASSES = /** @type {const} */ ([
%(classes)s
]);
export const WEIGHTS = [
%(weights)s
];

/**
 * Return the class with the largest weight times probability; the first one on a tie.
 *
 * @param {ArrayLike<number>} probabilities One per class, in the order of CLASSES.
 * @returns {(typeof CLASSES)[number]}
 */
export function predict(probabilities) {
    const given = Array.from(probabilities);
    if (given.length !== CLASSES.length) {
        throw new RangeError(`${CLASSES.length} probabilities are needed, got ${given.length}`);
    }
    const scores = WEIGHTS.map(
        (weight, n) => typeof given[n] === "number" ? weight * given[n] : NaN,
    );
    if (!given.some(Boolean) || !scores.every((score) => score >= 0 && score < Infinity)) {
        throw new RangeError(`these are no probabilities: ${given}`);
    }
    const largest = scores.reduce((one, other) => Math.max(one, other));
    return /** @type {(typeof CLASSES)[number]} */ (CLASSES[scores.indexOf(largest)]);
}
"""


_JAVASCRIPT_DEFER = """
export const THRESHOLDS = [
%(thresholds)s
];

/**
 * Return whether the row goes to somebody better: its share is below that of its class.
 * @param {ArrayLike<number>} probabilities
 */
export function deferred(probabilities) {
    const winner = CLASSES.indexOf(predict(probabilities));
    const scores = WEIGHTS.map((weight, n) => weight * probabilities[n]);
    return scores[winner] / scores.reduce((sum, score) => sum + score) < THRESHOLDS[winner];
}
"""


class PythonFile(Export):
    """A file with one function, for Python 3 alone; with thresholds, with ``deferred``, too.

    Examples
    --------
    >>> from dnip import Coefficients
    >>> names = {}
    >>> exec(PythonFile().render(Coefficients(["no", "yes"], [15, 30], 30)), names)
    >>> names["predict"]([0.6, 0.4])
    'yes'
    """

    promise: ClassVar[str] = EXACT

    def render(self, coefficients: Coefficients) -> str:
        """Return the file, in ASCII."""
        return _filled(_PYTHON, _PYTHON_DEFER, ascii, coefficients)


class JavaScript(Export):
    """An ES module with one function; with thresholds, with ``deferred``, too.

    TypeScript reads its types from the comments.

    Examples
    --------
    >>> from dnip import Coefficients
    >>> print(JavaScript().render(Coefficients(["no", "yes"], [15, 30], 30)).splitlines()[4])
        "no",
    """

    promise: ClassVar[str] = EXACT

    def render(self, coefficients: Coefficients) -> str:
        """Return the module, in ASCII."""
        return _filled(_JAVASCRIPT, _JAVASCRIPT_DEFER, json.dumps, coefficients)


def _filled(
    template: str, defer: str, literal: Callable[[str], str], coefficients: Coefficients
) -> str:
    """Return a template with what it needs, and that of thresholds where there are any.

    `literal` writes a text in ASCII.
    """
    thresholds = coefficients.defer and coefficients.defer.thresholds.tolist()
    values = {
        "classes": map(literal, coefficients.classes),
        "weights": map(repr, coefficients.multipliers.tolist()),
        "thresholds": map(repr, thresholds or ()),
    }
    lines = {name: "\n".join(f"    {one}," for one in each) for name, each in values.items()}
    return (template + defer * bool(thresholds)) % {"promise": EXACT, **lines}
