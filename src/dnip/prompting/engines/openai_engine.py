"""Engine for OpenAI-compatible servers: label probabilities from reported log-probabilities."""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

from dnip.base.errors import InvalidInputError
from dnip.base.validation import check_choice, check_integer
from dnip.prompting.engines.base import ScoredRow, Scoring
from dnip.prompting.engines.label_matching import LabelMatcher
from dnip.prompting.engines.openai_client import Server
from dnip.prompting.engines.openai_requests import (
    MAX_TOP_LOGPROBS,
    Endpoint,
    check_extra,
    scoring_body,
)
from dnip.prompting.engines.openai_responses import read_reported

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from dnip.prompting.engines.label_matching import Match
    from dnip.prompting.prompt import Prompt
    from dnip.prompting.task import Task


@dataclass(frozen=True)
class OpenAIEngine:
    """Scores labels by the log-probabilities that an OpenAI-compatible server reports.

    One request per prompt, for one token. Labels outside the reported ones are bounded: captured 0,
    and in `ScoredRow.ceiling` the most that they can be.

    Parameters
    ----------
    model : str
        The server's name of the model.
    server : Server
        Address, key, concurrency, timeout and retries.
    endpoint : Endpoint or str, default="completions"
        ``"completions"``, or ``"chat"`` for models that only chat.
    top_logprobs : int, default=20
        How many of the likeliest tokens to ask for, up to 20.
    label_token_ids : sequence of int, optional
        Ids of the labels' first tokens, one per class: asked for exactly where the server can
        (vLLM), and matched by id where it tells ids.
    label_tokens : sequence of str, optional
        Texts of the labels' first tokens, as the server writes them. Without them a reported token
        counts for the only label whose answer it begins; see `LabelMatcher`.
    extra_body : mapping, optional
        Further fields of every request; None takes a field out, as in ``{"max_tokens": None,
        "max_completion_tokens": 1}``. No secrets: they are recorded.

    Examples
    --------
    >>> engine = OpenAIEngine("small", Server("http://127.0.0.1:8000/v1"), top_logprobs=5)
    >>> [engine.describe()[key] for key in ("model", "endpoint", "top_logprobs")]
    ['small', 'completions', 5]
    """

    model: str
    server: Server = field(default_factory=Server)
    endpoint: Endpoint | str = Endpoint.COMPLETIONS
    top_logprobs: int = MAX_TOP_LOGPROBS
    label_token_ids: Sequence[int] | None = None
    label_tokens: Sequence[str] | None = None
    extra_body: Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        if not self.model:
            raise InvalidInputError("model must be the server's name of a model; got ''")
        check_extra(self.extra_body)
        check_choice("endpoint", self.endpoint, tuple(Endpoint))
        check_integer("top_logprobs", self.top_logprobs, at_least=1, at_most=MAX_TOP_LOGPROBS)

    def describe(self) -> dict[str, Any]:
        """Return all that the probabilities depend on; never the key."""
        return {
            "engine": "openai",
            "base_url": self.server.base_url,
            "model": self.model,
            "endpoint": str(self.endpoint),
            "top_logprobs": self.top_logprobs,
            "label_token_ids": None if self.label_token_ids is None else list(self.label_token_ids),
            "label_tokens": None if self.label_tokens is None else list(self.label_tokens),
            "extra_body": check_extra(self.extra_body),
            "versions": library_versions(),
        }

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
        rows = [row for row in range(len(prompts)) if row not in done]
        return self._stream(prompts, rows, matcher)

    def _stream(
        self, prompts: Sequence[Prompt], rows: Sequence[int], matcher: LabelMatcher
    ) -> Iterator[ScoredRow]:
        def read(payload: object) -> tuple[Match, dict[str, Any]]:
            return self._read(payload, matcher)

        endpoint = Endpoint(self.endpoint)
        bodies = ((f"prompt {row}", self._body(prompts[row])) for row in rows)
        answers = self.server.ask(endpoint.path, bodies, read, requests=len(rows))
        try:
            for number, (match, details) in answers:
                unclear = {"ambiguous": match.ambiguous} if match.ambiguous > 0 else {}
                yield ScoredRow(rows[number], match.captured, match.ceiling, details | unclear)
        finally:
            answers.close()

    def _read(self, payload: object, matcher: LabelMatcher) -> tuple[Match, dict[str, Any]]:
        """Return what an answer says of the labels, and what else is known of it."""
        return matcher.match(read_reported(payload)), {}

    def _body(self, prompt: Prompt) -> dict[str, Any]:
        return scoring_body(
            Endpoint(self.endpoint),
            prompt.text,
            model=self.model,
            top_logprobs=self.top_logprobs,
            label_token_ids=self.label_token_ids,
            extra=self.extra_body,
        )


def library_versions() -> dict[str, str]:
    """Return the versions of the libraries that talk to the server."""
    versions = {}
    for name in ("httpx", "jinja2"):
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            continue
    return versions
