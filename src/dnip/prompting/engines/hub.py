"""Loading models and tokenizers by path or hub name; failures in our own words."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dnip.base.errors import BackendError, DNIPError, InvalidInputError
from dnip.base.optional import load_optional
from dnip.prompting.reachability import causes, is_unreached, no_waiting_for_the_hub

if TYPE_CHECKING:
    import os
    from collections.abc import Callable

#: The extra that installs torch and transformers.
EXTRA = "transformers"

_UNKNOWN = {"RepositoryNotFoundError", "HFValidationError", "RemoteEntryNotFoundError"}


def library() -> Any:
    """Return the module transformers."""
    load_optional("torch", purpose="run a language model", extra=EXTRA)
    return load_optional("transformers", purpose="run a language model", extra=EXTRA)


def load(
    loader: Callable[..., Any],
    name: str | os.PathLike[str],
    what: str,
    **options: Any,
) -> Any:
    """Load with a ``from_pretrained``: a folder, else the local store, else the hub.

    Parameters
    ----------
    loader : callable
        Such as ``AutoTokenizer.from_pretrained``.
    name : str or path-like
        A folder, or a name on the hub.
    what : str
        What is loaded, for messages: ``"model"`` or ``"tokenizer"``.
    **options
        Passed on; ``revision`` among them.

    Raises
    ------
    InvalidInputError
        If there is no such model or revision, a revision of a folder is asked for, access is
        refused, or its files do not fit together.
    BackendError
        If the hub cannot be reached.
    """
    text = str(name)
    if Path(text).is_dir():
        if options.get("revision") is not None:
            raise InvalidInputError(
                f"{text} is a folder, which has no revision {options['revision']!r}",
                hint="Give a revision with a name on the hub only",
            )
        return _translated(loader, text, what, local_files_only=True, **options)
    if _is_path(text):
        raise InvalidInputError(
            f"there is no folder {text!r} to load a {what} from",
            hint="Give the folder that save_pretrained wrote, or a model's name on the hub",
        )
    with suppress(Exception):  # whatever it is: the hub may have what the local store lacks
        return loader(text, local_files_only=True, **options)
    with no_waiting_for_the_hub(f"load a {what}", EXTRA):
        return _translated(loader, text, what, **options)


def _is_path(text: str) -> bool:
    return text.startswith((".", "/", "~")) or text.count("/") > 1 or "\\" in text or not text


def _translated(loader: Callable[..., Any], name: str, what: str, **options: Any) -> Any:
    try:
        return loader(name, **options)
    except (MemoryError, DNIPError):
        raise
    except Exception as error:
        raise _own_words(error, name, what, options.get("revision")) from error


def _own_words(error: BaseException, name: str, what: str, revision: str | None) -> DNIPError:
    """Return our error for one of the library's, by what it and its causes are called."""
    kinds = {type(cause).__name__ for cause in causes(error)}
    if kinds & {"GatedRepoError"}:
        return InvalidInputError(
            f"the {what} {name!r} is open only to those whom its owner admits",
            hint="Ask for access on its page, and set HF_TOKEN",
        )
    if kinds & {"RevisionNotFoundError"}:
        return InvalidInputError(
            f"the {what} {name!r} has no revision {revision!r}",
            hint="Give a branch, a tag or a commit of it",
        )
    if kinds & _UNKNOWN:
        return InvalidInputError(
            f"there is no {what} {name!r}, neither as a folder nor on the hub",
            hint="Check the name; a private model needs HF_TOKEN",
        )
    if is_unreached(error):
        return BackendError(
            f"the {what} {name!r} is not stored here, and the hub cannot be reached",
            hint="Check the network, or give the folder of a model on this machine",
            retryable=True,
        )
    first = str(error).strip().partition("\n")[0]
    return InvalidInputError(
        f"the {what} {name!r} cannot be loaded: {type(error).__name__}: {first}",
        hint="Give a causal language model in the format of transformers, its weights as "
        ".safetensors, with its tokenizer",
    )
