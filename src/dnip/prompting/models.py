"""The options that choose a language model, on this machine or behind a server, and its engine."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from dnip.base.errors import InvalidInputError
from dnip.base.optional import load_optional
from dnip.prompting.engines.openai_engine import Endpoint
from dnip.prompting.labels import Scoring
from dnip.prompting.task import Task

if TYPE_CHECKING:  # engines are heavy, and loaded when a model is opened
    from dnip.prompting.engines.server import ServerEngine
    from dnip.prompting.engines.transformers_engine import TransformersEngine


@dataclass(frozen=True)
class ModelOptions:
    """What the user says of the model. A new option is a field here, under its heading.

    Parameters
    ----------
    model : MODEL
        A folder, a GGUF file, or a model's name on the Hugging Face hub, such as
        HuggingFaceTB/SmolLM2-135M-Instruct; or the URL of an OpenAI-compatible server, such as
        http://127.0.0.1:8000/v1.

    Model on this machine
    ---------------------
    scoring
        How to score a label word of several tokens. first: the first token that no other label has.
        sum: the sum of the tokens' log-probabilities. per-token: that sum per token. mean: the mean
        of the tokens' probabilities.
    dtype
        float32, bfloat16, float16, or auto for the model's own. [default: float32]
    device
        cpu, cuda, cuda:1, or auto for a GPU if there is one. [default: auto]
    chat
        Send each prompt as a user's message in the model's chat template.
    revision
        Branch, tag or commit of a model on the hub.
    batch_tokens
        Tokens of a batch, at most. [default: 768 on a CPU, 16384 on a GPU; 8192 and 65536 with
        --chain-of-thought]

    Server
    ------
    served_model : NAME
        The server's name for the model. A server needs it.
    endpoint
        completions continues the prompt; chat sends it as a user's message. [default: completions;
        chat with --votes]
    api
        Ask a decision server, which gives the probability of every class: systemone of
        transformers, vLLM, SGLang and Ollama, or OpenAI's decisions.
    top_logprobs
        How many of the likeliest tokens to ask for, up to 20. [default: 20]
    tokenizer : MODEL
        The model's tokenizer, a folder or a name on the hub. Labels are then asked for by token id,
        which vLLM answers exactly.
    key_variable : NAME
        Environment variable that holds the key. [default: OPENAI_API_KEY]
    concurrency
        Requests at the same time. [default: 8]
    timeout
        Seconds without a sign of the server. [default: 60]
    retries
        How often a request that failed for a passing reason is sent again. [default: 6]
    extra_body : JSON
        More fields for every request; null removes a field. They are written to the metadata, so
        give no secrets.
    votes
        Sample this many answers to each prompt and count the labels that they end in. For models
        that report no probabilities.

    Chain of thought
    ----------------
    chain_of_thought
        Let the model reason before it answers, and score the last label in its answer.
    max_new_tokens
        Tokens of an answer, reasoning included, at most. [default: 256; 2048 with --votes]
    """

    model: str
    scoring: Scoring = Scoring.FIRST
    dtype: str | None = None
    device: str | None = None
    chat: bool = False
    revision: str | None = None
    batch_tokens: int | None = None
    served_model: str | None = None
    endpoint: Endpoint | None = None
    api: Literal["systemone", "decisions"] | None = None
    top_logprobs: int | None = None
    tokenizer: str | None = None
    key_variable: str | None = None
    concurrency: int | None = None
    timeout: float | None = None
    retries: int | None = None
    extra_body: str | None = None
    chain_of_thought: bool = False
    max_new_tokens: int | None = None
    votes: int | None = None

    @property
    def is_server(self) -> bool:
        """Whether the model is a server's URL."""
        return self.model.lower().startswith(("http://", "https://"))

    def __post_init__(self) -> None:
        self.check()
        if self.is_server and self.served_model is None:
            raise InvalidInputError(
                f"{self.model} is a server, and a server needs the name of its model",
                hint="Give --served-model; GET /models lists the names",
            )

    @property
    def engine(self) -> type[TransformersEngine | ServerEngine]:
        """The kind of engine that the options ask for."""
        local, reasoning, server, server_reasoning, votes, decisions = _engines()
        if not self.is_server:
            return reasoning if self.chain_of_thought else local
        if self.api is not None:
            return decisions
        if self.votes is not None:
            return votes
        return server_reasoning if self.chain_of_thought else server

    def asks_question(self, task: Task) -> bool:
        """Say whether the task's own question is sent, in which no demonstration can stand."""
        return self.api is not None and task.question is not None

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
            given = value is not None and value is not False and value is not Scoring.FIRST
            if given and name not in ("model", *self.engine.OPTIONS):
                takers = [one.KIND for one in _engines() if name in one.OPTIONS]
                flag = f"--{name.replace('_', '-')}"
                raise InvalidInputError(
                    f"{flag} is for {takers[0]}, not for {self.engine.KIND}", hint="Leave it out"
                )

    def check_templates(self) -> None:
        """Refuse to fill templates without their library, and name the extra that the model needs.

        Raises
        ------
        MissingDependencyError
        """
        extra = "openai" if self.is_server else "transformers"
        load_optional("jinja2", purpose="fill prompt templates", extra=extra)

    def given(self, *names: str, **renamed: str) -> dict[str, Any]:
        """Return those of some options that were given, under the library's names."""
        named = {**{name: name for name in names}, **renamed}
        values = {theirs: getattr(self, ours) for theirs, ours in named.items()}
        return {name: value for name, value in values.items() if value is not None}


def _engines() -> tuple[type[TransformersEngine | ServerEngine], ...]:
    """Return all kinds of engines; of those that take an option, the first is named in messages."""
    from dnip.prompting.engines.decision_engine import DecisionEngine
    from dnip.prompting.engines.openai_engine import OpenAIEngine, OpenAIReasoningEngine
    from dnip.prompting.engines.transformers_engine import TransformersEngine
    from dnip.prompting.engines.transformers_reasoning import TransformersReasoningEngine
    from dnip.prompting.engines.votes import VotingEngine

    return (
        TransformersEngine,
        TransformersReasoningEngine,
        OpenAIEngine,
        OpenAIReasoningEngine,
        VotingEngine,
        DecisionEngine,
    )


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
    from dnip.prompting.engines.hub import HubTokenizer
    from dnip.prompting.engines.server import Server, ServerEngine

    kind = options.engine
    settings = options.given("max_new_tokens")
    if options.chain_of_thought and options.votes is None:
        chat = options.chat or options.endpoint == Endpoint.CHAT
        settings["stop"] = None if chat else stop
    if not issubclass(kind, ServerEngine):
        settings |= options.given("dtype", "device", "revision", "batch_tokens", "chat", "scoring")
        _quieten()
        return kind(options.model, **settings)
    settings |= options.given("endpoint", "top_logprobs", samples="votes")
    settings |= options.given(endpoint="api")
    if options.tokenizer is not None:
        settings["tokenizer"] = HubTokenizer(options.tokenizer)
    talking = options.given("key_variable", "concurrency", "timeout", "retries")
    return kind(
        options.served_model or "",
        server=Server(options.model, **talking),
        extra_body=_parse_extra(options.extra_body),
        **settings,
    )


def _quieten() -> None:
    """Leave out the bars that transformers draws, where no one watches."""
    if not sys.stderr.isatty():
        os.environ.setdefault("TQDM_DISABLE", "1")  # for the bars of GGUF files
        library: Any = load_optional(
            "transformers.utils.logging", purpose="run a language model", extra="transformers"
        )
        library.disable_progress_bar()


def _parse_extra(text: str | None) -> dict[str, Any] | None:
    if text is None:
        return None
    try:
        fields = json.loads(text)
    except (ValueError, RecursionError):
        fields = None
    if not isinstance(fields, dict):
        raise InvalidInputError(
            "--extra-body must be a JSON object", hint="""Such as '{"reasoning_effort": "low"}'"""
        )
    return fields
