"""Lines of batches: an answer with an id of its own, or the error of a failed request."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Opened:
    """A saved answer without its envelope.

    Attributes
    ----------
    content : object
        The answer itself.
    own_id : object
        The id that the batch gave to the request, None outside of batches.
    failed : bool
        Whether the request failed, so that there is no answer.
    """

    content: Any
    own_id: object = None
    failed: bool = False


def open_envelope(content: Any) -> Opened:  # noqa: ANN401
    """Take an answer out of a line of a batch; other answers stay as they are.

    Lines of OpenAI's batches hold the answer in ``response.body``, those of Gemini's in
    ``response``.

    Examples
    --------
    >>> line = {"custom_id": "7", "response": {"status_code": 200, "body": {"answers": {}}}}
    >>> open_envelope(line)
    Opened(content={'answers': {}}, own_id='7', failed=False)
    >>> open_envelope({"custom_id": "8", "response": None, "error": {"code": "expired"}}).failed
    True
    """
    if not isinstance(content, dict):
        return Opened(content)
    response = content.get("response")
    own_id = content.get("custom_id", content.get("key"))
    if isinstance(response, dict):
        body = response.get("body", response)
        status = response.get("status_code", 200)
        failed = status != 200 or bool(content.get("error")) or not isinstance(body, dict)
        return Opened(body, own_id, failed)
    # A line without an answer; an error may also be saved in place of one.
    if content.get("error") and content.keys() <= {"id", "custom_id", "key", "response", "error"}:
        return Opened(None, own_id, failed=True)
    return Opened(content)
