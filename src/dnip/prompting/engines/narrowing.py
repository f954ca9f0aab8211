"""Forward passes that skip work at places nobody reads."""

from __future__ import annotations

from contextlib import contextmanager
from inspect import signature
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator


class Narrowing:
    """Computes the costly last parts of a model at some places of each row only.

    These are the head, which costs the most per token, and the feed-forward of the last layer. No
    other place looks at their results.

    Parameters
    ----------
    model : PreTrainedModel
        A causal language model of the library transformers.
    """

    def __init__(self, model: Any) -> None:
        self._head = model.get_output_embeddings()
        self.last_mlp = _last_mlp(model)

    @contextmanager
    def at(self, places: Any, width: int) -> Iterator[None]:
        """Within, forward passes give logits of `places` only.

        Parameters
        ----------
        places : tensor of shape (B, P), int64
            Columns of the input.
        width : int
            Columns of the input in all.
        """
        index = places[..., None]

        def narrow(_module: object, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
            hidden, *rest = inputs
            return (hidden.take_along_dim(index, dim=1), *rest)

        def widen(_module: object, _inputs: object, output: Any) -> Any:
            rows, _, size = output.shape
            whole = output.new_zeros(rows, width, size)
            return whole.scatter_(1, index.expand(-1, -1, size), output)

        hooks = [self._head.register_forward_pre_hook(narrow)]
        if self.last_mlp is not None:
            hooks.append(self.last_mlp.register_forward_pre_hook(narrow))
            hooks.append(self.last_mlp.register_forward_hook(widen))
        try:
            yield
        finally:
            for hook in hooks:
                hook.remove()


def _last_mlp(model: Any) -> Any | None:
    """Return the feed-forward of the last layer, which treats each place by itself.

    None where layers run more than once, or the last one is of no usual kind, such as a mixture of
    experts.
    """
    decoder = model.base_model
    layers = list(getattr(decoder, "layers", None) or getattr(decoder, "h", None) or [])
    runs = getattr(model.config.get_text_config(), "num_hidden_layers", None)
    if not layers or len({id(layer) for layer in layers}) != runs:
        return None
    mlp: Any = getattr(layers[-1], "mlp", None)
    usual = type(mlp).__name__.endswith("MLP") and len(signature(mlp.forward).parameters) == 1
    return mlp if usual else None
