"""Details that lighteval saves of multiple-choice tasks (``--save-details``)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from dnip.prompting.answers.choices import read_choices
from dnip.prompting.answers.source import Row, Source, Wanted


def _recognises(content: Any) -> bool:  # noqa: ANN401
    return isinstance(content, dict) and all(
        isinstance(content.get(key), dict) for key in ("doc", "model_response")
    )


def _read(content: Any, wanted: Wanted) -> Row:  # noqa: ANN401
    doc = content["doc"]
    gold = doc.get("gold_index")
    if isinstance(gold, list):  # several choices may be right
        gold = gold[0] if len(gold) == 1 else None
    texts = [str(text) for text in doc.get("choices") or ()]
    row = read_choices(content["model_response"].get("logprobs") or [], texts, gold, wanted)
    return replace(row, own_id=doc.get("id") or None)


LIGHTEVAL = Source("details of lighteval", _recognises, _read)
