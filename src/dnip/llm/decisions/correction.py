"""Coefficients applied to the answer of a decision server, and the mark of a corrected one."""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple, TypeVar
from urllib.parse import quote

import numpy as np

from dnip.base.errors import CorrectedError, DNIPWarning, InvalidInputError, listed
from dnip.base.typing import Floats
from dnip.llm.decisions.answers import (
    YES_NO,
    Decision,
    answers_of,
    in_shape_of,
    number,
    read_answer,
)
from dnip.llm.questions import question_of
from dnip.method.coefficients import Coefficients, CoefficientsLike, as_coefficients
from dnip.method.prediction import decide, reweight
from dnip.tables.columns import CORRECTED, DEFERRED

_Key = TypeVar("_Key")

# A reported confidence may be rounded to two digits.
_ROUNDED = 0.01

#: The header of an answer with a mark.
HEADER = b"dnip-corrected-by"

# A mark stays wherever an answer is saved. Some clients keep no field that they do not know. They
# do keep the name of the model.
_SUFFIX = re.compile(r"\+dnip-([0-9a-f.]+)\Z")


class Correction(NamedTuple):
    """One decision, as the server made it and with coefficients.

    Attributes
    ----------
    before, after : Decision
    explained : bool
        Whether a known definition gives the confidence that the server reported.
    deferred : bool or None
        Whether it is deferred; None for coefficients without thresholds.
    """

    before: Decision
    after: Decision
    explained: bool = True
    deferred: bool | None = None

    @property
    def changed(self) -> bool:
        """Whether the coefficients choose another option."""
        return self.before.choice != self.after.choice


def correct(
    body: Mapping[str, Any],
    coefficients: Mapping[str, CoefficientsLike],
    missed: Callable[[str, InvalidInputError], None] | None = None,
) -> tuple[dict[str, Any], list[Correction]]:
    """Return the same answers with probabilities reweighted and choices made by coefficients.

    Of each question with coefficients, the probabilities, the choice, the score and the confidence
    are replaced; a tie goes to the lowest class. The confidence is computed by the definition that
    explains the reported one: the excess over chance of System One, vLLM's share of the whole
    vocabulary, the probability of the choice, or one minus the normalised entropy. If none does,
    it is the first. Where coefficients have thresholds, ``deferred`` says whether the answer is
    deferred. A mark says which coefficients corrected which question. Everything else
    stays: other questions, refusals and the label mass.

    Models prefer options at some places, so ask in the order of the fit. Another order in the
    answer is warned of, where the coefficients know theirs.

    Parameters
    ----------
    body : mapping
        The whole answer, as parsed from JSON; it is not changed.
    coefficients : mapping
        Coefficients, fits, or paths of files, by question. Their classes are the options of a
        choice in any order, true and false (or yes and no), or the levels of a score (or their
        labels).
    missed : callable, optional
        Receives a question that cannot be corrected, and why. Its answer then stays as it is; by
        default it is an error.

    Returns
    -------
    dict, list of Correction
        The new answer, and each decision before and after.

    Raises
    ------
    InvalidInputError
        For damaged answers to these questions.
    CoefficientsFormatError
        If the options of a question are not the classes of its coefficients.
    CorrectedError
        If an answer to one of these questions has a mark.

    Examples
    --------
    >>> from dnip import Coefficients
    >>> answer = {"type": "choice", "choice": "b", "probabilities": {"a": 0.4, "b": 0.6}}
    >>> body = {"answers": {"topic": answer}}
    >>> new, [topic] = correct(body, {"topic": Coefficients(["a", "b"], [2, 1], 2)})
    >>> new["answers"]["topic"]["choice"], topic.changed, topic.after.probabilities.round(3)
    ('a', True, array([0.571, 0.429]))
    """
    fitted = load_coefficients(coefficients)
    corrections = []
    answers = []
    for question, answer in answers_of(body):
        new = answer
        if question in fitted:
            try:
                new, correction = _corrected(question, answer, body, fitted[question])
                corrections += [correction] if correction else []
                if missed is None and correction is not None:
                    _check_order(correction.before, fitted[question])
            except InvalidInputError as error:
                if missed is None:
                    raise
                missed(question, error)
        answers.append((question, new))
    changed = {**body, "answers": in_shape_of(body["answers"], answers)}
    questions = [correction.before.question for correction in corrections]
    by = {question: fitted[question].digest for question in questions}
    return marked(changed, by) if by else changed, corrections


def _corrected(
    question: str,
    answer: Any,  # noqa: ANN401 - JSON
    body: Mapping[str, Any],
    coefficients: Coefficients,
) -> tuple[Any, Correction | None]:
    """Return the corrected answer to one question; the same answer if it is a refusal."""
    mark = mark_of(body, question)
    if mark is not None:
        raise CorrectedError.at(f"question {question!r}", mark)
    before = read_answer(question, answer, body)
    if before.refused:
        return answer, None
    after, deferred = reweighted(before, coefficients)
    new, explained = _replaced(answer, before, after)
    if deferred is not None:
        new[DEFERRED] = deferred
    return {**answer, **new}, Correction(before, after, explained, deferred)


def _check_order(decision: Decision, coefficients: Coefficients) -> None:
    """Warn of options in another order than at the fit, where both are known."""
    asked = question_of(coefficients.fit)
    if asked is not None and decision.kind == "choice" and decision.options != asked.options:
        warnings.warn(
            f"question {decision.question!r}: the options are in another order than at the fit: "
            f"{listed(decision.options)}, not {listed(asked.options)}; models prefer some places",
            DNIPWarning,
            stacklevel=3,
        )


def load_coefficients(sources: Mapping[_Key, CoefficientsLike]) -> dict[_Key, Coefficients]:
    """Return coefficients by question: those of fits, too, and those of files.

    Raises
    ------
    CoefficientsFormatError
        If a file cannot be read, is damaged, or is of an unknown version.
    """
    return {question: as_coefficients(source) for question, source in sources.items()}


def reweighted(decision: Decision, coefficients: Coefficients) -> tuple[Decision, bool | None]:
    """Return the corrected decision, and whether it is deferred."""
    order = decision.ordered(coefficients.classes)
    p = decision.probabilities[order][None]
    new = np.empty(len(order))
    q, winner = reweight(p, coefficients.multipliers), decide(p, coefficients.multipliers)
    new[order] = q[0]
    defer = coefficients.defer
    deferred = None if defer is None else bool(defer.deferred(q, winner)[0])
    choice = decision.options[order[winner[0]]]
    return replace(decision, probabilities=new, choice=choice), deferred


def _replaced(
    answer: Mapping[str, Any], before: Decision, after: Decision
) -> tuple[dict[str, Any], bool]:
    """Return the entries that follow from the probabilities, and if the confidence is explained."""
    explained = True
    p = after.probabilities.tolist()
    new: dict[str, Any] = {}
    shares: Any = answer.get("probabilities")
    if after.kind in YES_NO:
        if (key := YES_NO[after.kind]) is not None:
            new[key] = p[1]
        if isinstance(shares, Mapping):
            by_name = dict(zip((*after.options, *after.aliases), p * 2, strict=True))
            new["probabilities"] = {name: by_name.get(name, old) for name, old in shares.items()}
    elif isinstance(shares, Mapping):
        names = list(shares)
        new["probabilities"] = dict(zip(names, p, strict=True))
    else:
        names = [entry["value"] for entry in shares]
        entries = zip(shares, p, strict=True)
        new["probabilities"] = [{**entry, "probability": value} for entry, value in entries]
    if after.kind == "choice":
        new["choice"] = names[after.options.index(str(after.choice))]
    if after.kind == "score":
        new["score"] = float(_levels(after) @ after.probabilities)
    if answer.get("confidence") is not None:
        reported = number(answer["confidence"], f"question {after.question!r}", "confidence")
        off = [abs(confidence - reported) for confidence in _confidences(before)]
        explained = min(off) <= _ROUNDED
        new["confidence"] = _confidences(after)[off.index(min(off)) if explained else 0]
    return new, explained


def _levels(decision: Decision) -> Floats:
    """Return the numbers of the levels of a score."""
    try:
        return np.array(decision.options, np.float64)
    except ValueError as error:
        raise InvalidInputError(
            f"question {decision.question!r}: the levels {listed(decision.options)} are not numbers"
        ) from error


def _confidences(decision: Decision) -> tuple[float, ...]:
    """Return the confidence by each known definition; the first one is that of System One.

    That is the excess over chance, 0 where all options are equal; of a score it is how near the
    levels are to the best one, 1 less their mean distance, over chance's. The others are the share
    of the best option in the whole vocabulary, that among the options, and 1 less the entropy, over
    that of equal options.
    """
    p, n_options = decision.probabilities.tolist(), len(decision.options)
    chosen = decision.options.index(str(decision.choice))
    best, chance = p[chosen], 1 / n_options
    first = (best - chance) / (1 - chance)
    if decision.kind == "score":
        levels = np.arange(n_options)
        distance = p @ np.abs(levels - chosen)
        first = 1 - float(distance / np.abs(levels - levels.mean()).mean())
    even = 1 + sum(share * math.log(share) for share in p if share > 0) / math.log(n_options)
    mass = 1 if decision.mass is None else decision.mass
    return max(0.0, first), best * mass, best, max(0.0, even)


def marked(body: Mapping[str, Any], by: Mapping[str, str]) -> dict[str, Any]:
    """Return an answer with a mark: in a field of its own, and behind the name of the model.

    Parameters
    ----------
    body : mapping
        The whole answer, as parsed from JSON.
    by : mapping of str to str
        Hashes of coefficients, by question.

    Examples
    --------
    >>> marked({"model": "m", "answers": {}}, {"topic": "202fe88dd43e4192"})["model"]
    'm+dnip-202fe88dd43e4192'
    """
    known = body.get(CORRECTED)
    new = {**body, CORRECTED: {**(known if isinstance(known, Mapping) else {}), **by}}
    if isinstance(model := body.get("model"), str) and not _SUFFIX.search(model):
        new["model"] = f"{model}+dnip-{'.'.join(sorted(set(by.values())))}"
    return new


def mark_of(body: object, question: str = "") -> str | None:
    """Return the hash of the coefficients that corrected an answer; None if none did.

    Parameters
    ----------
    body : JSON value
        The whole answer.
    question : str, optional
        Which question of the answer is meant; by default any.

    Examples
    --------
    >>> answer = marked({"answers": {}}, {"topic": "202fe88dd43e4192"})
    >>> mark_of(answer, "topic"), mark_of(answer, "tone")
    ('202fe88dd43e4192', None)
    """
    if not isinstance(body, Mapping):
        return None
    mark = body.get(CORRECTED)
    if isinstance(mark, Mapping):
        mark = mark.get(question) if question else next(iter(mark.values()), None)
    elif CORRECTED not in body and (suffix := _SUFFIX.search(str(body.get("model", "")))):
        mark = suffix[1]
    return str(mark) if mark else None


def header_of(by: Mapping[str, object]) -> tuple[bytes, bytes]:
    """Return the header of an answer that was corrected.

    Examples
    --------
    >>> header_of({"topic": "202fe88dd43e4192"})
    (b'dnip-corrected-by', b'topic=202fe88dd43e4192')
    """
    pairs = [f"{quote(name)}={quote(str(mark))}" for name, mark in by.items()]
    return HEADER, ", ".join(pairs).encode()
