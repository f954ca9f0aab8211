
export const THRESHOLDS = [
%(thresholds)s
];

/**
 * Return whether the row is deferred: its share is below that of its class.
 * @param {ArrayLike<number>} probabilities
 */
export function deferred(probabilities) {
    const winner = CLASSES.indexOf(predict(probabilities));
    const scores = WEIGHTS.map((weight, n) => weight * probabilities[n]);
    return scores[winner] / scores.reduce((sum, score) => sum + score) < THRESHOLDS[winner];
}
