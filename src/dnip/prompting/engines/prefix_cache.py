"""Key-value caches that many rows go on from."""

from __future__ import annotations

import copy
from typing import Any

#: Cache layers of transformers whose update makes new tensors and leaves the old ones as they are.
_FORKABLE = ("DynamicLayer", "DynamicSlidingWindowLayer")


def cache_of(output: Any) -> Any | None:
    """Return the cache in a model's output, None for one that `fork` cannot copy.

    Recurrent layers overwrite their state; such a cache serves one row once.
    """
    cache = getattr(output, "past_key_values", None)
    layers = getattr(cache, "layers", None) or []
    known = all(type(layer).__name__ in _FORKABLE for layer in layers)
    return cache if layers and known else None


def fork(cache: Any, rows: int) -> Any:
    """Return a cache for so many rows that shares the tensors of another.

    Parameters
    ----------
    cache : Cache
        From `cache_of`, of one row or of `rows`. It never changes: updates of the copy make new
        tensors.
    rows : int
    """
    forked = copy.copy(cache)
    forked.layers = [copy.copy(layer) for layer in cache.layers]
    for layer in forked.layers:
        layer.keys = layer.keys.expand(rows, -1, -1, -1)
        layer.values = layer.values.expand(rows, -1, -1, -1)
    return forked


def has_window(cache: Any) -> bool:
    """Say whether some layers of a cache forget all but the latest tokens."""
    return any(type(layer).__name__ == _FORKABLE[1] for layer in cache.layers)
