"""Answers of decision servers: read into probabilities, and corrected by coefficients.

Servers answer typed questions with the probability of every option, in one of two shapes.
System One (``/v1/systemone`` of transformers, vLLM, SGLang, Ollama and others) holds the answers in
an object, by question. OpenAI (``/v1/decisions``) holds them in a list, each with its name.
"""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeAlias, TypeVar
from urllib.parse import quote

import numpy as np

from dnip.base.errors import (
    CoefficientsFormatError,
    CorrectedError,
    DNIPWarning,
    InvalidInputError,
    listed,
)
from dnip.base.typing import Floats
from dnip.llm.questions import Question, question_of
from dnip.method.coefficients import Coefficients, CoefficientsLike, as_coefficients
from dnip.method.prediction import decide, reweight
from dnip.tables.cells import Location, check_mass, check_probabilities
from dnip.tables.columns import CORRECTED, DEFERRED

_Key = TypeVar("_Key")

# A reported confidence may be rounded to two digits.
_ROUNDED = 0.01

#: The header of an answer with a mark.
HEADER = b"dnip-corrected-by"

# A mark stays wherever an answer is saved. Some clients keep no field that they do not know. They
# do keep the name of the model.
_SUFFIX = re.compile(r"\+dnip-([0-9a-f.]+)\Z")

#: Types of yes/no questions, and where their answers hold the probability of yes.
YES_NO = {"noul": "noul", "predicate": "probability", "yes_no": None}

# Where a question has its options.
_LISTS = ("criteria", "choices", "levels")

#: The answer to one question, as parsed from JSON.
Answer: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True, eq=False)
class Decision:
    """The answer to one question.

    Attributes
    ----------
    question : str
        Its name. An answer in a list that has no name is named by its position, from 0.
    kind : str
        ``"choice"``, ``"score"``, ``"noul"``, ``"predicate"``, ``"yes_no"`` or ``"refusal"``.
    options : tuple of str
        In the order of the answer: ``("false", "true")`` for yes/no questions, the numbers of the
        levels for a score, none for a refusal.
    probabilities : ndarray of shape (N,)
        Of the options; the sum is 1.
    choice : str or None
        The chosen option: the one that the server names, otherwise the most probable one.
    mass : float or None
        What the model gave to all options together, where the server says so.
    aliases : tuple of str
        Other names of the options, in the same order: ``("no", "yes")``, or the labels of levels.
    total : float
        The sum of the probabilities as the server gave them; rounded ones may miss 1.
    """

    question: str
    kind: str
    options: tuple[str, ...]
    probabilities: Floats
    choice: str | None
    mass: float | None = None
    aliases: tuple[str, ...] = ()
    total: float = 1.0

    @property
    def refused(self) -> bool:
        """Whether the model declined to answer."""
        return self.kind == "refusal"

    def ordered(self, classes: Collection[str]) -> list[int]:
        """Return the position of each class among the options, which may have another order.

        Raises
        ------
        CoefficientsFormatError
            If the classes are not the options, under their names or their aliases.

        Examples
        --------
        >>> Decision("spam", "noul", ("false", "true"), np.array([0.2, 0.8]), "true").ordered(
        ...     ["true", "false"]
        ... )
        [1, 0]
        """
        return order_of(self.question, classes, self.options, self.aliases)


def order_of(question: str, classes: Collection[str], *names: tuple[str, ...]) -> list[int]:
    """Return the position of each class among the options, which may go by several names.

    Raises
    ------
    CoefficientsFormatError
        If the classes are not the options.
    """
    for options in names:
        places = {name: number for number, name in enumerate(options)}
        if len(options) == len(classes) and places.keys() == set(classes):
            return [places[name] for name in classes]
    raise CoefficientsFormatError(
        f"question {question!r} has the options {listed(names[0])}, but the coefficients were "
        f"fitted for {listed(tuple(classes))}",
        hint="Apply coefficients to the question that they were fitted on",
    )


def read_decisions(
    body: Mapping[str, Any], questions: Collection[str] | None = None
) -> list[Decision]:
    """Read the answers of a decision server, of either shape.

    Parameters
    ----------
    body : mapping
        The whole answer, as parsed from JSON.
    questions : collection of str, optional
        Read only the answers to these; all by default.

    Returns
    -------
    list
        Decisions in the order of the answers, refusals included.

    Raises
    ------
    InvalidInputError
        For a body of another shape, and answers that are damaged or of an unknown type; the
        message names the question.

    Examples
    --------
    >>> answer = {"type": "choice", "choice": "b", "probabilities": {"a": 0.4, "b": 0.6}}
    >>> [topic] = read_decisions({"answers": {"topic": answer}})
    >>> topic.question, topic.options, topic.choice, topic.probabilities
    ('topic', ('a', 'b'), 'b', array([0.4, 0.6]))
    """
    return [
        read_answer(question, answer, body)
        for question, answer in answers_of(body)
        if questions is None or question in questions
    ]


def answers_of(body: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the answers of a body of either shape, with the names of their questions."""
    answers = body.get("answers") if isinstance(body, Mapping) else None
    if not isinstance(answers, Mapping | list):
        raise InvalidInputError(
            "a decision holds 'answers', an object or a list; "
            + (f"got {answers!r:.60}" if isinstance(body, Mapping) else f"got {body!r:.60}"),
            hint="Give the whole answer of /v1/systemone or /v1/decisions",
        )
    yield from by_question(answers)


def by_question(entries: object) -> Iterator[tuple[str, Any]]:
    """Yield the entries of an object, or of a list by their names or positions, from 0."""
    if isinstance(entries, Mapping):
        yield from entries.items()
    elif isinstance(entries, list):
        for position, entry in enumerate(entries):
            name = entry.get("name") if isinstance(entry, Mapping) else None
            yield str(position) if name is None else str(name), entry


def in_shape_of(entries: object, named: Sequence[tuple[str, Any]]) -> list[Any] | dict[str, Any]:
    """Return named entries as an object or as a list, whichever these are."""
    return [entry for _, entry in named] if isinstance(entries, list) else dict(named)


def read_answer(question: str, answer: Any, body: Mapping[str, Any]) -> Decision:  # noqa: ANN401
    """Read the answer to one question, which may be any JSON value."""
    where = f"question {question!r}"
    if not isinstance(answer, Mapping):
        raise InvalidInputError(f"{where}: the answer is not an object: {answer!r:.60}")
    kind = answer.get("type")
    if kind == "refusal":
        return Decision(question, "refusal", (), np.empty(0), None)
    if kind not in ("choice", "score", *YES_NO):
        raise InvalidInputError(
            f"{where}: the answer has the type {kind!r:.60}",
            hint="Known are choice, score, noul, predicate, yes_no and refusal",
        )
    options: tuple[str, ...] = ("false", "true")
    aliases: tuple[str, ...] = ("no", "yes")
    if kind in YES_NO:
        values = _yes_no(answer, where)
    else:
        options, values = _options(answer, where)
        aliases = _labels(answer, options) if kind == "score" else ()
    numbers = [number(value, where, name) for name, value in zip(options, values, strict=True)]
    probabilities = check_probabilities([numbers], location=_Where(where, options), warn=False)
    if kind == "choice":
        choice = _name(answer.get("choice"), where)
    else:
        choice = options[decide(probabilities)[0]]
    if choice not in options:
        raise InvalidInputError(
            f"{where}: the choice {choice!r:.60} is not among the options {listed(options)}"
        )
    mass = _mass(question, answer, body)
    return Decision(question, kind, options, probabilities[0], choice, mass, aliases, sum(numbers))


def _options(answer: Answer, where: str) -> tuple[tuple[str, ...], list[Any]]:
    """Return the options and their probabilities, from an object or a list of objects."""
    entries = answer.get("probabilities")
    if isinstance(entries, Mapping):
        options, values = tuple(map(str, entries)), list(entries.values())
    elif isinstance(entries, list) and all(isinstance(entry, Mapping) for entry in entries):
        options = tuple(_name(entry.get("value"), where) for entry in entries)
        values = [entry.get("probability") for entry in entries]
    else:
        raise InvalidInputError(
            f"{where}: 'probabilities' is {entries!r:.60}; it must be an object or a list"
        )
    if len(set(options)) != len(options):
        raise InvalidInputError(f"{where}: two options have the same name: {listed(options)}")
    return options, values


def _yes_no(answer: Answer, where: str) -> list[float]:
    """Return the probabilities of no and yes."""
    key = YES_NO[answer["type"]]
    if key is None:
        both = answer.get("probabilities")
        if not isinstance(both, Mapping) or set(both) != {"yes", "no"}:
            raise InvalidInputError(f"{where}: 'probabilities' is {both!r:.60}, not of yes and no")
        return [both["no"], both["yes"]]
    yes = number(answer.get(key), where, key)
    return [1 - yes, yes]


def _name(value: object, where: str) -> str:
    """Return the name of an option; true and false are written as in JSON."""
    if not isinstance(value, str | bool | int | float):
        raise InvalidInputError(f"{where}: an option is named {value!r:.60}, which is no text")
    return _as_text(value)


def _labels(answer: Answer, options: tuple[str, ...]) -> tuple[str, ...]:
    """Return the labels of the levels of a score, where the answer has distinct ones."""
    entries, legend = answer["probabilities"], answer.get("legend")
    if isinstance(entries, list):
        labels = [entry.get("label") for entry in entries]
    else:
        labels = [legend.get(option) if isinstance(legend, Mapping) else None for option in options]
    texts = tuple(label for label in labels if isinstance(label, str))
    return texts if len(set(texts)) == len(options) else ()


def number(value: object, where: str, name: str) -> float:
    """Return a number of an answer."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InvalidInputError(f"{where}, {name}: {value!r:.60} is not a number")
    try:
        return float(value)
    except OverflowError as error:
        raise InvalidInputError(f"{where}, {name}: the number is too large") from error


def _mass(question: str, answer: Answer, body: Mapping[str, Any]) -> float | None:
    """Return the label mass, which vLLM reports beside the answers and SGLang in them."""
    diagnostics = body.get("diagnostics")
    beside = diagnostics.get(question) if isinstance(diagnostics, Mapping) else None
    for holder, key in ((answer, "label_mass"), (answer, "x_label_mass"), (beside, "label_mass")):
        if isinstance(holder, Mapping) and holder.get(key) is not None:
            where = f"question {question!r}, {key}"
            mass = number(holder[key], where, "mass")
            return float(check_mass([mass], n_examples=1, location=_Where(where))[0])
    return None


@dataclass(frozen=True)
class _Where(Location):
    """Names of the options of a question, for messages."""

    options: tuple[str, ...] = ()

    def cell(self, row: int, column: int | None = None) -> str:
        """Name the question, and its option if given."""
        return self.source if column is None else f"{self.source}, {self.options[column]}"


# --- what is asked ---
def asked_question(model: str | None, content: Mapping[str, Any]) -> Question | None:
    """Return the question that a request asks; None where its options are not known.

    What stands beside the options, such as instructions and descriptions, is its wording.

    Examples
    --------
    >>> topic = {"type": "choice", "instructions": "Which?", "criteria": {"a": None, "b": None}}
    >>> asked_question("m", topic).options
    ('a', 'b')
    """
    names = _options_asked(content)
    fixed = {key: value for key, value in content.items() if key != "name"}
    return Question.of(model, "decision", names[-1], fixed) if names else None


def check_options(name: str, content: Mapping[str, Any], classes: Collection[str]) -> None:
    """Refuse a question whose options are not the classes; what is not known is left to the answer.

    Raises
    ------
    CoefficientsFormatError
        If they are not.

    Examples
    --------
    >>> topic = {"type": "choice", "criteria": {"a": None, "b": None}}
    >>> check_options("topic", topic, ["b", "a"])
    """
    if names := _options_asked(content):
        order_of(name, classes, *names)


def with_options_in_order(content: Mapping[str, Any], classes: Sequence[str]) -> Mapping[str, Any]:
    """Return a choice with its options in the order of the classes; other questions as they are.

    Models prefer what stands first, or last: another order is another question.

    Examples
    --------
    >>> topic = {"type": "choice", "criteria": {"a": None, "b": None}}
    >>> with_options_in_order(topic, ["b", "a"])["criteria"]
    {'b': None, 'a': None}
    """
    names = _options_asked(content) if content.get("type") == "choice" else []
    if not names or names[0] == tuple(classes):
        return content
    key = next(key for key in _LISTS if content.get(key))
    options = content[key]
    places = order_of("", classes, *names)
    entries = [*options.items()] if isinstance(options, Mapping) else options
    new: Any = [entries[number] for number in places]
    return {**content, key: dict(new) if isinstance(options, Mapping) else new}


def as_listed(answer: object, content: Mapping[str, Any]) -> object:
    """Return an answer with its options in the order of the request."""
    entries = answer.get("probabilities") if isinstance(answer, Mapping) else None
    places = {name: number for number, name in enumerate(_options_asked(content)[0])}
    if isinstance(entries, Mapping):
        items = sorted(entries.items(), key=lambda entry: places.get(str(entry[0]), len(places)))
        return {**answer, "probabilities": dict(items)}  # type: ignore[dict-item]
    if isinstance(entries, list) and all(isinstance(entry, Mapping) for entry in entries):
        listed = sorted(
            entries, key=lambda entry: places.get(_as_text(entry.get("value")), len(places))
        )
        return {**answer, "probabilities": listed}  # type: ignore[dict-item]
    return answer


def _options_asked(question: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """Return the options of a question, and other names of them; nothing where none are known."""
    kind = question.get("type")
    if kind in list(YES_NO):
        return [("false", "true"), ("no", "yes")]
    options = next((question[key] for key in _LISTS if question.get(key)), None)
    if not isinstance(options, Mapping | list) or kind not in ("choice", "score"):
        return []
    entries = [
        option.get("value", option.get("label")) if isinstance(option, Mapping) else option
        for option in options
    ]
    names = tuple(map(_as_text, entries))
    return [names] if kind == "choice" else [tuple(map(str, range(len(names)))), names]


def _as_text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


# --- corrected ---
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
