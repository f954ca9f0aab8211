"""Models and tokenizers by path or by their name on the hub; failures in our own words."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dnip.base.errors import BackendError, DNIPError, InvalidInputError
from dnip.base.optional import load_optional

if TYPE_CHECKING:
    import os
    from collections.abc import Callable

#: The extra that installs torch and transformers.
EXTRA = "transformers"

#: Files beside the weights: configuration, tokenizer and chat template.
SMALL_FILES = ("*.json", "*.jinja", "*.txt", "*.model", "*.tiktoken")
#: Weights. Pickled ones are never loaded, since they can run code.
WEIGHTS = ("*.safetensors",)
#: Files in folders, and weights in another format, which a repository may hold besides.
_OTHERS = ("*/*", "consolidated*")


def library() -> Any:
    """Return the module transformers."""
    load_optional("torch", purpose="run a language model", extra=EXTRA)
    return load_optional("transformers", purpose="run a language model", extra=EXTRA)


def find_files(
    name: str | os.PathLike[str],
    what: str,
    patterns: tuple[str, ...],
    *,
    revision: str | None = None,
) -> Path:
    """Return the folder of a model, downloaded from the hub where it is a name.

    The hub is asked which commit a name means. Where it cannot be reached, a complete model of an
    earlier download is taken.

    Parameters
    ----------
    name : str or path-like
        A folder, or a name on the hub.
    what : str
        What is loaded, for messages: ``"model"`` or ``"tokenizer"``.
    patterns : tuple of str
        Of the files that are needed.
    revision : str, optional
        Branch, tag or commit, for a name on the hub.

    Returns
    -------
    pathlib.Path
        For a name on the hub the folder is called by its commit; see `commit_of`.

    Raises
    ------
    InvalidInputError
        If there is no such model or revision, a revision of a folder is asked for, or access is
        refused.
    BackendError
        If the hub cannot be reached.
    """
    text = str(name)
    if Path(text).is_dir():
        if revision is not None:
            raise InvalidInputError(
                f"{text} is a folder, which has no revision {revision!r}",
                hint="Give a revision with a name on the hub only",
            )
        return Path(text)
    if text.startswith((".", "/", "~")) or text.count("/") > 1 or "\\" in text or not text:
        raise InvalidInputError(
            f"there is no folder {text!r} to load a {what} from",
            hint="Give the folder that save_pretrained wrote, or a model's name on the hub",
        )
    hub = load_optional("huggingface_hub", purpose=f"load a {what}", extra=EXTRA)
    errors = load_optional("huggingface_hub.errors", purpose=f"load a {what}", extra=EXTRA)
    try:
        folder = hub.snapshot_download(
            text, revision=revision, allow_patterns=patterns, ignore_patterns=_OTHERS
        )
    except errors.GatedRepoError as error:
        reason = f"the {what} {text!r} is open only to those whom its owner admits"
        hint = "Ask for access on its page, and set HF_TOKEN"
        raise InvalidInputError(reason, hint=hint) from error
    except errors.RevisionNotFoundError as error:
        reason = f"the {what} {text!r} has no revision {revision!r}"
        hint = "Give a branch, a tag or a commit of it"
        raise InvalidInputError(reason, hint=hint) from error
    except (errors.RepositoryNotFoundError, errors.HFValidationError) as error:
        reason = f"there is no {what} {text!r}, neither as a folder nor on the hub"
        hint = "Check the name; a private model needs HF_TOKEN"
        raise InvalidInputError(reason, hint=hint) from error
    except Exception as error:  # of the connection or the disk
        reason = f"the {what} {text!r} cannot be downloaded: {_first_line(error)}"
        hint = "Start again later, or give the folder of a model on this machine"
        if isinstance(error, errors.LocalEntryNotFoundError | ConnectionError):
            reason = f"the {what} {text!r} is not stored here, and the hub cannot be reached"
            hint = "Check the network, or give the folder of a model on this machine"
        raise BackendError(reason, hint=hint, retryable=True) from error
    return Path(folder)


def commit_of(folder: Path) -> str | None:
    """Return the commit that a folder of `find_files` holds, None for a folder of the user."""
    return folder.name if folder.parent.name == "snapshots" else None


def current_commit(name: str, revision: str | None = None) -> str | None:
    """Return the commit that a name on the hub means now, None where nobody can tell."""
    with suppress(DNIPError):
        return commit_of(find_files(name, "model", ("config.json",), revision=revision))
    return None


def load(loader: Callable[..., Any], folder: Path, what: str, **options: Any) -> Any:
    """Load from a folder with a ``from_pretrained``.

    Raises
    ------
    InvalidInputError
        If the files do not fit together.
    """
    try:
        return loader(str(folder), local_files_only=True, **options)
    except (MemoryError, DNIPError):
        raise
    except Exception as error:  # the library raises whatever its own libraries raise
        raise InvalidInputError(
            f"the {what} {str(folder)!r} cannot be loaded: {_first_line(error)}",
            hint="Give a causal language model in the format of transformers, its weights as "
            ".safetensors, with its tokenizer",
        ) from error


def _first_line(error: Exception) -> str:
    return f"{type(error).__name__}: {str(error).strip().partition(chr(10))[0]}"
