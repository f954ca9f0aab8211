"""Engines for OpenAI-compatible servers: label probabilities from reported log-probabilities."""

from __future__ import annotations

from contextlib import closing, suppress
from dataclasses import dataclass, field, fields
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from dnip.base.errors import InvalidInputError
from dnip.base.validation import check_choice, check_integer
from dnip.prompting.engines.base import ScoredRow, Scoring
from dnip.prompting.engines.label_matching import LabelMatcher
from dnip.prompting.engines.openai_client import Server
from dnip.prompting.engines.openai_requests import (
    MAX_TOP_LOGPROBS,
    Endpoint,
    check_extra,
    logprob_fields,
    request_body,
)
from dnip.prompting.engines.openai_responses import read_reported

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from dnip.prompting.engines.label_matching import Match
    from dnip.prompting.prompt import Prompt
    from dnip.prompting.task import Task

T = TypeVar("T")


@dataclass(frozen=True)
class ServerEngine:
    """What all engines for OpenAI-compatible servers have in common.

    Parameters
    ----------
    model : str
        The server's name of the model.
    server : Server
        Address, key, concurrency, timeout and retries.
    endpoint : Endpoint or str, default="completions"
        ``"completions"``, or ``"chat"`` for models that only chat.
    extra_body : mapping, optional
        Further fields of every request; None takes a field out, as in ``{"max_tokens": None,
        "max_completion_tokens": 1}``. No secrets: they are recorded.
    """

    kind: ClassVar[str]
    model: str
    server: Server = field(default_factory=Server)
    endpoint: Endpoint | str = Endpoint.COMPLETIONS
    extra_body: Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        if not self.model:
            raise InvalidInputError("model must be the server's name of a model; got ''")
        check_extra(self.extra_body)
        check_choice("endpoint", self.endpoint, tuple(Endpoint))

    def describe(self) -> dict[str, Any]:
        """Return all that the probabilities depend on; never the key."""
        own = {one.name: getattr(self, one.name) for one in fields(self) if one.name != "server"}
        return {
            "engine": self.kind,
            "base_url": self.server.base_url,
            **own,
            "endpoint": str(self.endpoint),
            "extra_body": check_extra(self.extra_body),
            "versions": _library_versions(),
        }

    def _body(self, prompt: Prompt, **more: Any) -> dict[str, Any]:
        """Return the request for a prompt; fields of None are left out."""
        return request_body(
            Endpoint(self.endpoint), prompt.text, {"model": self.model, **more}, self.extra_body
        )

    def _ask(
        self,
        bodies: Iterable[tuple[str, Mapping[str, Any]]],
        read: Callable[[Any], T],
        requests: int,
    ) -> Iterator[tuple[int, T]]:
        """Yield what is read from the answers, as `Server.ask`; end all requests when closed."""
        path = Endpoint(self.endpoint).path
        with closing(self.server.ask(path, bodies, read, requests=requests)) as answers:
            yield from answers


@dataclass(frozen=True)
class OpenAIEngine(ServerEngine):
    """Scores labels by the log-probabilities that an OpenAI-compatible server reports.

    One request per prompt, for one token. Labels outside the reported ones are bounded: captured 0,
    and in `ScoredRow.ceiling` the most that they can be.

    Parameters
    ----------
    model, server, endpoint, extra_body
        As for `ServerEngine`.
    top_logprobs : int, default=20
        How many of the likeliest tokens to ask for, up to 20.
    label_token_ids : sequence of int, optional
        Ids of the labels' first tokens, one per class. Servers that can (vLLM) report them exactly,
        and they are matched by id where the server tells ids.
    label_tokens : sequence of str, optional
        Texts of the labels' first tokens, as the server writes them. Without them a reported token
        counts for the only label whose answer it begins; see `LabelMatcher`.

    Examples
    --------
    >>> engine = OpenAIEngine("small", Server("http://127.0.0.1:8000/v1"), top_logprobs=5)
    >>> [engine.describe()[key] for key in ("model", "endpoint", "top_logprobs")]
    ['small', 'completions', 5]
    """

    kind = "openai"
    top_logprobs: int = MAX_TOP_LOGPROBS
    label_token_ids: Sequence[int] | None = None
    label_tokens: Sequence[str] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_integer("top_logprobs", self.top_logprobs, at_least=1, at_most=MAX_TOP_LOGPROBS)

    def score(
        self,
        prompts: Sequence[Prompt],
        task: Task,
        scoring: Scoring = Scoring.FIRST,
        *,
        done: frozenset[int] = frozenset(),
    ) -> Iterator[ScoredRow]:
        """Yield the scores of every prompt but those `done`, once, in the order in which they come.

        Parameters
        ----------
        prompts : sequence of Prompt
        task : Task
        scoring : Scoring
            Only the first distinguishing token: a server reports one position.
        done : frozenset of int
            Rows that are not asked for.

        Yields
        ------
        ScoredRow
            With ``details["ambiguous"]``, the probability on tokens that begin several labels'
            answers, where there is any.

        Raises
        ------
        InvalidInputError
            For another scoring, or labels that the server's tokens cannot tell apart.
        BackendError
            If a request fails for good.
        """
        if scoring != Scoring.FIRST:
            raise InvalidInputError(
                f"a server reports the first token only; scoring {str(scoring)!r} needs more",
                hint=f"Use scoring {str(Scoring.FIRST)!r}, or a model that runs here",
            )
        matcher = LabelMatcher.for_task(
            task, Endpoint(self.endpoint), token_ids=self.label_token_ids, tokens=self.label_tokens
        )
        return self._stream(prompts, matcher, done)

    def _stream(
        self, prompts: Sequence[Prompt], matcher: LabelMatcher, done: frozenset[int]
    ) -> Iterator[ScoredRow]:
        rows = [row for row in range(len(prompts)) if row not in done]
        asked = self._fields() | logprob_fields(
            Endpoint(self.endpoint), self.top_logprobs, self.label_token_ids
        )
        bodies = ((f"prompt {row}", self._body(prompts[row], **asked)) for row in rows)
        answers = self._ask(bodies, lambda answer: self._read(answer, matcher), len(rows))
        for number, (match, details) in answers:
            unclear = {"ambiguous": match.ambiguous} if match.ambiguous > 0 else {}
            yield ScoredRow(rows[number], match.captured, match.ceiling, details | unclear)

    def _fields(self) -> dict[str, Any]:
        """Return what a request says of the answer."""
        return {"max_tokens": 1, "temperature": 0}

    def _read(self, payload: object, matcher: LabelMatcher) -> tuple[Match, dict[str, Any]]:
        """Return what an answer says of the labels, and what else is known of it."""
        return matcher.match(read_reported(payload)), {}


def _library_versions() -> dict[str, str]:
    """Return the versions of the libraries that talk to the server."""
    versions = {}
    for name in ("httpx2", "jinja2"):
        with suppress(PackageNotFoundError):
            versions[name] = version(name)
    return versions
