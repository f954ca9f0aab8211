"""Options that choose a language model, here or behind a server; what does not fit is refused.

An option that was not given is None, so that one for another kind of model can be told.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, NamedTuple

from dnip.base.errors import InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dnip.prompting.engines.base import Engine
    from dnip.prompting.engines.openai_client import Server
    from dnip.prompting.engines.tokenizer import HubTokenizer
    from dnip.prompting.engines.transformers_engine import TransformersEngine
    from dnip.prompting.labels import Tokenizer
    from dnip.prompting.prompt import Prompt
    from dnip.prompting.task import Task


COMPLETIONS, CHAT = "completions", "chat"


@dataclass(frozen=True)
class ModelOptions:
    """What the user says of the model; None, or False, where nothing is said."""

    model: str
    dtype: str | None = None
    device: str | None = None
    chat: bool = False
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
    extra_body: str | None = None
    chain_of_thought: bool = False
    max_new_tokens: int | None = None
    votes: int | None = None
    temperature: float | None = None
    max_tokens: int | None = None
    sampling_seed: int | None = None

    @property
    def is_server(self) -> bool:
        """Whether the model is a server's URL."""
        return self.model.lower().startswith(("http://", "https://"))

    def __post_init__(self) -> None:
        """Refuse options that do not go together, before anything is loaded."""
        if self.votes is not None:
            self.refuse(["max_new_tokens"], "not for votes", hint="Give --max-tokens")
        if not self.chain_of_thought:
            self.refuse(["max_new_tokens"], "for chain of thought", hint="Give --chain-of-thought")
        if not self.is_server:
            self.refuse(_OF_SERVERS + _OF_VOTES, "for a server, and the model is on this machine")
            return
        self.refuse(_OF_MODELS_HERE, "for a model on this machine, and the model is a server")
        if self.votes is None:
            self.refuse(_OF_VOTES, "for votes", hint="Give --votes, or leave it out")
        else:
            self.refuse(_OF_LOGPROBS, "for log-probabilities, which --votes does not read")
        if self.served_model is None:
            raise InvalidInputError(
                f"{self.model} is a server, and a server needs the name of its model",
                hint="Give --served-model; GET /models lists the names",
            )

    def refuse(self, names: Sequence[str], reason: str, hint: str | None = None) -> None:
        """Refuse those of some options that were given."""
        values = {name: getattr(self, name) for name in names}
        given = [name for name, value in values.items() if value is not None and value is not False]
        if given:
            refuse_options(given, reason, hint)

    def settings(self, *names: str, **renamed: str) -> dict[str, Any]:
        """Return those of some options that were given, under the library's names."""
        named = {**{name: name for name in names}, **renamed}
        values = {theirs: getattr(self, ours) for theirs, ours in named.items()}
        return {name: value for name, value in values.items() if value is not None}


#: Names of the options and the kind of their values, the model and chain of thought apart.
OPTIONS = {
    option.name: str(option.type).partition(" ")[0]
    for option in fields(ModelOptions)
    if option.name not in ("model", "chain_of_thought", "max_new_tokens")
}

_OF_MODELS_HERE = ("dtype", "device", "chat", "revision", "batch_tokens")
_OF_LOGPROBS = ("top_logprobs", "tokenizer")
_OF_SERVERS = (
    "served_model",
    "endpoint",
    *_OF_LOGPROBS,
    "key_variable",
    "concurrency",
    "timeout",
    "retries",
    "extra_body",
)
_OF_VOTES = ("votes", "temperature", "max_tokens", "sampling_seed")


def refuse_options(names: Sequence[str], reason: str, hint: str | None = None) -> None:
    """Refuse options, named as parameters are."""
    options = ", ".join(f"--{name.replace('_', '-')}" for name in names)
    verb, it = ("is", "it") if len(names) == 1 else ("are", "them")
    raise InvalidInputError(f"{options} {verb} {reason}", hint=hint or f"Leave {it} out")


class OpenedModel(NamedTuple):
    """A model ready to be asked.

    Attributes
    ----------
    engine : Engine
    tokenizer : Tokenizer or None
        None for a server whose tokenizer was not named.
    chat : bool
        Whether prompts go through a chat template.
    """

    engine: Engine
    tokenizer: Tokenizer | None
    chat: bool


def open_model(
    options: ModelOptions,
    task: Task,
    prompts: Sequence[Prompt],
    *,
    stop: str | None = None,
    load: Callable[..., TransformersEngine] | None = None,
) -> OpenedModel:
    """Return the engine that a model's path, name or URL asks for.

    Parameters
    ----------
    options : ModelOptions
    task : Task
    prompts : sequence of Prompt
        Label tokens that are asked for by id must hold after all of these.
    stop : str, optional
        Text that ends an answer, where the model reasons and goes on with the very prompt.
    load : callable, optional
        Stands for :func:`load_model`, such as one that keeps what it has loaded.
    """
    if options.is_server:
        return _open_server(options, task, prompts, stop)
    settings = options.settings("dtype", "device", "revision", "batch_tokens")
    if options.chain_of_thought:
        settings |= options.settings("max_new_tokens") | {"stop": None if options.chat else stop}
    engine = (load or load_model)(
        options.model, reasoning=options.chain_of_thought, chat=options.chat, **settings
    )
    return OpenedModel(engine, engine.tokenizer, options.chat)


def load_model(
    model: str,
    *,
    reasoning: bool = False,
    **settings: Any,  # noqa: ANN401
) -> TransformersEngine:
    """Load a model; without the bars that its library draws where no one watches."""
    from dnip.base.optional import load_optional
    from dnip.prompting.engines.transformers_engine import TransformersEngine
    from dnip.prompting.engines.transformers_reasoning import TransformersReasoningEngine

    if not sys.stderr.isatty():
        library = load_optional(
            "transformers.utils.logging", purpose="run a language model", extra="transformers"
        )
        library.disable_progress_bar()
    kind = TransformersReasoningEngine if reasoning else TransformersEngine
    return kind(model, **settings)


def _open_server(
    options: ModelOptions, task: Task, prompts: Sequence[Prompt], stop: str | None
) -> OpenedModel:
    from dnip.prompting.engines.openai_engine import OpenAIEngine
    from dnip.prompting.engines.openai_reasoning import OpenAIReasoningEngine
    from dnip.prompting.engines.openai_votes import VotingEngine

    model, server = options.served_model or "", _server(options)
    common = {**options.settings("endpoint"), "extra_body": _parse_extra(options.extra_body)}
    if options.votes is not None:
        settings = options.settings(
            "temperature", "max_tokens", samples="votes", seed="sampling_seed"
        )
        voters = VotingEngine(model, server, **common, **settings)
        return OpenedModel(voters, None, chat=options.endpoint != COMPLETIONS)
    chat = options.endpoint == CHAT
    tokenizer, ids = None, None
    if options.tokenizer is not None:
        from dnip.prompting.engines.tokenizer import HubTokenizer

        tokenizer = HubTokenizer(options.tokenizer)
        ids = _label_token_ids(tokenizer, task, prompts, chat=chat)
    settings = {"label_token_ids": ids, **common, **options.settings("top_logprobs")}
    engine = OpenAIEngine(model, server, **settings)
    if options.chain_of_thought:
        settings |= options.settings("max_new_tokens") | {"stop": None if chat else stop}
        engine = OpenAIReasoningEngine(model, server, **settings)
    return OpenedModel(engine, tokenizer, chat)


def _server(options: ModelOptions) -> Server:
    from dnip.prompting.engines.openai_client import Server
    from dnip.prompting.engines.retrying import RetryPolicy

    return Server(
        options.model,
        retries=RetryPolicy(total=options.retries),
        **options.settings("key_variable", "concurrency", "timeout"),
    )


def _label_token_ids(
    tokenizer: HubTokenizer, task: Task, prompts: Sequence[Prompt], *, chat: bool
) -> tuple[int, ...]:
    """Return the ids of the labels' first tokens, as they follow the prompts on the server."""
    from dnip.base.errors import InvalidInputError
    from dnip.prompting.labels import check_first_tokens, prompt_label_tokens

    texts, lead = [prompt.text for prompt in prompts], prompts[0].lead
    labels = prompt_label_tokens(tokenizer, texts, task, chat=chat, lead=lead)
    if labels.merged:
        raise InvalidInputError(
            "the prompt's last token becomes part of the answer's first one, and a server is given "
            "the whole prompt",
            hint="End the template without a space",
        )
    return check_first_tokens(labels, tokenizer.decode)


def _parse_extra(text: str | None) -> dict[str, Any] | None:
    if text is None:
        return None
    try:
        fields = json.loads(text)
        json.dumps(fields, ensure_ascii=False).encode()  # what a request cannot hold
    except (ValueError, RecursionError):
        fields = None
    if not isinstance(fields, dict):
        raise InvalidInputError(
            "--extra-body must be a JSON object in valid Unicode",
            hint="""Such as '{"reasoning_effort": "low"}'""",
        )
    return fields
