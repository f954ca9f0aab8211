"""The choice of a fit: a β, or weights of 1, by what refits expect of other rows."""

from __future__ import annotations

from collections.abc import Mapping

from dnip.fitting.refits import FitEvidence

#: The β that a fit without a goal of its own looks at. The first is the usual one.
BETAS = (0.5, 1.0, 2.7)

# The part of the raw argmax's COBias that the usual β may leave.
_LEFT = 0.8
# Accuracy that a further β may cost: for each point of COBias, twice the price that the usual one
# declares, and so much more.
_PRICE, _MORE = 1.0, 0.02


def choose_beta(expected: Mapping[float, FitEvidence]) -> tuple[float, str | None]:
    """Return the β that harms nobody where that does not cost too much, and what it costs.

    It is the usual one, where COBias is expected to fall to four fifths of the raw argmax's, and
    the worst class not to get worse. Else it is the first of the others at which COBias is not
    expected to rise nor the worst class to get worse, or the most even of all where there is none.
    That costs accuracy: at most a point for each point of COBias, and two more, or the usual one is
    taken all the same.

    Parameters
    ----------
    expected : mapping of float to FitEvidence
        What refits expect at each of `BETAS`.
    """
    usual, *further = BETAS

    def harms(beta: float, left: float = 1.0) -> bool:
        at = expected[beta]
        before, after = at.worst
        return at.reweighted.cobias > left * at.raw.cobias or after < before

    if not harms(usual, _LEFT):
        return usual, None
    most_even = min(BETAS, key=lambda beta: expected[beta].reweighted.cobias)
    beta = next((beta for beta in further if not harms(beta)), most_even)
    here, there = expected[beta], expected[usual]
    cost = there.accuracies[1] - here.accuracies[1]
    if cost > _PRICE * (there.reweighted.cobias - here.reweighted.cobias) + _MORE:
        beta = usual
    return beta, None if beta == usual else _sentence(beta, here, there)


def _sentence(beta: float, here: FitEvidence, usual: FitEvidence) -> str:
    """Return why a β was taken instead of the usual one, and what it costs."""
    gaps, worst = (usual.raw.cobias, usual.reweighted.cobias), usual.worst
    if worst[1] < worst[0] and gaps[1] <= _LEFT * gaps[0]:
        why = f"the worst class would fall from {worst[0]:.2f} to {worst[1]:.2f}"
    else:
        verb = "grow" if gaps[1] > gaps[0] else "only fall"
        why = f"the gap would {verb} from {gaps[0]:.2f} to {gaps[1]:.2f}"
    points = 100 * (usual.accuracies[1] - here.accuracies[1])
    side = "less" if points >= 0 else "more"
    return (
        f"β {beta:g}: at {BETAS[0]:g} {why}; {abs(points):.0f} points of accuracy {side}. "
        f"--beta {BETAS[0]:g} keeps them."
    )


def kept_sentence(evidence: FitEvidence, beta: float | None) -> str:
    """Return why the raw argmax is to be kept rather than a fit.

    Parameters
    ----------
    evidence : FitEvidence
        Of the fit.
    beta : float or None
        The β that was chosen for it, if one was.
    """
    at = "" if beta is None else f"at β {beta:g}, "
    if evidence.gains:
        return f"Weights of 1: {at}{evidence.aim} does not fall even on the labels themselves."
    return f"Weights of 1: {at}{evidence.aim} is not expected to fall: {evidence.change}."
