"""A model's tokenizer: texts to tokens, beginning as the model expects and ending openly."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from dnip.base.errors import InvalidInputError
from dnip.prompting.engines.hub import SMALL_FILES, commit_of, find_files, library, load

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from dnip.prompting.task import Task

#: Stands for a reply, to see how a chat template writes one.
_REPLY = "reply"


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

    Attributes
    ----------
    commit : str or None
        That of the hub which the name and revision stand for; None for a folder.

    Raises
    ------
    MissingDependencyError
        If transformers is not installed.
    InvalidInputError, BackendError
        If the tokenizer cannot be loaded.
    """

    def __init__(self, model: str | os.PathLike[str], *, revision: str | None = None) -> None:
        loader = library().AutoTokenizer.from_pretrained
        self.name = str(model)
        folder = find_files(model, "tokenizer", SMALL_FILES, revision=revision)
        self.commit = commit_of(folder)
        self._tokenizer: Any = load(loader, folder, "tokenizer")
        special = set(self._tokenizer.all_special_ids)
        self._closing = 0
        for token in reversed(self._tokenizer("a")["input_ids"]):
            if token not in special:
                break
            self._closing += 1

    def encode(self, text: str) -> list[int]:
        """Return a text's token ids."""
        return self.encode_all([text])[0]

    def encode_all(self, texts: Sequence[str], *, chat: bool = False) -> list[list[int]]:
        """Return the token ids of many texts.

        Parameters
        ----------
        texts : sequence of str
        chat : bool, default=False
            The texts are of `chat`: their special tokens stand in them already.

        Raises
        ------
        InvalidInputError
            If a text is no valid Unicode.
        """
        if not texts:
            return []
        try:
            rows: list[list[int]] = self._tokenizer(
                list(texts),
                add_special_tokens=not chat,
                return_attention_mask=False,
                verbose=False,
            )["input_ids"]
        except (TypeError, UnicodeEncodeError) as error:
            bad = [row for row, text in enumerate(texts) if not _is_unicode(text)]
            raise InvalidInputError(
                f"prompts {bad[:10]} are no valid Unicode", hint="Clean these rows of the data"
            ) from error
        cut = self._closing and not chat
        return [row[: -self._closing] for row in rows] if cut else rows

    def decode(self, tokens: Sequence[int]) -> str:
        """Return the text of token ids."""
        return str(
            self._tokenizer.decode(
                list(tokens), skip_special_tokens=False, clean_up_tokenization_spaces=False
            )
        )

    @property
    def closing(self) -> frozenset[int]:
        """Tokens that mean the end of a sequence."""
        token = self._tokenizer.eos_token_id
        return frozenset() if token is None else frozenset({token})

    @property
    def has_chat(self) -> bool:
        """Whether the tokenizer has a chat template."""
        return bool(getattr(self._tokenizer, "chat_template", None))

    @property
    def chat_template(self) -> str | None:
        """The SHA-256 of the chat template, None without one."""
        template = getattr(self._tokenizer, "chat_template", None)
        return hashlib.sha256(str(template).encode()).hexdigest() if template else None

    def chat(self, prompt: str) -> str:
        """Return a prompt as the user's turn of a chat, up to where the answer begins.

        What the template writes before a reply that has no thoughts, such as an empty block of
        thoughts, is part of it.

        Raises
        ------
        InvalidInputError
            If there is no template, it does not take a single turn of the user, or is broken.
        """
        return self._render(prompt) + self._before_reply[0]

    def in_chat(self, task: Task) -> Task:
        """Return a task whose answers begin as replies do in the chat template.

        Most templates write a reply right after the turn's opening, some after a space; the task's
        own `answer_prefix`, made for plain text, does not matter there.
        """
        return replace(task, answer_prefix=self._before_reply[1])

    def encode_chat(self, text: str) -> list[int]:
        """Return the token ids of a chat, whose special tokens stand in the text already."""
        return self.encode_all([text], chat=True)[0]

    @cached_property
    def _before_reply(self) -> tuple[str, str]:
        """What stands between a turn's opening and its words: of the prompt, and of the answer."""
        opening = self._render("prompt")
        try:
            whole = self._render("prompt", _REPLY)
        except InvalidInputError:  # some take no conversation that ends in a reply
            return "", ""
        before, found, _ = whole.removeprefix(opening).partition(_REPLY)
        if not (found and whole.startswith(opening)):
            return "", ""
        of_prompt = before.rstrip(" ")
        return of_prompt, before[len(of_prompt) :]

    def _render(self, prompt: str, reply: str | None = None) -> str:
        if not self.has_chat:
            raise InvalidInputError(
                f"the tokenizer of {self.name!r} has no chat template",
                hint="Score the prompts as they are, or take a model that is made for chats",
            )
        turns = [{"role": "user", "content": prompt}]
        if reply is not None:
            turns.append({"role": "assistant", "content": reply})
        try:
            # in jinja2's sandbox: a template can read no file and run no code
            return str(
                self._tokenizer.apply_chat_template(
                    turns, tokenize=False, add_generation_prompt=reply is None
                )
            )
        except Exception as error:
            raise InvalidInputError(
                f"the chat template of {self.name!r} fails: {type(error).__name__}: {error}",
                hint="Score the prompts without it",
            ) from error


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
