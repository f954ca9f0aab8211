"""Whether the Hugging Face hub can be reached, asked once and answered soon."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from dnip.base.optional import load_optional

if TYPE_CHECKING:
    from collections.abc import Iterator

_UNREACHED = {
    "LocalEntryNotFoundError",
    "OfflineModeIsEnabled",
    "ConnectError",
    "ConnectionError",
    "ConnectTimeout",
    "ReadTimeout",
}


@contextmanager
def no_waiting_for_the_hub(purpose: str, extra: str) -> Iterator[None]:
    """Within, only what is stored on this machine is loaded, if the hub cannot be reached.

    The hub's client repeats every request for some 25 seconds before it gives up, several times
    over for one model; with its offline mode on, it looks into the local store at once.

    Parameters
    ----------
    purpose, extra : str
        For the message where the client is not installed; see `dnip.base.optional.load_optional`.
    """
    constants: Any = load_optional("huggingface_hub.constants", purpose=purpose, extra=extra)
    session = load_optional("huggingface_hub.utils", purpose=purpose, extra=extra).get_session
    before = constants.HF_HUB_OFFLINE
    constants.HF_HUB_OFFLINE = before or not _answers(session(), constants)
    try:
        yield
    finally:
        constants.HF_HUB_OFFLINE = before


def is_unreached(error: BaseException) -> bool:
    """Say whether an error of the hub's libraries means that there is no connection."""
    return not _UNREACHED.isdisjoint(type(cause).__name__ for cause in causes(error))


def causes(error: BaseException | None) -> Iterator[BaseException]:
    """Yield an error, its cause, the cause of that, and so on."""
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _answers(session: Any, constants: Any) -> bool:  # noqa: ANN401
    """Ask for the hub's front page, through the client's own session and so its proxies."""
    try:
        session.head(constants.ENDPOINT, timeout=constants.HF_HUB_ETAG_TIMEOUT)
    except Exception:  # whichever library of HTTP the client is made with
        return False
    return True
