"""The options that choose a language model, on this machine or behind a server, and its engine."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from dnip.base.cluster import Cluster
from dnip.base.errors import InvalidInputError, load_optional
from dnip.base.validation import check_choice
from dnip.llm.prompting.engines import ClusterEngine, Engine
from dnip.llm.prompting.engines.hub import HubTokenizer
from dnip.llm.prompting.engines.local import TransformersEngine, TransformersReasoningEngine
from dnip.llm.prompting.engines.servers import (
    DecisionEngine,
    Endpoint,
    OpenAIEngine,
    OpenAIReasoningEngine,
    Server,
    ServerEngine,
    VotingEngine,
)
from dnip.llm.prompting.labels import Scoring
from dnip.llm.prompting.plan import Plan

#: How a model is asked: a text to continue, a chat, or a decision of a server.
ENDPOINTS = (*map(str, Endpoint), *DecisionEngine.ENDPOINTS)
#: Of those that take an option, messages name the first.
ENGINES: tuple[type[TransformersEngine | ServerEngine], ...] = (
    *(TransformersEngine, TransformersReasoningEngine),
    *(OpenAIEngine, OpenAIReasoningEngine, VotingEngine, DecisionEngine),
)


@dataclass(frozen=True)
class ModelOptions:
    """What the user says of the model.

    What each field is for: see `dnip.prompt`.
    """

    model: str
    scoring: str = Scoring.FIRST
    dtype: str | None = None
    device: str | None = None
    revision: str | None = None
    batch_tokens: int | None = None
    served_model: str | None = None
    endpoint: str | None = None
    top_logprobs: int | None = None
    tokenizer: str | None = None
    key_variable: str | None = None
    concurrency: int | None = None
    timeout: float | None = None
    retries: int | None = None
    extra_body: str | Mapping[str, Any] | None = None
    chain_of_thought: bool = False
    max_new_tokens: int | None = None
    votes: int | None = None

    @property
    def is_server(self) -> bool:
        """Whether the model is a server's URL."""
        return self.model.lower().startswith(("http://", "https://"))

    @classmethod
    def names(cls) -> set[str]:
        """Return the names of all options."""
        return {option.name for option in fields(cls)}

    def __post_init__(self) -> None:
        check_choice("scoring", self.scoring, tuple(Scoring))
        check_choice("endpoint", self.endpoint or Endpoint.CHAT, ENDPOINTS)
        if self.asks_decision and not self.is_server:
            raise InvalidInputError(
                f"--endpoint {self.endpoint} is for a decision server, not for a model on this "
                "machine",
                hint="Leave it out, or give --endpoint chat",
            )
        self.check()
        if self.is_server and self.served_model is None:
            raise InvalidInputError(
                f"{self.model} is a server, and a server needs the name of its model",
                hint="Give --served-model; GET /models lists the names",
            )
        extra = "openai" if self.is_server else "transformers"
        load_optional("jinja2", purpose="fill prompt templates", extra=extra)

    @property
    def asks_decision(self) -> bool:
        """Whether the model is asked for a decision."""
        return self.endpoint in DecisionEngine.ENDPOINTS

    @property
    def engine(self) -> type[TransformersEngine | ServerEngine]:
        """The kind of engine that the options ask for."""
        if not self.is_server:
            return TransformersReasoningEngine if self.chain_of_thought else TransformersEngine
        if self.asks_decision:
            return DecisionEngine
        if self.votes is not None:
            return VotingEngine
        return OpenAIReasoningEngine if self.chain_of_thought else OpenAIEngine

    @property
    def ways(self) -> list[ModelOptions]:
        """The options for each way to try; a server's endpoint is found out where none is named."""
        if self.endpoint is None and issubclass(self.engine, OpenAIEngine):
            return [replace(self, endpoint=endpoint) for endpoint in Endpoint]
        return [self]

    def check(self, **further: object) -> None:
        """Refuse options that the engine has no use for, before anything is loaded.

        Parameters
        ----------
        **further
            Options of a command beside these, such as fill; None or False where they are not given.

        Raises
        ------
        InvalidInputError
        """
        for name, value in {**vars(self), **further}.items():
            is_set = value is not None and value is not False and value is not Scoring.FIRST
            if is_set and name not in ("model", *self.engine.OPTIONS):
                takers = [engine.KIND for engine in ENGINES if name in engine.OPTIONS]
                flag = f"--{name.replace('_', '-')}"
                raise InvalidInputError(
                    f"{flag} is for {takers[0]}, not for {self.engine.KIND}", hint="Leave it out"
                )


def open_engines(options: ModelOptions, plan: Plan, workers: Cluster | None = None) -> list[Engine]:
    """Return the engines of a plan, as `run_plan` takes them; on a cluster, if there is one."""
    if options.asks_decision and plan.task.question and plan.builder.demonstrations:
        raise InvalidInputError(
            f"the task {plan.task.name} has a question of its own, in which no demonstration can "
            "be shown",
            hint="Leave out --shots",
        )
    engines = [open_model(way, stop=plan.builder.stop) for way in options.ways]
    if workers is None:
        return list(engines)
    return [ClusterEngine(workers, engine) for engine in engines]


def open_model(
    options: ModelOptions, *, stop: str | None = None
) -> TransformersEngine | ServerEngine:
    """Return the engine that a model's path, name or URL asks for.

    Parameters
    ----------
    options : ModelOptions
    stop : str, optional
        Text that ends an answer, where the model reasons and goes on with the very prompt.
    """
    kind = options.engine
    settings: dict[str, Any] = {
        _SETTINGS.get(name, name): value
        for name in kind.OPTIONS
        if (value := getattr(options, name, None)) is not None
    }
    reasons = settings.pop("chain_of_thought", False) and kind is not VotingEngine
    if reasons or issubclass(kind, OpenAIEngine):
        settings["stop"] = None if options.endpoint == Endpoint.CHAT else stop
    if not issubclass(kind, ServerEngine):
        settings["chat"] = settings.pop("endpoint", None) == Endpoint.CHAT
        return kind(options.model, **settings)
    of_server = {name: settings.pop(name) for name in _OF_SERVER if name in settings}
    if options.tokenizer is not None:
        settings["tokenizer"] = HubTokenizer(options.tokenizer)
    if options.extra_body is not None:
        settings["extra_body"] = _parse_object(options.extra_body)
    return kind(server=Server(options.model, **of_server), **settings)


# What engines call an option where it is not its own name, and what is told of a server.
_SETTINGS = {"served_model": "model", "votes": "samples"}
_OF_SERVER = ("key_variable", "concurrency", "timeout", "retries")


def _parse_object(text: str | Mapping[str, Any]) -> dict[str, Any]:
    try:
        content = json.loads(text) if isinstance(text, str) else dict(text)
    except (ValueError, RecursionError):
        content = None
    if not isinstance(content, dict):
        raise InvalidInputError(
            "--extra-body must be a JSON object", hint="""Such as '{"reasoning_effort": "low"}'"""
        )
    return content
