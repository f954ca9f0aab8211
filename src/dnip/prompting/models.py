"""From the options of a model to an engine that can be asked."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any, NamedTuple

from dnip.base.errors import InvalidInputError
from dnip.prompting.engines.openai_requests import Endpoint
from dnip.prompting.model_options import ModelOptions

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dnip.prompting.engines.base import Engine
    from dnip.prompting.engines.openai_client import Server
    from dnip.prompting.engines.tokenizer import HubTokenizer
    from dnip.prompting.engines.transformers_engine import TransformersEngine
    from dnip.prompting.labels import Tokenizer
    from dnip.prompting.prompt import Prompt
    from dnip.prompting.task import Task


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
    settings = options.given("dtype", "device", "revision", "batch_tokens")
    if options.chain_of_thought:
        settings |= options.given("max_new_tokens") | {"stop": None if options.chat else stop}
    engine = (load or load_model)(
        options.model, reasoning=options.chain_of_thought, chat=options.chat, **settings
    )
    return OpenedModel(engine, engine.tokenizer, options.chat)


def open_engine(
    options: ModelOptions, task: Task, prompts: Sequence[Prompt], stop: str | None = None
) -> Engine:
    """Return the engine of `open_model`; parameters as there."""
    return open_model(options, task, prompts, stop=stop).engine


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
    extra = _parse_extra(options.extra_body)
    if options.api is not None:
        from dnip.prompting.engines.decision_engine import DecisionEngine

        return OpenedModel(DecisionEngine(model, server, options.api, extra), None, chat=False)
    common = {**options.given("endpoint"), "extra_body": extra}
    if options.votes is not None:
        settings = options.given("temperature", "max_tokens", samples="votes", seed="sampling_seed")
        voters = VotingEngine(model, server, **common, **settings)
        return OpenedModel(voters, None, chat=options.endpoint != Endpoint.COMPLETIONS)
    chat = options.endpoint == Endpoint.CHAT
    tokenizer, ids = None, None
    if options.tokenizer is not None:
        from dnip.prompting.engines.tokenizer import HubTokenizer

        tokenizer = HubTokenizer(options.tokenizer)
        ids = _label_token_ids(tokenizer, task, prompts, chat=chat)
    settings = {"label_token_ids": ids, **common, **options.given("top_logprobs")}
    engine = OpenAIEngine(model, server, **settings)
    if options.chain_of_thought:
        settings |= options.given("max_new_tokens") | {"stop": None if chat else stop}
        engine = OpenAIReasoningEngine(model, server, **settings)
    return OpenedModel(engine, tokenizer, chat)


def _server(options: ModelOptions) -> Server:
    from dnip.prompting.engines.openai_client import Server
    from dnip.prompting.engines.openai_failures import RetryPolicy

    return Server(
        options.model,
        retries=RetryPolicy(total=options.retries),
        **options.given("key_variable", "concurrency", "timeout"),
    )


def _label_token_ids(
    tokenizer: HubTokenizer, task: Task, prompts: Sequence[Prompt], *, chat: bool
) -> tuple[int, ...]:
    """Return the ids of the labels' first tokens, as they follow the prompts on the server."""
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
