"""Options that choose a language model, on this machine or behind a server.

An option that was not given is None or False, so that one for another kind of model is refused.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

from dnip.base.errors import InvalidInputError
from dnip.base.option import Option, options_in
from dnip.base.optional import missing_library
from dnip.prompting.engines.base import Fill, Scoring
from dnip.prompting.engines.openai_requests import Endpoint

if TYPE_CHECKING:
    from collections.abc import Iterable

# Kinds of options, and the headings that they stand under in a help text.
HERE = "Model on this machine"
SERVER = "Server"
REASONING = "Chain of thought"
VOTES = "Votes of a server's sampled answers"

_OF_LOGPROBS = ("top_logprobs", "tokenizer")


@dataclass(frozen=True)
class ModelOptions:
    """What the user says of the model. A new option is a field here, with its help and its kind."""

    model: Annotated[
        str,
        Option(
            "A local folder, or a model's name on the Hugging Face hub; or the URL of an "
            "OpenAI-compatible server, such as http://127.0.0.1:8000/v1.",
            metavar="MODEL",
        ),
    ]
    dtype: Annotated[
        str | None,
        Option(
            "float32, bfloat16, float16, or auto for the model's own.  [default: float32]", HERE
        ),
    ] = None
    device: Annotated[
        str | None,
        Option("cpu, cuda, cuda:1, or auto for a GPU if there is one.  [default: auto]", HERE),
    ] = None
    chat: Annotated[
        bool, Option("Send each prompt as a user's message in the model's chat template.", HERE)
    ] = False
    revision: Annotated[
        str | None, Option("Branch, tag or commit of a model on the hub.", HERE)
    ] = None
    batch_tokens: Annotated[
        int | None,
        Option(
            "Tokens of a batch, at most.  [default: 768 on a CPU, 16384 on a GPU; 8192 and 65536 "
            "with --chain-of-thought]",
            HERE,
        ),
    ] = None
    served_model: Annotated[
        str | None, Option("The server's name for the model. A server needs it.", SERVER, "NAME")
    ] = None
    endpoint: Annotated[
        Endpoint | None,
        Option(
            "completions continues the prompt; chat sends it as a user's message.  "
            "[default: completions; chat with --votes]",
            SERVER,
        ),
    ] = None
    api: Annotated[
        Literal["systemone", "decisions"] | None,
        Option(
            "Ask a decision server, which gives the probability of every class: systemone of "
            "transformers, vLLM, SGLang and Ollama, or OpenAI's decisions.",
            SERVER,
        ),
    ] = None
    top_logprobs: Annotated[
        int | None,
        Option("How many of the likeliest tokens to ask for, up to 20.  [default: 20]", SERVER),
    ] = None
    tokenizer: Annotated[
        str | None,
        Option(
            "The model's tokenizer, a folder or a name on the hub. Labels are then asked for by "
            "token id, which vLLM answers exactly.",
            SERVER,
            "MODEL",
        ),
    ] = None
    key_variable: Annotated[
        str | None,
        Option(
            "Environment variable that holds the key.  [default: OPENAI_API_KEY]", SERVER, "NAME"
        ),
    ] = None
    concurrency: Annotated[
        int | None, Option("Requests at the same time.  [default: 8]", SERVER)
    ] = None
    timeout: Annotated[float | None, Option("Seconds per request.  [default: 60]", SERVER)] = None
    retries: Annotated[
        int | None,
        Option(
            "Retries of the whole run, at most.  [default: one per request, at least 100]", SERVER
        ),
    ] = None
    extra_body: Annotated[
        str | None,
        Option(
            "More fields for every request; null removes a field. They are written to the "
            "metadata, so give no secrets.",
            SERVER,
            "JSON",
        ),
    ] = None
    chain_of_thought: Annotated[
        bool,
        Option(
            "Let the model reason before it answers, and score the last label in its answer.",
            REASONING,
        ),
    ] = False
    max_new_tokens: Annotated[
        int | None,
        Option("Tokens of an answer, reasoning included, at most.  [default: 256]", REASONING),
    ] = None
    votes: Annotated[
        int | None,
        Option(
            "Sample this many answers to each prompt and count the labels that they end in. For "
            "models that report no probabilities.",
            VOTES,
        ),
    ] = None
    temperature: Annotated[
        float | None, Option("Temperature of the sampling, above 0.  [default: 1]", VOTES)
    ] = None
    max_tokens: Annotated[
        int | None,
        Option("Tokens of an answer, reasoning included, at most.  [default: 2048]", VOTES),
    ] = None
    sampling_seed: Annotated[
        int | None,
        Option("Seed of the first sample, for servers that take one.  [default: 0]", VOTES),
    ] = None

    @property
    def is_server(self) -> bool:
        """Whether the model is a server's URL."""
        return self.model.lower().startswith(("http://", "https://"))

    def __post_init__(self) -> None:
        """Refuse options that do not go together, before anything is loaded."""
        if self.votes is not None:
            self._refuse(["max_new_tokens"], "not for votes", hint="Give --max-tokens")
        if not self.chain_of_thought:
            self._refuse(["max_new_tokens"], "for chain of thought", hint="Give --chain-of-thought")
        of_votes = options_in(ModelOptions, VOTES)
        if not self.is_server:
            of_servers = (*options_in(ModelOptions, SERVER), *of_votes)
            self._refuse(of_servers, "for a server, and the model is on this machine")
            return
        of_here = options_in(ModelOptions, HERE)
        self._refuse(of_here, "for a model on this machine, and the model is a server")
        if self.votes is None:
            self._refuse(of_votes, "for votes", hint="Give --votes, or leave it out")
        else:
            self._refuse(_OF_LOGPROBS, "for log-probabilities, which --votes does not read")
        if self.api is not None:
            others = ("endpoint", *_OF_LOGPROBS, "votes", "chain_of_thought")
            self._refuse(others, "not for decisions, which --api asks for")
        if self.served_model is None:
            raise InvalidInputError(
                f"{self.model} is a server, and a server needs the name of its model",
                hint="Give --served-model; GET /models lists the names",
            )

    def _refuse(self, names: Iterable[str], reason: str, hint: str | None = None) -> None:
        values = {name: getattr(self, name) for name in names}
        given = [name for name, value in values.items() if value is not None and value is not False]
        if given:
            _refuse_options(given, reason, hint)

    def check_templates(self) -> None:
        """Refuse to fill templates without their library, and name the extra that the model needs.

        Raises
        ------
        MissingDependencyError
        """
        extra = "openai" if self.is_server else "transformers"
        missing = missing_library("jinja2", purpose="fill prompt templates", extra=extra)
        if missing is not None:
            raise missing

    def check_reading(
        self, scoring: Scoring | None, *, fill: Fill | None = None, truncate: bool = False
    ) -> Scoring:
        """Return how label words are read, or refuse what the model has no use for.

        Parameters
        ----------
        scoring, fill
            None where the user says nothing.
        truncate : bool
            Whether prompts that are too long are to be shortened.
        """
        if self.votes is not None or self.api is not None:
            given = {"scoring": scoring, "fill": fill}
            names = [name for name, value in given.items() if value is not None]
            if names:
                asked = "--api" if self.votes is None else "--votes"
                _refuse_options(names, f"for log-probabilities, which {asked} does not read")
        how = scoring or Scoring.FIRST
        if self.is_server and how is not Scoring.FIRST:
            _refuse_options(
                [f"scoring {how}"],
                "for a model on this machine; a server reports the first token only",
                hint="Use --scoring first",
            )
        if self.is_server and truncate:
            _refuse_options(
                ["truncate"],
                "for a model on this machine; what fits a server's model is not known here",
                hint="Cut the texts, or show fewer demonstrations",
            )
        if not self.is_server and fill is not None:
            _refuse_options(["fill"], "for a server; a model on this machine reports every label")
        return how

    def given(self, *names: str, **renamed: str) -> dict[str, Any]:
        """Return those of some options that were given, under the library's names."""
        named = {**{name: name for name in names}, **renamed}
        values = {theirs: getattr(self, ours) for theirs, ours in named.items()}
        return {name: value for name, value in values.items() if value is not None}


def _refuse_options(names: list[str], reason: str, hint: str | None = None) -> None:
    options = ", ".join(f"--{name.replace('_', '-')}" for name in names)
    verb, it = ("is", "it") if len(names) == 1 else ("are", "them")
    raise InvalidInputError(f"{options} {verb} {reason}", hint=hint or f"Leave {it} out")
