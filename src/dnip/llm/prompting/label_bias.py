"""Coefficients as biases on the tokens of the labels, for servers and `generate`."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import ClassVar

from dnip.base.errors import InvalidInputError, listed
from dnip.llm.prompting.engines.hub import HubTokenizer
from dnip.llm.prompting.prompt import Prompt
from dnip.llm.prompting.task import Task
from dnip.method.coefficients import Coefficients, refuse_defer
from dnip.using.exports import Export, split_names

# What a label follows, to see its tokens there.
_BEFORE = "Answer:"
# Servers take a bias of -100 to 100.
_MOST_BIAS = 100


@dataclass(frozen=True)
class _LabelBias(Export):
    """A bias on the one token of each label.

    Label tokens, for logit-bias and transformers
    ---------------------------------------------
    tokenizer : MODEL
        The model's tokenizer, a folder or a name on the hub.
    labels : A,B,C
        What the model says for each class, in order. [default: the class names]
    answer_prefix : TEXT
        What stands between prompt and label, as in a task file; the default is a space, which
        tokenizers put into the label's token.
    chat
        Labels begin the reply in the model's chat template.
    only_labels
        Add 100 to every bias, so that no other token can win. Without it a bias lowers labels, and
        the server must hold answers to them.
    """

    promise: ClassVar[str] = (
        "Where answers are held to the labels, at temperature 0, decisions equal those of dnip "
        "apply, but for near-ties: biases are rounded as logits are"
    )

    tokenizer: str | None = None
    labels: str | None = None
    answer_prefix: str = " "
    chat: bool = False
    only_labels: bool = False

    def token_bias(self, coefficients: Coefficients) -> dict[int, float]:
        """Return the bias by token id: ln ω, shifted so that the largest is 0, or 100.

        Raises
        ------
        InvalidInputError
            If a label is more than one token, two labels have the same one, or rows are deferred.
        """
        refuse_defer(coefficients.defer, "a bias on label tokens")
        if self.tokenizer is None:
            raise InvalidInputError(
                "the tokens of labels need the tokenizer of the model",
                hint="Give --tokenizer, a folder or a name on the hub",
            )
        words = classes = coefficients.classes
        if self.labels is not None:
            words = tuple(split_names(self.labels, classes, "--labels"))
        task = Task("export", "", (), "", classes, words, answer_prefix=self.answer_prefix)
        tokenizer = HubTokenizer(self.tokenizer)
        tokens = tokenizer.label_tokens([Prompt("", _BEFORE)], task, chat=self.chat)
        if tokens.split:
            several = [f"{words[n]!r} is {len(tokens.ids[n])} tokens" for n in tokens.split]
            raise InvalidInputError(
                f"a bias works on labels of one token; {listed(several)}",
                hint="Give other --labels, such as letters that the prompt names, and prompt and "
                "fit with the same",
            )
        if tokens.merged:
            raise InvalidInputError(
                f"the label tokens depend on the prompt: they take in the end of {_BEFORE!r}",
                hint="Give another --answer-prefix, such as a space",
            )
        bias = list(coefficients.logit_bias().values())
        shift = _MOST_BIAS * self.only_labels - max(bias)
        return {token: value + shift for token, value in zip(tokens.first, bias, strict=True)}


@dataclass(frozen=True)
class LogitBias(_LabelBias):
    """The field `logit_bias` of a request to OpenAI, vLLM or llama.cpp, as JSON."""

    def _render(self, coefficients: Coefficients) -> str:
        """Return the JSON text.

        Raises
        ------
        InvalidInputError
            For a bias below -100, which servers do not take.
        """
        bias = self.token_bias(coefficients)
        if min(bias.values()) < -_MOST_BIAS:
            raise InvalidInputError(
                f"a bias would be {min(bias.values()):.0f}, and servers take -100 to 100",
                hint="Give --only-labels, which begins at 100"
                if not self.only_labels
                else "Correct the answers instead: dnip serve --chat",
            )
        return json.dumps({"logit_bias": bias}) + "\n"


@dataclass(frozen=True)
class SequenceBias(_LabelBias):
    """The setting `sequence_bias` of `generate` in transformers, as JSON."""

    def _render(self, coefficients: Coefficients) -> str:
        """Return the JSON text."""
        bias = self.token_bias(coefficients)
        return json.dumps({"sequence_bias": [[[t], value] for t, value in bias.items()]}) + "\n"


#: By the name that users type.
FORMATS: dict[str, type[Export]] = {"logit-bias": LogitBias, "transformers": SequenceBias}
