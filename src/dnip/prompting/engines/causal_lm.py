"""A causal language model: log-probabilities of chosen tokens after rows that share a prefix."""

from __future__ import annotations

import copy
from contextlib import contextmanager
from inspect import signature
from typing import TYPE_CHECKING, Any

import numpy as np

from dnip.base.errors import BackendError, InvalidInputError
from dnip.base.optional import load_optional
from dnip.base.validation import check_choice
from dnip.prompting.engines.batches import pad
from dnip.prompting.engines.decoding import Decoding
from dnip.prompting.engines.hub import EXTRA, library, load

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from dnip.base.typing import Floats
    from dnip.prompting.engines.batches import Padded

#: Precisions by name; "auto" takes the checkpoint's own.
PRECISIONS = ("float32", "bfloat16", "float16", "auto")

#: How configurations call the reach of layers that see only the latest tokens.
_WINDOWS = ("sliding_window", "attention_chunk_size")
#: Layers whose update makes new tensors, so that many rows can go on from the same ones.
_FORKED = ("DynamicLayer", "DynamicSlidingWindowLayer")


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
        self._transformers = library()
        self._torch: Any = load_optional("torch", purpose="run a language model", extra=EXTRA)
        self.device = self._find_device(device)
        self.model, loading = load(
            self._transformers.AutoModelForCausalLM.from_pretrained,
            model,
            "model",
            revision=revision,
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
            _keep_freed_memory(self._torch)
        text = self.model.config.get_text_config()
        self.context: int | None = getattr(text, "max_position_embeddings", None)
        self._head = self.model.get_output_embeddings()
        self._last_mlp = _last_mlp(self.model)
        self._takes_positions = "position_ids" in signature(self.model.forward).parameters
        self._prefix: tuple[tuple[int, ...], Any] = ((), None)
        # Keys and values further back than this many tokens, some layers forget.
        windows = (getattr(text, name, None) for name in _WINDOWS)
        self._window: int | None = min((size for size in windows if size), default=None)

    def _find_device(self, device: str) -> Any:
        torch = self._torch
        if device == "auto":
            return torch.device("cuda" if torch.cuda.is_available() else "cpu")
        try:
            found = torch.device(device)
            torch.empty(1, device=found)
        except (RuntimeError, AssertionError) as error:
            first = str(error).partition("\n")[0]
            raise InvalidInputError(
                f"device {device!r} cannot be used: {first}", hint="Give cpu, cuda, or auto"
            ) from error
        return found

    def describe(self) -> dict[str, Any]:
        """Return what the numbers depend on, beside the model's name."""
        return {
            "architecture": type(self.model).__name__,
            "commit": getattr(self.model.config, "_commit_hash", None),
            "dtype": str(self.model.dtype).removeprefix("torch."),
            "device": self.device.type,
            "attention": getattr(self.model.config, "_attn_implementation", None),
            "torch": self._torch.__version__,
            "transformers": self._transformers.__version__,
        }

    def prefix(self, tokens: Sequence[int]) -> Any | None:
        """Return the key-value cache of a prefix for `after`; the last one is kept.

        Returns
        -------
        cache or None
            None for an empty prefix, and for a model whose state does not let rows go on from a
            common one (such as a recurrent one); rows must then hold the prefix themselves.
        """
        key = tuple(tokens)
        if not key:
            return None
        if self._prefix[0] != key:
            self._prefix = ((), None)  # frees the old one before the new one is made
            with self.computing():
                cache = _cache(self._run(pad([key]), None, [[len(key) - 1]], keep=True))
            self._prefix = (key, cache if _can_fork(cache) else None)
        return self._prefix[1]

    def bears_gaps(self, past: Any) -> bool:
        """Say whether rows padded on the left may follow a cache.

        They stand apart from it then; a sliding window, or a model that counts places itself,
        would take the gap for text.
        """
        layers = [] if past is None else past.layers
        return self._takes_positions and not any(
            type(layer).__name__ == "DynamicSlidingWindowLayer" for layer in layers
        )

    @property
    def closing(self) -> frozenset[int]:
        """Tokens that mean the end of a sequence, as far as the model itself says."""
        tokens: set[int] = set()
        for settings in (self.model.config, getattr(self.model, "generation_config", None)):
            found = getattr(settings, "eos_token_id", None)
            tokens.update(found if isinstance(found, list) else [] if found is None else [found])
        return frozenset(tokens)

    def remembers(self, tokens: int) -> bool:
        """Say whether all layers keep the keys and values of so many tokens."""
        return self._window is None or tokens < self._window

    def next_tokens(
        self,
        rows: Sequence[Sequence[int]],
        wanted: Sequence[int],
        *,
        past: Any = None,
        side: str = "right",
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
        side : {"right", "left"}
            Where shorter rows are padded.

        Returns
        -------
        ndarray of shape (B, W)
            From the softmax over the whole vocabulary, in float32.
        """
        padded = pad(rows, side)
        with self.computing():
            logits = self._run(padded, past, padded.last[:, None]).logits[:, 0].float()
            picked = logits[:, self.tensor(wanted)] - logits.logsumexp(-1, keepdim=True)
            return np.asarray(picked.cpu().numpy(), np.float64)

    def continuations(
        self,
        rows: Sequence[Sequence[int]],
        answers: Sequence[Sequence[int]],
        *,
        past: Any = None,
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
        padded = pad(rows)
        with self.computing():
            first = self._run(padded, past, padded.last[:, None], keep=True)
            cache = _cache(first)
            if not _can_fork(cache):
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
            given = pad([answer[:-1]] * len(start))
            places = [list(range(len(answer) - 1))] * len(start)
            logits = self._run(given, cache, places).logits.float().log_softmax(-1)
            total = total + _along(logits, self.tensor(answer[1:]))
        return total

    def _whole(self, rows: Sequence[Sequence[int]], answer: Sequence[int], past: Any) -> Any:
        """Give rows and one answer together; for models whose cache cannot be forked."""
        given = pad([[*row, *answer[:-1]] for row in rows])
        begin = len(rows[0]) - 1
        places = [list(range(begin, begin + len(answer)))] * len(rows)
        logits = self._run(given, past, places).logits.float().log_softmax(-1)
        return _along(logits, self.tensor(answer))

    def begin(
        self, rows: Sequence[Sequence[int]], *, past: Any = None, side: str = "right"
    ) -> Decoding:
        """Read rows that are to be continued.

        Parameters
        ----------
        rows : sequence of B sequences of int
            Tokens of each row, without those of `past`.
        past : cache, optional
            Of `prefix`; it is left as it is.
        side : {"right", "left"}
            Where shorter rows are padded. On the right, the model must remember the longest row
            whole, that of `past` included.

        Raises
        ------
        InvalidInputError
            If the model keeps no keys and values, as a recurrent one.
        """
        padded = pad(rows, side)
        with self.computing():
            output = self._run(padded, past, padded.last[:, None], keep=True)
            cache = _cache(output)
            if not _can_fork(cache):
                raise InvalidInputError(
                    f"{type(self.model).__name__} keeps no keys and values to go on from, so it "
                    "cannot reason before it answers here",
                    hint="Take a model of the Transformer kind, or score without chain of thought",
                )
            begin = 0 if past is None else past.get_seq_length()
            seen = np.hstack([np.ones((len(rows), begin), bool), padded.real])
            return Decoding(self, cache, seen, output.logits[:, 0])

    def _run(self, padded: Padded, past: Any, places: Any, *, keep: bool = False) -> Any:
        """Run the model; its logits are of `places` only, shape (B, number of places, V).

        Padding on the right needs no mask: causal attention never looks ahead, and positions and
        sliding windows stand as without padding. Padding on the left is masked and leapt over.
        """
        begin, cache, masked = 0, None, {}
        if past is not None:
            begin = past.get_seq_length()
            cache = fork(past, len(padded.tokens))
        if not padded.real[:, 0].all():
            before = np.ones((len(padded.tokens), begin), bool)
            masked["seen"] = np.hstack([before, padded.real])
            masked["positions"] = begin + padded.places
        return self.forward(
            padded.tokens, places, cache=cache, keep=keep or past is not None, **masked
        )

    def forward(
        self,
        tokens: NDArray[np.int64],
        places: Any,
        *,
        cache: Any = None,
        seen: NDArray[np.bool_] | None = None,
        positions: NDArray[np.int64] | None = None,
        keep: bool = True,
    ) -> Any:
        """Run the model within `computing`; its logits are of `places` only.

        Parameters
        ----------
        tokens : ndarray of shape (B, T)
        places : array-like of shape (B, number of places)
            Columns of `tokens`.
        cache : cache, optional
            Of what stands before the tokens; they are added to it.
        seen : ndarray of shape (B, tokens of the cache + T), optional
            False at padding; all is seen where it is left out.
        positions : ndarray of shape (B, T), optional
            Of the tokens, where padding stands before them.
        keep : bool, default=True
            Keep keys and values.
        """
        options: dict[str, Any] = {}
        if cache is not None:
            options["past_key_values"] = cache
        if seen is not None:
            options["attention_mask"] = self.tensor(seen).long()
            if self._takes_positions:
                options["position_ids"] = self.tensor(positions)
        with self._only(self.tensor(places), tokens.shape[1]):
            return self.model(input_ids=self.tensor(tokens), use_cache=keep, **options)

    def tensor(self, values: Any) -> Any:
        """Return values as a tensor on the model's device."""
        return self._torch.as_tensor(np.asarray(values), device=self.device)

    @contextmanager
    def _only(self, places: Any, width: int) -> Iterator[None]:
        """Compute at some of a row's places only what no other place looks at.

        That is the model's head, which costs the most per token, and the last layer's feed-forward.
        """
        index = places[..., None]

        def narrow(_module: object, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
            hidden, *rest = inputs
            return (self._torch.take_along_dim(hidden, index, dim=1), *rest)

        def widen(_module: object, _inputs: object, output: Any) -> Any:
            rows, _, size = output.shape
            whole = output.new_zeros(rows, width, size)
            return whole.scatter_(1, index.expand(-1, -1, size), output)

        hooks = [self._head.register_forward_pre_hook(narrow)]
        if self._last_mlp is not None:
            hooks.append(self._last_mlp.register_forward_pre_hook(narrow))
            hooks.append(self._last_mlp.register_forward_hook(widen))
        try:
            yield
        finally:
            for hook in hooks:
                hook.remove()

    @contextmanager
    def computing(self) -> Iterator[None]:
        """Compute without gradients; say in our own words what the device refuses."""
        try:
            with self._torch.inference_mode():
                yield
        except RuntimeError as error:  # the type of a full GPU is one of these
            first = str(error).partition("\n")[0]
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


def _last_mlp(model: Any) -> Any | None:
    """Return the feed-forward of the last layer, which treats each place by itself.

    None where layers run more than once, or hold none of the usual kind (such as one of experts).
    """
    decoder = model.base_model
    layers = list(getattr(decoder, "layers", None) or getattr(decoder, "h", None) or [])
    runs = getattr(model.config.get_text_config(), "num_hidden_layers", None)
    if not layers or len({id(layer) for layer in layers}) != runs:
        return None
    mlp: Any = getattr(layers[-1], "mlp", None)
    usual = type(mlp).__name__.endswith("MLP") and len(signature(mlp.forward).parameters) == 1
    return mlp if usual else None


def _keep_freed_memory(torch: Any) -> None:
    """Let the C library keep the memory of one batch for the next one.

    glibc gives freed memory back to the system beyond twice the largest block that was ever mapped
    and freed, 32 MiB at most; fetching it page by page again costs a batch up to a sixth of its
    time.
    """
    torch.empty((32 << 20) - (1 << 16), dtype=torch.uint8)


def _along(logits: Any, tokens: Any) -> Any:
    """Sum over places of the log-probability of one token at each; shape (B,)."""
    rows = tokens.expand(len(logits), -1)
    return logits.gather(-1, rows[..., None]).sum(dim=(1, 2))


def _cache(output: Any) -> Any:
    """Return the cache that a model gave; a recurrent model gives none under this name."""
    return getattr(output, "past_key_values", None)


def _can_fork(cache: Any) -> bool:
    """Say whether many rows can go on from a cache and leave it as it is."""
    layers = getattr(cache, "layers", None) or []
    return len(layers) > 0 and all(type(layer).__name__ in _FORKED for layer in layers)


def fork(cache: Any, rows: int) -> Any:
    """Return a cache for so many rows that shares the given one's tensors.

    The layers are copies, and their update makes new tensors: the given cache never changes.
    """
    fork = copy.copy(cache)
    fork.layers = [copy.copy(layer) for layer in cache.layers]
    for layer in fork.layers:
        layer.keys = layer.keys.expand(rows, -1, -1, -1)
        layer.values = layer.values.expand(rows, -1, -1, -1)
    return fork
