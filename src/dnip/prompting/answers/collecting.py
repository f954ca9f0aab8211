"""Answers gathered one by one: what all must agree on, and what is kept of each."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from dnip.base.errors import BackendError, InvalidInputError, listed
from dnip.prompting.answers.envelope import open_envelope
from dnip.prompting.answers.files import Found
from dnip.prompting.answers.gold import BY_ROW, ID, LABEL
from dnip.prompting.answers.registry import SOURCES, recognise, source_named
from dnip.prompting.answers.source import Row, Source, Unanswered, Wanted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

#: Under which name answers hold the model that gave them.
_MODEL = ("model", "modelVersion")


class Kept(NamedTuple):
    """A row of the table to be.

    Attributes
    ----------
    where : str
        The file and the line.
    number : int
        Which of all answers it is, from 0; refusals and failures count.
    row : Row
        What it says of the classes.
    row_id, label : object
        Its id and its label in the answers, None where there is none.
    """

    where: str
    number: int
    row: Row
    row_id: object
    label: object


class Collector:
    """Reads answers that must be of one source, one model and one question.

    Parameters
    ----------
    wanted : Wanted
        Without a question, the answers may hold one only.
    source : str, optional
        Recognised in the first answer by default.
    on, label : str, optional
        The names under which answers hold their ids and labels.

    Attributes
    ----------
    kept : list of Kept
    n_answers : int
        Answers so far, those that are not kept included.
    refused, failed : list of str
        The ids (or places) of answers that are refusals, and of requests that failed.
    n_other : int
        Answers without the question.
    model : str or None
    """

    def __init__(
        self,
        wanted: Wanted,
        source: str | None = None,
        on: str | None = None,
        label: str | None = None,
    ) -> None:
        self._wanted = wanted
        self._source = None if source is None else source_named(source)
        self._on, self._label = on, label
        self._question: str | None = wanted.question or None
        self._questions: dict[str, None] = {}
        self._model_at = ""
        self.kept: list[Kept] = []
        self.n_answers = self.n_other = 0
        self.refused: list[str] = []
        self.failed: list[str] = []
        self.model: str | None = None

    @property
    def source(self) -> str:
        """The name of the source."""
        return next(name for name, one in SOURCES.items() if one is self._source)

    @property
    def question(self) -> str:
        """The question that was read, empty where answers have none."""
        return self._question or ""

    def add_all(self, found: Iterable[Found]) -> None:
        """Add values of files: answers, or lists of answers.

        Raises
        ------
        InvalidInputError
            For the first answer that is damaged, or does not agree with those before.
        """
        for where, content in _flattened(found):
            with _naming(where):
                self._add(where, content)
        if self.n_other == self.n_answers > 0:
            raise InvalidInputError(
                f"no answer has the question {self.question!r}; the questions are "
                f"{listed(tuple(self._questions))}",
                hint="Name one of them with --question",
            )

    def _add(self, where: str, saved: Any) -> None:  # noqa: ANN401
        opened = open_envelope(saved)
        content = opened.content
        number = self.n_answers
        self.n_answers += 1
        if opened.failed:
            self.failed.append(where if opened.own_id is None else str(opened.own_id))
            return
        source = self._check_source(content)
        self._check_model(where, content)
        question = self._check_question(source.questions(content))
        if question is None:
            self.n_other += 1
            return
        row = source.read(content, replace(self._wanted, question=question))
        holders = [one for one in (saved, content) if isinstance(one, dict)]
        own_id = None if isinstance(row, Unanswered) else row.own_id
        row_id = self._id(holders, opened.own_id, own_id)
        if isinstance(row, Unanswered):
            self.refused.append(where if row_id is None else str(row_id))
        else:
            self.kept.append(Kept(where, number, row, row_id, self._label_of(holders, row)))

    def _check_source(self, content: object) -> Source:
        if self._source is None:
            name = recognise(content)
            self._source = None if name is None else SOURCES[name]
        if self._source is None:
            known = "; ".join(f"{name}: {source.title}" for name, source in SOURCES.items())
            raise InvalidInputError(
                "this is an answer of no known source", hint=f"The sources are {known}"
            )
        if not self._source.recognises(content):
            raise InvalidInputError(
                f"this is no answer of the source {self.source} ({self._source.title})",
                hint="Import answers of another kind into a table of their own",
            )
        return self._source

    def _check_model(self, where: str, content: object) -> None:
        found = [content.get(key) for key in _MODEL] if isinstance(content, dict) else []
        model = next((name for name in found if isinstance(name, str)), None)
        if model is None:
            return
        if self.model is None:
            self.model, self._model_at = model, where
        elif model != self.model:
            raise InvalidInputError(
                f"the answer is of the model {model!r}, but that at {self._model_at} is of "
                f"{self.model!r}",
                hint="Import the answers of each model into a table of its own",
            )

    def _check_question(self, names: Iterable[str]) -> str | None:
        """Return the question to read, None where the answer does not have it."""
        names = list(names)
        self._questions.update(dict.fromkeys(names))
        if not self._wanted.question:
            if len(self._questions) > 1:
                raise InvalidInputError(
                    f"there are several questions: {listed(tuple(self._questions))}",
                    hint="Name one of them with --question",
                )
            self._question = next(iter(self._questions), None)
        return self._question if self._question in names else None

    def _id(self, holders: list[dict[str, Any]], batch_id: object, own_id: object) -> object:
        if self._on not in (None, BY_ROW):
            return _held(holders, str(self._on), "--on")
        beside = (held.get(ID) for held in holders)
        return next((one for one in (batch_id, *beside, own_id) if one is not None), None)

    def _label_of(self, holders: list[dict[str, Any]], row: Row) -> object:
        if not self._wanted.own_labels:
            return None
        if self._label is not None:
            return _held(holders, self._label, "--label")
        own = next((held[LABEL] for held in holders if LABEL in held), None)
        return row.label if own is None else own


def _held(holders: list[dict[str, Any]], name: str, option: str) -> object:
    """Return what stands beside an answer, or in the document that a harness asked about."""
    holders = [*holders, *(one["doc"] for one in holders if isinstance(one.get("doc"), dict))]
    for held in holders:
        if name in held:
            return held[name]
    there = listed([key for held in holders for key in held]) or "nothing"
    raise InvalidInputError(
        f"there is no {name}; there are {there}", hint=f"Give another name with {option}"
    )


def _flattened(found: Iterable[Found]) -> Iterator[Found]:
    """Yield answers, also those in lists that are no answer themselves."""
    for where, content in found:
        if isinstance(content, list) and recognise(content) is None:
            yield from _flattened(
                Found(f"{where}, answer {number}", one) for number, one in enumerate(content, 1)
            )
        else:
            yield Found(where, content)


@contextmanager
def _naming(where: str) -> Iterator[None]:
    """Say in errors where the answer lies."""
    try:
        yield
    except (InvalidInputError, BackendError) as error:
        raise InvalidInputError(f"{where}: {error.message}", hint=error.hint) from error
    except (LookupError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise InvalidInputError(
            f"{where}: the answer is not understood: {type(error).__name__}: {error}",
            hint="Import answers as their service wrote them",
        ) from error
