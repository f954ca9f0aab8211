"""Everything that knows what a language model is: prompts, answers, and servers."""

from __future__ import annotations

from importlib import import_module

_HOMES = {
    "Correction": "dnip.llm.decisions",
    "Decision": "dnip.llm.decisions",
    "read_decisions": "dnip.llm.decisions",
    "make_app": "dnip.llm.serving.application",
    "ImportSummary": "dnip.llm.sources",
    "read_answers": "dnip.llm.sources",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'dnip.llm' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_HOMES[name]), name)
    return value
