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
