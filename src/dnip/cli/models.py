"""The options that choose a language model, on this machine or behind a server."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from dnip.cli.options import Words, flag, option
from dnip.llm.prompting.engines.servers import Endpoint
from dnip.llm.prompting.labels import Scoring
from dnip.llm.prompting.models import ModelOptions

HERE, SERVER, THOUGHT = "Model on this machine", "Server", "Chain of thought"

_OPTIONS = (
    option(
        "--model",
        required=True,
        metavar="MODEL",
        help="A folder, a GGUF file, or a name on the Hugging Face hub, such as "
        "HuggingFaceTB/SmolLM2-135M-Instruct; or the URL of a server, such as "
        "http://127.0.0.1:8000/v1.",
    ),
    option(
        "--served-model", metavar="NAME", help="The server's name for the model. A server needs it."
    ),
    option(
        "--scoring",
        type=Words(Scoring),
        default="first",
        heading=HERE,
        help="How to score a label word of several tokens. first: the first that no other label "
        "has. sum: the sum of their log-probabilities. per-token: that sum per token. mean: the "
        "mean of their probabilities.",
    ),
    option(
        "--dtype",
        metavar="TYPE",
        heading=HERE,
        help="float32, bfloat16, float16, or auto for the model's own. [default: float32]",
    ),
    option(
        "--device",
        metavar="DEVICE",
        heading=HERE,
        help="cpu, cuda, cuda:1, or auto for a GPU if there is one. [default: auto]",
    ),
    flag(
        "--chat",
        heading=HERE,
        help="Send each prompt as a user's message in the model's chat template.",
    ),
    option(
        "--revision",
        metavar="NAME",
        heading=HERE,
        help="Branch, tag or commit of a model on the hub.",
    ),
    option(
        "--batch-tokens",
        type=int,
        metavar="N",
        heading=HERE,
        help="Tokens of a batch, at most. [default: 768 on a CPU, 16384 on a GPU; 8192 and 65536 "
        "with --chain-of-thought]",
    ),
    option(
        "--endpoint",
        type=Words(Endpoint),
        heading=SERVER,
        help="completions continues the prompt; chat sends it as a user's message. [default: "
        "completions, or chat where the server has none; chat with --votes]",
    ),
    option(
        "--api",
        type=Words(["systemone", "decisions"]),
        heading=SERVER,
        help="Ask a decision server: systemone of transformers, vLLM, SGLang and Ollama, or "
        "OpenAI's decisions.",
    ),
    option(
        "--top-logprobs",
        type=int,
        metavar="N",
        heading=SERVER,
        help="How many of the likeliest tokens to ask for, up to 20. [default: 20]",
    ),
    option(
        "--tokenizer",
        metavar="MODEL",
        heading=SERVER,
        help="The model's tokenizer, a folder or a name on the hub, to ask for labels by token id, "
        "which vLLM answers exactly.",
    ),
    option(
        "--key-variable",
        metavar="NAME",
        heading=SERVER,
        help="Environment variable that holds the key. [default: OPENAI_API_KEY]",
    ),
    option(
        "--concurrency",
        type=int,
        metavar="N",
        heading=SERVER,
        help="Requests at the same time. [default: 8]",
    ),
    option(
        "--timeout",
        type=float,
        metavar="SECONDS",
        heading=SERVER,
        help="Seconds without a sign of the server. [default: 60]",
    ),
    option(
        "--retries",
        type=int,
        metavar="N",
        heading=SERVER,
        help="How often a request that failed for a passing reason is sent again. [default: 6]",
    ),
    option(
        "--extra-body",
        metavar="JSON",
        heading=SERVER,
        help="More fields for every request; null removes one. They are written to the metadata, "
        "so give no secrets.",
    ),
    option(
        "--votes",
        type=int,
        metavar="N",
        heading=SERVER,
        help="Sample this many answers to each prompt and count their labels, for models that "
        "report no probabilities.",
    ),
    flag(
        "--chain-of-thought",
        heading=THOUGHT,
        help="Let the model reason before it answers, and score the last label in its answer.",
    ),
    option(
        "--max-new-tokens",
        type=int,
        metavar="N",
        heading=THOUGHT,
        help="Tokens of an answer, reasoning included, at most; a server's answer of more than one "
        "is read where it states its label. [default: 1; 256 for JSON and for reasoning; 2048 with "
        "--votes]",
    ),
)


def model_options(run: Callable[..., None]) -> Callable[..., None]:
    """Add the options of a model, which the function gets as one `model`."""

    @wraps(run)
    def with_model(**values: Any) -> None:  # noqa: ANN401
        named = {name: values.pop(name) for name in ModelOptions.names()}
        run(model=ModelOptions(**named), **values)

    for each in reversed(_OPTIONS):
        each(with_model)
    return with_model
