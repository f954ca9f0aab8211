"""What pipelines of transformers return: text classification, and zero-shot classification."""

from __future__ import annotations

from typing import Any

from dnip.base.errors import InvalidInputError
from dnip.prompting.answers.source import Row, Source, Wanted, in_class_order


def _recognises(content: Any) -> bool:  # noqa: ANN401
    if isinstance(content, dict):
        return isinstance(content.get("labels"), list) and isinstance(content.get("scores"), list)
    return (
        isinstance(content, list)
        and len(content) > 0
        and all(isinstance(one, dict) and {"label", "score"} <= one.keys() for one in content)
    )


def _read(content: Any, wanted: Wanted) -> Row:  # noqa: ANN401
    if isinstance(content, dict):
        pairs = list(zip(content["labels"], content["scores"], strict=False))
    else:
        pairs = [(one["label"], one["score"]) for one in content]
    options = {str(label): score for label, score in pairs}
    if len(options) < len(wanted.names):
        raise InvalidInputError(
            f"it holds {len(options)} of {len(wanted.names)} classes",
            hint="Run the pipeline with top_k=None, so that it returns the score of every class",
        )
    return Row(in_class_order(options, wanted))


HUGGING_FACE = Source("pipelines of Hugging Face transformers", _recognises, _read)
