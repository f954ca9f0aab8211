"""A causal language model: log-probabilities of chosen tokens after rows that share a prefix."""

from __future__ import annotations

import copy
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from importlib import import_module
from inspect import signature
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dnip.base.errors import BackendError, InvalidInputError, first_line
from dnip.base.typing import Floats
from dnip.base.validation import check_choice
from dnip.llm.prompting.engines.gguf_file import read_gguf
from dnip.llm.prompting.engines.hub import (
    SMALL_FILES,
    WEIGHTS,
    commit_of,
    find_files,
    library,
    load,
)

#: Precisions by name; "auto" takes the checkpoint's own.
PRECISIONS = ("float32", "bfloat16", "float16", "auto")
#: Layers of a cache that hold keys and values alone.
_GROWING = ("DynamicLayer", "DynamicSlidingWindowLayer")


class CausalLM:
    """A causal language model of the library transformers.

    Parameters
    ----------
    model : str or path-like
        A folder, or a name on the hub.
    revision : str, optional
        Branch, tag or commit, for a name on the hub.
    dtype : {"float32", "bfloat16", "float16", "auto"}
        Precision of weights and arithmetic.
    device : str
        Such as ``"cpu"`` or ``"cuda:1"``; ``"auto"`` takes a GPU where there is one.

    Attributes
    ----------
    context : int or None
        Most tokens that the model takes; None where it names no limit.
    closing : frozenset of int
        Tokens that mean the end of a sequence, as far as the model itself says.

    Raises
    ------
    MissingDependencyError
        If torch or transformers is not installed.
    InvalidInputError, BackendError
        If the model cannot be loaded, or there is no such device.
    """

    def __init__(
        self,
        model: str | os.PathLike[str],
        *,
        revision: str | None = None,
        dtype: str = "float32",
        device: str = "auto",
    ) -> None:
        check_choice("dtype", dtype, PRECISIONS)
        self._transformers = library()  # it comes with torch
        self._torch: Any = import_module("torch")
        self.device = self._find_device(device)
        folder = find_files(model, "model", SMALL_FILES + WEIGHTS, revision=revision)
        self._commit = commit_of(folder)
        self._gguf = read_gguf(folder) if folder.is_file() else None
        self.model, loading = load(
            self._transformers.AutoModelForCausalLM.from_pretrained,
            folder,
            "model",
            dtype=dtype if dtype == "auto" else getattr(self._torch, dtype),
            output_loading_info=True,
            use_safetensors=True,  # pickled weights can run code
        )
        if loading["missing_keys"]:
            raise InvalidInputError(
                f"the model {str(model)!r} lacks weights: "
                f"{', '.join(sorted(loading['missing_keys'])[:3])}",
                hint="Its files belong to another architecture, or are damaged",
            )
        self.model.to(self.device).eval()
        if self.device.type == "cpu":
            # glibc gives freed memory back to the system beyond twice the largest block that was
            # ever mapped and freed, 32 MiB at most; fetching it page by page again costs a batch up
            # to a sixth of its time. So one such block is made, and freed.
            self._torch.empty((32 << 20) - (1 << 16), dtype=self._torch.uint8)
        text = self.model.config.get_text_config()
        self.context: int | None = getattr(text, "max_position_embeddings", None)
        self.closing = _closing(self.model)
        # A checkpoint's own settings may sample, or change probabilities, as a penalty does.
        self.model.generation_config = self._transformers.GenerationConfig()
        takes = signature(self.model.forward).parameters
        self._narrows, self._takes_positions = "logits_to_keep" in takes, "position_ids" in takes
        #: What the model calls its cache; the older name makes newer versions warn.
        self.cache_name = "cache" if "cache" in takes else "past_key_values"
        self._prefix: tuple[tuple[int, ...], Any] = ((), None)

    def _find_device(self, device: str) -> Any:
        torch = self._torch
        if device == "auto":
            return torch.device("cuda" if torch.cuda.is_available() else "cpu")
        try:
            chosen = torch.device(device)
            torch.empty(1, device=chosen)
        except (RuntimeError, AssertionError) as error:
            raise InvalidInputError(
                f"device {device!r} cannot be used: {first_line(error)}",
                hint="Give cpu, cuda, or auto",
            ) from error
        return chosen

    def describe(self) -> dict[str, Any]:
        """Return what the numbers depend on, beside the model's name."""
        gguf = self._gguf
        file = {} if gguf is None else {"sha256": gguf.sha256, "quantisation": gguf.quantisation}
        return {
            **file,
            "architecture": type(self.model).__name__,
            "commit": self._commit,
            "dtype": str(self.model.dtype).removeprefix("torch."),
            "device": self.device.type,
            "attention": getattr(self.model.config, "_attn_implementation", None),
            "torch": self._torch.__version__,
            "transformers": self._transformers.__version__,
        }

    def prefix(self, tokens: Sequence[int]) -> Any | None:
        """Return the key-value cache of a prefix; the last one is kept.

        Returns
        -------
        cache or None
            None for an empty prefix, and for a model whose state is not made of keys and values
            alone (such as a recurrent one); rows must then hold the prefix themselves.
        """
        key = tuple(tokens)
        if not key:
            return None
        if self._prefix[0] != key:
            self._prefix = ((), None)  # frees the old one before the new one is made
            with self.computing():
                self._prefix = (key, _cache_of(self._run([key], keep=True)))
        return self._prefix[1]

    @cached_property
    def is_recurrent(self) -> bool:
        """Whether the model keeps a state that padding may disturb, beside keys and values."""
        with self.computing():
            return _cache_of(self._run([[0]], keep=True)) is None

    def bears_gaps(self, past: Any) -> bool:
        """Say whether `generate` may go on from a cache with rows of different lengths.

        The padding of shorter rows lies between the cache and the row. A sliding window, or a model
        that counts places itself, would take it for text.
        """
        windowed = any(type(layer).__name__ == _GROWING[1] for layer in past.layers)
        return self._takes_positions and not windowed

    def next_tokens(
        self, rows: Sequence[Sequence[int]], wanted: Sequence[int], *, past: Any = None
    ) -> Floats:
        """Return the log-probabilities of tokens that may come next.

        Parameters
        ----------
        rows : sequence of B sequences of int
            Tokens of each row, without those of `past`.
        wanted : sequence of W int
            Tokens to look up.
        past : cache, optional
            Of `prefix`; it is left as it is.

        Returns
        -------
        ndarray of shape (B, W)
            From the softmax over the whole vocabulary, in float32.
        """
        with self.computing():
            logits = self._run(rows, past=past).logits[:, 0].float()
            picked = logits[:, self.tensor(wanted)] - logits.logsumexp(-1, keepdim=True)
            return np.asarray(picked.cpu().numpy(), np.float64)

    def continuations(
        self, rows: Sequence[Sequence[int]], answers: Sequence[Sequence[int]], *, past: Any = None
    ) -> Floats:
        """Return the log-probability of whole answers: sums over their tokens.

        The rows go through the model once; each answer of several tokens goes on from there.

        Parameters
        ----------
        rows : sequence of B sequences of int
            Tokens of each row, all of one length, without those of `past`.
        answers : sequence of N sequences of int
            Tokens of each answer.
        past : cache, optional
            Of `prefix`; it is left as it is.

        Returns
        -------
        ndarray of shape (B, N)
        """
        with self.computing():
            first = self._run(rows, past=past, keep=True)
            cache = _cache_of(first)
            if cache is None:
                columns = [self._whole(rows, answer, past) for answer in answers]
            else:
                start = first.logits[:, 0].float().log_softmax(-1)
                columns = [self._from(start, cache, answer) for answer in answers]
            stacked = self._torch.stack(columns, dim=1)
            return np.asarray(stacked.cpu().numpy(), np.float64)

    def _from(self, start: Any, cache: Any, answer: Sequence[int]) -> Any:
        """Go on from the rows' cache with one answer; shape (B,)."""
        total = start[:, answer[0]]
        if len(answer) > 1:
            places = [list(range(len(answer) - 1))] * len(start)
            logits = self._run([answer[:-1]] * len(start), places, cache).logits
            total = total + self._along(logits, answer[1:])
        return total

    def _whole(self, rows: Sequence[Sequence[int]], answer: Sequence[int], past: Any) -> Any:
        """Give rows and one answer together; for models whose cache cannot be forked."""
        begin = len(rows[0]) - 1
        places = [list(range(begin, begin + len(answer)))] * len(rows)
        logits = self._run([[*row, *answer[:-1]] for row in rows], places, past).logits
        return self._along(logits, answer)

    def _along(self, logits: Any, tokens: Sequence[int]) -> Any:
        """Sum over places the log-probability of one token at each; shape (B,)."""
        chosen = self.tensor(tokens).expand(len(logits), -1)
        return logits.float().log_softmax(-1).gather(-1, chosen[..., None]).sum(dim=(1, 2))

    def _run(
        self,
        rows: Sequence[Sequence[int]],
        places: Sequence[Sequence[int]] | None = None,
        past: Any = None,
        *,
        keep: bool = False,
    ) -> Any:
        """Run the model; its logits are of `places` only, shape (B, number of places, V).

        By default these are the places of the rows' last tokens.

        Shorter rows are padded on the right, which needs no mask: causal attention never looks
        ahead, and positions and sliding windows stand as without padding.
        """
        tokens = self.tensor(pad(rows)[0])
        at = self.tensor(places or [[len(row) - 1] for row in rows])
        options: dict[str, Any] = {"use_cache": keep or past is not None}
        if past is not None:
            options[self.cache_name] = fork(past, len(rows))
        if self._narrows:  # the head costs the most for each place; rows have few different lengths
            options["logits_to_keep"], at = at.unique(return_inverse=True)
        output = self.model(input_ids=tokens, **options)
        output.logits = output.logits.take_along_dim(at[..., None], dim=1)
        return output

    def tensor(self, values: Any) -> Any:
        """Return values as a tensor on the model's device."""
        return self._torch.as_tensor(np.asarray(values), device=self.device)

    @contextmanager
    def computing(self) -> Iterator[None]:
        """Compute without gradients; say in our own words what the device refuses."""
        try:
            with self._torch.inference_mode():
                yield
        except RuntimeError as error:  # the type of a full GPU is one of these
            first = first_line(error)
            if "out of memory" in first.lower() or "can't allocate memory" in first:
                raise OutOfMemoryBackendError(
                    f"the {self.device.type} has no memory for this batch: {first}",
                    hint="Take a smaller model, a smaller batch, or a precision of 16 bits",
                ) from error
            raise BackendError(
                f"the model fails on {self.device.type}: {type(error).__name__}: {first}",
                hint="Try another device or precision",
            ) from error


class OutOfMemoryBackendError(BackendError):
    """The device has no memory for a batch; a smaller one may pass."""


def _closing(model: Any) -> frozenset[int]:
    tokens: set[int] = set()
    for settings in (model.config, getattr(model, "generation_config", None)):
        eos = getattr(settings, "eos_token_id", None)
        tokens.update(eos if isinstance(eos, list) else [] if eos is None else [eos])
    return frozenset(tokens)


def _cache_of(output: Any) -> Any | None:
    """Return the cache in a model's output, None for one that is not of keys and values alone.

    A recurrent layer may not go on from its state with several tokens.
    """
    name = "cache" if hasattr(output, "cache") else "past_key_values"
    cache = getattr(output, name, None)
    layers = getattr(cache, "layers", None) or []
    known = all(type(layer).__name__ in _GROWING for layer in layers)
    return cache if layers and known else None


def fork(cache: Any, rows: int) -> Any:
    """Return a copy of a cache, for so many rows where it is of one."""
    forked = copy.deepcopy(cache)
    if rows > 1 and len(cache.layers[0].keys) == 1:
        forked.batch_repeat_interleave(rows)
    return forked


def pad(
    rows: Sequence[Sequence[int]], *, left: bool = False
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Make one matrix of rows of different lengths.

    Parameters
    ----------
    rows : sequence of B sequences of int
    left : bool, default=False
        Pad in front of a row instead of behind it.

    Returns
    -------
    tokens : ndarray of shape (B, T), int64
        0 where a row is padded.
    real : ndarray of shape (B, T), bool
        False where a row is padded.

    Examples
    --------
    >>> pad([[5, 6], [7]])[0]
    array([[5, 6],
           [7, 0]])
    >>> pad([[5, 6], [7]], left=True)[1]
    array([[ True,  True],
           [False,  True]])
    """
    lengths = np.array([len(row) for row in rows])[:, None]
    places = np.arange(lengths.max())
    real = places >= lengths.max() - lengths if left else places < lengths
    tokens = np.zeros(real.shape, np.int64)
    tokens[real] = np.concatenate([np.asarray(row, np.int64) for row in rows])
    return tokens, real
