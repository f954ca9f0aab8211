"""Models and tokenizers by path, GGUF file or name on the hub; failures in our own words."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import takewhile
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from dnip.base.errors import BackendError, DNIPError, InvalidInputError, first_line, load_optional
from dnip.base.files import read_text, valid_unicode
from dnip.llm.prompting.labels import LabelTokens, prompt_label_tokens
from dnip.llm.prompting.prompt import Prompt
from dnip.llm.prompting.task import Task

#: The extra that installs torch and transformers.
EXTRA = "transformers"

#: Files beside the weights: configuration, tokenizer and chat template.
SMALL_FILES = ("*.json", "*.jinja", "*.txt", "*.model", "*.tiktoken")
#: Weights. Pickled ones are never loaded, since they can run code.
WEIGHTS = ("*.safetensors",)
#: Files in folders, and weights in another format, which a repository may hold besides.
_OTHERS = ("*/*", "consolidated*")
# How a GGUF file ends.
SUFFIX = ".gguf"
# Values of its header, at most; the largest vocabularies have two million, with their merges.
_MOST_VALUES = 5_000_000
# A model has no more parameters than its file, but for tensors that it uses twice.
_MOST_TIED = 2
# The setting of the library that runs a model's code, which its messages name.
_CODE = "trust_remote_code"
#: Stands for a reply, to see how a chat template writes one.
_ASKED, _REPLY = {"role": "user", "content": "prompt"}, "reply"


def library() -> Any:
    """Return the module transformers."""
    # torch's threads wait for each other by spinning, which costs twice the time beside other
    # work, and gains nothing on a quiet machine. Read when torch is loaded.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    load_optional("torch", purpose="run a language model", extra=EXTRA)
    transformers: Any = load_optional("transformers", purpose="run a language model", extra=EXTRA)
    if not sys.stderr.isatty():
        transformers.utils.logging.disable_progress_bar()
    return transformers


def draw_no_bars() -> None:
    """Keep libraries from drawing bars that nobody watches; it must come before they are loaded."""
    if not sys.stderr.isatty():
        os.environ.setdefault("TQDM_DISABLE", "1")  # those of GGUF files


def find_here(text: str, what: str, revision: str | None = None) -> Path | None:
    """Return the folder or the GGUF file of a model on this machine; None for a name on the hub.

    Raises
    ------
    InvalidInputError
        If there is none at a path, or a revision of it is asked for.
    """
    path, is_gguf = Path(text), text.lower().endswith(SUFFIX)
    if path.is_dir() or (is_gguf and path.is_file()):
        if revision is not None:
            raise InvalidInputError(
                f"{text} lies on this machine and has no revision {revision!r}",
                hint="Give a revision with a name on the hub only",
            )
        return path
    is_path = text.startswith((".", "/", "~")) or text.count("/") > 1 or "\\" in text
    if is_gguf or is_path or not text:
        raise InvalidInputError(
            f"there is no {'file' if is_gguf else 'folder'} {text!r} to load a {what} from",
            hint="Give the folder that save_pretrained wrote, a GGUF file, or a model's name on "
            "the hub",
        )
    return None


def find_files(
    name: str | os.PathLike[str],
    what: str,
    patterns: tuple[str, ...],
    *,
    revision: str | None = None,
) -> Path:
    """Return the folder or the GGUF file of a model, downloaded from the hub where it is a name.

    The hub is asked which commit a name means. Where it cannot be reached, a complete model of an
    earlier download is taken.

    Parameters
    ----------
    name : str or path-like
        A folder, a GGUF file, or a name on the hub.
    what : str
        What is loaded, for messages: ``"model"`` or ``"tokenizer"``.
    patterns : tuple of str
        Of the files that are needed.
    revision : str, optional
        Branch, tag or commit, for a name on the hub.

    Returns
    -------
    pathlib.Path
        For a name on the hub the folder is called by its commit; see `commit_of`.

    Raises
    ------
    InvalidInputError
        If there is no such model or revision, a revision of a folder is asked for, or access is
        refused.
    BackendError
        If the hub cannot be reached.
    """
    text = str(name)
    if (path := find_here(text, what, revision)) is not None:
        return path
    hub = load_optional("huggingface_hub", purpose=f"load a {what}", extra=EXTRA)
    errors = load_optional("huggingface_hub.errors", purpose=f"load a {what}", extra=EXTRA)
    wanted = {"allow_patterns": patterns, "ignore_patterns": _OTHERS}
    try:
        return Path(hub.snapshot_download(text, revision=revision, **wanted))
    except (
        errors.RepositoryNotFoundError,
        errors.RevisionNotFoundError,
        errors.HFValidationError,
    ) as error:
        name = repr(text) if revision is None else f"{text!r} at {revision!r}"
        reason = f"there is no {what} {name} that may be read, as a folder or on the hub"
        hint = "Check the name; one that is private or gated needs HF_TOKEN"
        raise InvalidInputError(reason, hint=hint) from error
    except Exception as error:  # of the connection or the disk
        reason = f"the {what} {text!r} cannot be downloaded: {type(error).__name__}: "
        raise BackendError(
            reason + first_line(error),
            hint="Check the network, or give the folder of a model on this machine",
            retryable=True,
        ) from error


def commit_of(folder: Path) -> str | None:
    """Return the commit that a folder of `find_files` holds, None for a folder of the user."""
    return folder.name if folder.parent.name == "snapshots" else None


def load(loader: Callable[..., Any], source: Path, what: str, **options: Any) -> Any:
    """Load from a folder or a GGUF file with a ``from_pretrained``; code in it is never run.

    Raises
    ------
    InvalidInputError
        If the files do not fit together, or need code of their own.
    """
    name = f"the {what} {str(source)!r}"
    safe = {"local_files_only": True, "trust_remote_code": False, **options}
    hint = (
        "Give a causal language model in the format of transformers, its weights as .safetensors, "
        "with its tokenizer; or a GGUF file by its own name"
    )
    try:
        if source.is_file():
            hint = "Give a file of an architecture that transformers reads, or the model's folder"
            return _load_gguf(loader, source, what, **safe)
        for path in source.iterdir():
            if path.exists() and not (path.is_file() or path.is_dir()):
                raise ValueError(f"{path.name} is a device or a pipe")
        if (config := source / "config.json").is_file():
            json.loads(read_text(config), object_hook=_refuse_kernels)
        return loader(str(source), **safe)
    except (MemoryError, DNIPError):
        raise
    except Exception as error:  # the library raises whatever its own libraries raise
        if _CODE in str(error):
            raise InvalidInputError(
                f"{name} needs code of its own, which is never run",
                hint="Give a model of an architecture that transformers itself has",
            ) from None
        reason = f"{name} cannot be loaded: {type(error).__name__}: {first_line(error)}"
        raise InvalidInputError(reason, hint=hint) from error


def _load_gguf(loader: Callable[..., Any], path: Path, what: str, **options: Any) -> Any:
    gguf, transformers = read_gguf(path), library()
    with alone(path) as folder:
        if what == "model":
            options["config"] = gguf.config(transformers, folder)
            # else its blocks may stay packed, and a kernel from the hub may compute with them
            if (config := getattr(transformers, "GgufConfig", None)) is not None:
                options["quantization_config"] = config(dequantize=True)
        return loader(folder, gguf_file=path.name, **options)


def _refuse_kernels(settings: dict[str, Any]) -> None:
    """Refuse an attention or an expert that is a repository of compiled code."""
    for name, value in settings.items():
        if name.endswith("_implementation") and "/" in str(value):
            raise ValueError(f"{_CODE}: {name}")


def _open_tokenizer(folder: str, **options: Any) -> tuple[Any, int]:
    """Return a tokenizer, and how many special tokens it puts at the end."""
    tokenizer = library().AutoTokenizer.from_pretrained(folder, **options)
    special = set(tokenizer.all_special_ids)
    tokens = reversed(tokenizer("a")["input_ids"])
    return tokenizer, sum(1 for _ in takewhile(special.__contains__, tokens))


class HubTokenizer:
    """The tokenizer of a model, by path or hub name.

    A special token at the start (such as beginning of sequence) is kept, one at the end is not:
    the model is to go on with the text.

    Parameters
    ----------
    model : str or path-like
        A folder, a GGUF file, or a name on the hub.
    revision : str, optional
        Branch, tag or commit, for a name on the hub.

    Attributes
    ----------
    commit : str or None
        That of the hub which the name and revision stand for; None for a folder.
    backend : transformers.PreTrainedTokenizerBase

    Raises
    ------
    MissingDependencyError
        If transformers is not installed.
    InvalidInputError, BackendError
        If the tokenizer cannot be loaded.
    """

    def __init__(self, model: str | os.PathLike[str], *, revision: str | None = None) -> None:
        self.name = str(model)
        folder = find_files(model, "tokenizer", SMALL_FILES, revision=revision)
        self.commit = commit_of(folder)
        self.backend, self._closing = load(_open_tokenizer, folder, "tokenizer")

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
            If a text is not valid Unicode.
        """
        if not texts:
            return []
        try:
            rows: list[list[int]] = self.backend(
                list(texts), add_special_tokens=not chat, return_attention_mask=False, verbose=False
            )["input_ids"]
        except (TypeError, UnicodeEncodeError) as error:
            bad = [row for row, text in enumerate(texts) if text != valid_unicode(text)]
            raise InvalidInputError(
                f"prompts {bad[:10]} are not valid Unicode", hint="Clean these rows of the data"
            ) from error
        if not self._closing or chat:
            return rows
        return [row[: -self._closing] for row in rows]

    def decode(self, tokens: Sequence[int]) -> str:
        """Return the text of token ids."""
        return str(
            self.backend.decode(
                list(tokens), skip_special_tokens=False, clean_up_tokenization_spaces=False
            )
        )

    @property
    def closing(self) -> frozenset[int]:
        """Tokens that mean the end of a sequence."""
        token = self.backend.eos_token_id
        return frozenset() if token is None else frozenset({token})

    @property
    def has_chat(self) -> bool:
        """Whether the tokenizer has a chat template."""
        return bool(getattr(self.backend, "chat_template", None))

    @property
    def chat_template(self) -> str | None:
        """The SHA-256 of the chat template, None without one."""
        template = getattr(self.backend, "chat_template", None)
        return hashlib.sha256(str(template).encode()).hexdigest() if template else None

    def chat(self, messages: Sequence[Mapping[str, str]]) -> str:
        """Return a chat as one text, up to where the answer begins.

        What the template writes before a reply that has no thoughts, such as an empty block of
        thoughts, is part of it.

        Raises
        ------
        InvalidInputError
            If there is no template, it does not take these turns, or is broken.
        """
        return self._render(messages) + self._before_reply[0]

    def in_chat(self, task: Task) -> Task:
        """Return a task whose answers begin as replies do in the chat template.

        Most templates write a reply right after the turn's opening, some after a space; the task's
        own `answer_prefix`, made for plain text, does not matter there.
        """
        return replace(task, answer_prefix=self._before_reply[1])

    def label_tokens(
        self, prompts: Sequence[Prompt], task: Task, *, chat: bool = False, lead: str = ""
    ) -> LabelTokens:
        """Find the label tokens that hold after all prompts, as they are or as turns of a chat.

        Parameters
        ----------
        prompts : sequence of Prompt
            At least one.
        task : Task
            Gives the answers. Right at the start of a chat's reply they begin as replies do.
        chat : bool, default=False
            Whether the prompts are turns of a chat.
        lead : str, default=""
            The text between a prompt and the label, where the model reasons first.

        Raises
        ------
        InvalidInputError
            As `prompt_label_tokens`, and if there is no chat template.
        """
        texts = [text + lead for text in self.texts(prompts, chat=chat)]
        task = self.in_chat(task) if chat and not lead else task
        encode = self.encode_chat if chat else self.encode
        return prompt_label_tokens(encode, texts, task, generated=bool(lead))

    def texts(self, prompts: Sequence[Prompt], *, chat: bool = False) -> list[str]:
        """Return what the model is given, up to where the answer begins."""
        return [self.chat(prompt.messages) if chat else prompt.text for prompt in prompts]

    def encode_chat(self, text: str) -> list[int]:
        """Return the token ids of a chat, whose special tokens stand in the text already."""
        return self.encode_all([text], chat=True)[0]

    @cached_property
    def _before_reply(self) -> tuple[str, str]:
        """What stands between a turn's opening and its words: of the prompt, and of the answer."""
        opening = self._render([_ASKED])
        try:
            whole = self._render([_ASKED, {"role": "assistant", "content": _REPLY}])
        except InvalidInputError:  # some take no conversation that ends in a reply
            return "", ""
        before, reply, _ = whole.removeprefix(opening).partition(_REPLY)
        if not (reply and whole.startswith(opening)):
            return "", ""
        of_prompt = before.rstrip(" ")
        return of_prompt, before[len(of_prompt) :]

    def _render(self, messages: Sequence[Mapping[str, str]]) -> str:
        if not self.has_chat:
            raise InvalidInputError(
                f"the tokenizer of {self.name!r} has no chat template",
                hint="Score the prompts as they are, or take a model that is made for chats",
            )
        from dnip.llm.prompting.sandbox import render_chat  # noqa: PLC0415 - it imports jinja2

        try:
            return render_chat(
                self.backend.get_chat_template(),
                messages=list(map(dict, messages)),
                add_generation_prompt=messages[-1]["role"] == "user",
                **self.backend.special_tokens_map,
            )
        except Exception as error:
            raise InvalidInputError(
                f"the chat template of {self.name!r} fails: {type(error).__name__}: {error}",
                hint="Score the prompts without it; or, if it takes no system message or no turns "
                "of an assistant, leave out system or set turns = false under [chat]",
            ) from error


@dataclass(frozen=True)
class _GGUFFile:
    """What a sound file says of itself.

    Attributes
    ----------
    path : Path
    sha256 : str
    quantisation : str
        How most of its weights are stored, such as ``"Q4_1"``.
    n_tensors, n_elements : int
        How many tensors it holds, and how many numbers they hold together.
    """

    path: Path
    sha256: str
    quantisation: str
    n_tensors: int
    n_elements: int

    def config(self, transformers: Any, folder: str) -> Any:
        """Return the model's settings; refuse those of a larger model than the file holds.

        Raises
        ------
        ValueError
        """
        config = transformers.AutoConfig.from_pretrained(folder, gguf_file=self.path.name)
        layers = getattr(config.get_text_config(), "num_hidden_layers", 0)
        torch: Any = load_optional("torch", purpose="run a language model", extra="transformers")
        n = 0
        if layers <= self.n_tensors:
            with torch.device("meta"):  # shapes without numbers
                model = transformers.AutoModelForCausalLM.from_config(config)
            n = sum(parameter.numel() for parameter in model.parameters())
        if layers > self.n_tensors or n > _MOST_TIED * self.n_elements:
            raise ValueError(
                f"its header names {layers:,} layers and {n:,} weights, but its {self.n_tensors:,} "
                f"tensors hold {self.n_elements:,}"
            )
        return config


@lru_cache(maxsize=1)
def read_gguf(path: Path) -> _GGUFFile:
    """Read and check a file's header.

    Raises
    ------
    InvalidInputError
        If the file is cut off, damaged, or its header names lengths that it does not have.
    MissingDependencyError
        If gguf or accelerate, by which transformers reads such files, is not installed.
    """
    gguf: Any = load_optional("gguf", purpose=f"read {path.name}", extra="transformers")
    load_optional("accelerate", purpose=f"read {path.name}", extra="transformers")

    class Header(gguf.GGUFReader):  # type: ignore[misc]
        """Stops where a length points beyond the file; the reader itself would go on for ever."""

        n_values = 0
        data: Any

        def _get(self, offset: int, dtype: Any, count: Any = 1, *rest: Any, **more: Any) -> Any:
            self.n_values += 1
            self.data = np.asarray(self.data)  # a slice of a memmap costs three times as much
            if self.n_values > _MOST_VALUES:
                raise ValueError(f"its header has more than {_MOST_VALUES:,} values")
            if offset + np.dtype(dtype).itemsize * int(count) > len(self.data):
                raise ValueError("it is cut off, or its header names lengths that it does not have")
            return super()._get(offset, dtype, count, *rest, **more)

    try:
        tensors = Header(path).tensors
        if not tensors:
            raise ValueError("it holds no weights")
        stored: Counter[str] = Counter()
        for tensor in tensors:
            stored[tensor.tensor_type.name] += int(tensor.n_elements)
        with path.open("rb") as file:
            sha256 = hashlib.file_digest(file, "sha256").hexdigest()
    except Exception as error:  # a damaged header leads the reader anywhere
        raise InvalidInputError(
            f"the GGUF file {str(path)!r} cannot be read: {first_line(error)}",
            hint="Fetch it again, and compare its size and its SHA-256 with where it comes from",
        ) from error
    [(quantisation, _)] = stored.most_common(1)
    return _GGUFFile(path, sha256, quantisation, len(tensors), sum(stored.values()))


@contextmanager
def alone(path: Path) -> Iterator[str]:
    """Give a folder with this file alone, for transformers reads what lies beside a file."""
    with TemporaryDirectory(prefix="dnip-gguf-") as folder:
        try:
            Path(folder, path.name).symlink_to(path.resolve())
        except OSError:  # Windows lets few make links
            shutil.copy(path, folder)
        yield folder
