"""The mark of a corrected answer: it stays wherever the answer is saved."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from dnip.tables.columns import CORRECTED

#: The header of an answer with a mark.
HEADER = b"dnip-corrected-by"

# Some clients keep no field that they do not know. They do keep the name of the model.
_SUFFIX = re.compile(r"\+dnip-([0-9a-f.]+)\Z")


def marked(body: Mapping[str, Any], by: Mapping[str, str]) -> dict[str, Any]:
    """Return an answer with a mark: in a field of its own, and behind the name of the model.

    Parameters
    ----------
    body : mapping
        The whole answer, as parsed from JSON.
    by : mapping of str to str
        Hashes of coefficients, by question.

    Examples
    --------
    >>> marked({"model": "m", "answers": {}}, {"topic": "202fe88dd43e4192"})["model"]
    'm+dnip-202fe88dd43e4192'
    """
    known = body.get(CORRECTED)
    new = {**body, CORRECTED: {**(known if isinstance(known, Mapping) else {}), **by}}
    if isinstance(model := body.get("model"), str) and not _SUFFIX.search(model):
        new["model"] = f"{model}+dnip-{'.'.join(sorted(set(by.values())))}"
    return new


def mark_of(body: object, question: str = "") -> str | None:
    """Return the hash of the coefficients that corrected an answer; None if none did.

    Parameters
    ----------
    body : JSON value
        The whole answer.
    question : str, optional
        Which question of the answer is meant; by default any.

    Examples
    --------
    >>> answer = marked({"answers": {}}, {"topic": "202fe88dd43e4192"})
    >>> mark_of(answer, "topic"), mark_of(answer, "tone")
    ('202fe88dd43e4192', None)
    """
    if not isinstance(body, Mapping):
        return None
    found = body.get(CORRECTED)
    if isinstance(found, Mapping):
        found = found.get(question) if question else next(iter(found.values()), None)
    elif CORRECTED not in body and (suffix := _SUFFIX.search(str(body.get("model", "")))):
        found = suffix[1]
    return str(found) if found else None


def header_of(by: Mapping[str, object]) -> tuple[bytes, bytes]:
    """Return the header of an answer that was corrected.

    Examples
    --------
    >>> header_of({"topic": "202fe88dd43e4192"})
    (b'dnip-corrected-by', b'topic=202fe88dd43e4192')
    """
    pairs = [f"{quote(name)}={quote(str(mark))}" for name, mark in by.items()]
    return HEADER, ", ".join(pairs).encode()
