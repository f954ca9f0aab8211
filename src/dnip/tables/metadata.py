"""What stands beside a table that `dnip prompt` wrote: which model and prompt it came from."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from dnip.base.escaping import valid_unicode

#: What makes a prompt, beside the text of the row.
_PROMPT = ("task", "demonstrations", "scoring")


def metadata_path(table: Path) -> Path:
    """Return where the metadata of a table lies."""
    return table.with_name(f"{table.name}.meta.json")


def origin_of(table: Path) -> dict[str, str | None] | None:
    """Return the model and the prompt of a table, or None where its metadata do not tell.

    Parameters
    ----------
    table : Path
        A table file.

    Returns
    -------
    dict or None
        ``model``, ``revision``, ``precision`` and ``prompt_sha256``: a hash of the task's wording,
        the demonstrations and the chat template. None stands for what is not known.

    Examples
    --------
    >>> origin_of(Path("no such table.csv")) is None
    True
    """
    if not table.is_file():
        return None
    try:
        settings = json.loads(metadata_path(table).read_text(encoding="utf-8"))["settings"]
        engine = settings["engine"]
        prompt = {name: settings[name] for name in _PROMPT}
        prompt["chat_template"] = engine.get("chat_template")
        return {
            "model": _text(engine["model"]),
            "revision": _text(engine.get("commit") or engine.get("revision")),
            "precision": _text(engine.get("dtype")),
            "prompt_sha256": _hash(prompt),
        }
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None  # written by hand, or by another program


def _text(value: object) -> str | None:
    return None if value is None else valid_unicode(str(value))


def _hash(content: dict[str, Any]) -> str:
    text = json.dumps(content, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()
