"""GGUF files, as llama.cpp reads them: checked before transformers makes a model of one."""

from __future__ import annotations

import hashlib
import shutil
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from dnip.base.errors import InvalidInputError, first_line, listed, load_optional

#: How such a file ends.
SUFFIX = ".gguf"
# Values of a header, at most; the largest vocabularies have two million, with their merges.
_MOST_VALUES = 5_000_000
# A model has no more parameters than its file, but for tensors that it uses twice.
_MOST_TIED = 2


@dataclass(frozen=True)
class _GGUFFile:
    """What a sound file says of itself.

    Attributes
    ----------
    path : Path
    sha256 : str
    quantisation : str
        How most of its weights are stored, such as ``"Q4_1"``.
    n_tensors, n_elements : int
        How many tensors it holds, and how many numbers they hold together.
    """

    path: Path
    sha256: str
    quantisation: str
    n_tensors: int
    n_elements: int

    def config(self, transformers: Any, folder: str) -> Any:  # noqa: ANN401
        """Return the model's settings; refuse those of a larger model than the file holds.

        Raises
        ------
        ValueError
        """
        config = transformers.AutoConfig.from_pretrained(folder, gguf_file=self.path.name)
        layers = getattr(config.get_text_config(), "num_hidden_layers", 0)
        torch: Any = load_optional("torch", purpose="run a language model", extra="transformers")
        n = 0
        if layers <= self.n_tensors:
            with torch.device("meta"):  # shapes without numbers
                model = transformers.AutoModelForCausalLM.from_config(config)
            n = sum(parameter.numel() for parameter in model.parameters())
        if layers > self.n_tensors or n > _MOST_TIED * self.n_elements:
            raise ValueError(
                f"its header names {layers:,} layers and {n:,} weights, but its {self.n_tensors:,} "
                f"tensors hold {self.n_elements:,}"
            )
        return config


def gguf_in(folder: Path) -> Path | None:
    """Return the GGUF file of a folder that holds a model in no other form; None for others.

    Raises
    ------
    InvalidInputError
        If there are several.
    """
    if (folder / "config.json").exists():
        return None
    paths = sorted(path for path in folder.iterdir() if path.suffix.lower() == SUFFIX)
    if len(paths) > 1:
        raise InvalidInputError(
            f"{folder} holds {len(paths)} GGUF files: {listed([path.name for path in paths])}",
            hint=f"Name the one that you mean, such as {paths[0]}",
        )
    return paths[0] if paths else None


@lru_cache(maxsize=1)
def read_gguf(path: Path) -> _GGUFFile:
    """Read and check a file's header.

    Raises
    ------
    InvalidInputError
        If the file is cut off, damaged, or its header names lengths that it does not have.
    MissingDependencyError
        If gguf or accelerate, by which transformers reads such files, is not installed.
    """
    gguf: Any = load_optional("gguf", purpose=f"read {path.name}", extra="transformers")
    load_optional("accelerate", purpose=f"read {path.name}", extra="transformers")

    class Header(gguf.GGUFReader):  # type: ignore[misc]
        """Stops where a length points beyond the file; the reader itself would go on for ever."""

        n_values = 0
        data: Any

        def _get(self, offset: int, dtype: Any, count: Any = 1, *rest: Any, **more: Any) -> Any:  # noqa: ANN401
            self.n_values += 1
            self.data = np.asarray(self.data)  # a slice of a memmap costs three times as much
            if self.n_values > _MOST_VALUES:
                raise ValueError(f"its header has more than {_MOST_VALUES:,} values")
            if offset + np.dtype(dtype).itemsize * int(count) > len(self.data):
                raise ValueError("it is cut off, or its header names lengths that it does not have")
            return super()._get(offset, dtype, count, *rest, **more)

    try:
        tensors = Header(path).tensors
        if not tensors:
            raise ValueError("it holds no weights")
        stored: Counter[str] = Counter()
        for tensor in tensors:
            stored[tensor.tensor_type.name] += int(tensor.n_elements)
        with path.open("rb") as file:
            sha256 = hashlib.file_digest(file, "sha256").hexdigest()
    except Exception as error:  # a damaged header leads the reader anywhere
        raise InvalidInputError(
            f"the GGUF file {str(path)!r} cannot be read: {first_line(error)}",
            hint="Fetch it again, and compare its size and its SHA-256 with where it comes from",
        ) from error
    [(quantisation, _)] = stored.most_common(1)
    return _GGUFFile(path, sha256, quantisation, len(tensors), sum(stored.values()))


@contextmanager
def alone(path: Path) -> Iterator[str]:
    """Give a folder with this file alone, for transformers reads what lies beside a file."""
    with TemporaryDirectory(prefix="dnip-gguf-") as folder:
        try:
            Path(folder, path.name).symlink_to(path.resolve())
        except OSError:  # Windows lets few make links
            shutil.copy(path, folder)
        yield folder
