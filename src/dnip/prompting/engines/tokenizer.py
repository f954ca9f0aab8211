"""A model's tokenizer: texts to tokens, beginning as the model expects and ending openly."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dnip.errors import InvalidInputError
from dnip.prompting.engines.hub import library, load

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence


class HubTokenizer:
    """The tokenizer of a model, by path or hub name.

    A special token at the start (such as beginning of sequence) is kept, one at the end is not:
    the model is to go on with the text.

    Parameters
    ----------
    model : str or path-like
        A folder, or a name on the hub.
    revision : str, optional
        Branch, tag or commit, for a name on the hub.

    Raises
    ------
    MissingDependencyError
        If transformers is not installed.
    InvalidInputError, BackendError
        If the tokenizer cannot be loaded; see `dnip.prompting.engines.hub.load`.
    """

    def __init__(self, model: str | os.PathLike[str], *, revision: str | None = None) -> None:
        loader = library().AutoTokenizer.from_pretrained
        self.name = str(model)
        self._tokenizer: Any = load(loader, model, "tokenizer", revision=revision)
        special = set(self._tokenizer.all_special_ids)
        self._closing = 0
        for token in reversed(self._tokenizer("a")["input_ids"]):
            if token not in special:
                break
            self._closing += 1

    def encode(self, text: str) -> list[int]:
        """Return a text's token ids."""
        return self.encode_all([text])[0]

    def encode_all(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the token ids of many texts.

        Raises
        ------
        InvalidInputError
            If a text is no valid Unicode.
        """
        if not texts:
            return []
        try:
            rows: list[list[int]] = self._tokenizer(
                list(texts), return_attention_mask=False, verbose=False
            )["input_ids"]
        except (TypeError, UnicodeEncodeError) as error:
            bad = [row for row, text in enumerate(texts) if not _is_unicode(text)]
            raise InvalidInputError(
                f"prompts {bad[:10]} are no valid Unicode", hint="Clean these rows of the data"
            ) from error
        return [row[: -self._closing] for row in rows] if self._closing else rows

    def decode(self, tokens: Sequence[int]) -> str:
        """Return the text of token ids."""
        return str(
            self._tokenizer.decode(
                list(tokens), skip_special_tokens=False, clean_up_tokenization_spaces=False
            )
        )

    @property
    def has_chat(self) -> bool:
        """Whether the tokenizer has a chat template."""
        return bool(getattr(self._tokenizer, "chat_template", None))

    def chat(self, prompt: str) -> str:
        """Return a prompt as the user's turn of a chat, up to where the answer begins.

        Raises
        ------
        InvalidInputError
            If the template does not take a single turn of the user, or is broken.
        """
        turn = [{"role": "user", "content": prompt}]
        try:
            return str(
                self._tokenizer.apply_chat_template(
                    turn, tokenize=False, add_generation_prompt=True
                )
            )
        except Exception as error:
            raise InvalidInputError(
                f"the chat template of {self.name!r} fails: {type(error).__name__}: {error}",
                hint="Score the prompts without it",
            ) from error

    def encode_chat(self, text: str) -> list[int]:
        """Return the token ids of a chat, whose special tokens stand in the text already."""
        return list(self._tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"])


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
