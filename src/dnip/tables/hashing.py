"""The hash of a table's content, the same in blocks and as a whole."""

from __future__ import annotations

import hashlib
import json
import tempfile
from typing import IO, TYPE_CHECKING

import numpy as np

from dnip.base.errors import OutputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dnip.base.typing import Labels, Probabilities

# Bytes of labels that are kept in memory; more go to a temporary file.
_MOST_LABELS = 1 << 25


class DataHash:
    """SHA-256 of probabilities, labels and class names, the same in every file format.

    Parameters
    ----------
    classes : sequence of str
        Class names.
    labelled : bool
        Whether there is a label column.
    n_rows : int
        Rows in all the blocks that will come.

    Examples
    --------
    >>> whole = DataHash(["no", "yes"], labelled=False, n_rows=1)
    >>> whole.add(np.array([[0.5, 0.5]]), None)
    >>> whole.hexdigest()[:12]
    'a8882babdb2f'
    """

    def __init__(self, classes: Sequence[str], *, labelled: bool, n_rows: int) -> None:
        header = {"classes": classes, "labelled": labelled, "shape": (n_rows, len(classes))}
        self._digest = hashlib.sha256(json.dumps(header, sort_keys=True).encode())
        self._n_to_come = n_rows
        self._labels: IO[bytes] | None = None  # hashed after all probabilities

    def add(self, probabilities: Probabilities, labels: Labels | None) -> None:
        """Add the next rows.

        Raises
        ------
        OutputError
            If the labels cannot be kept in a temporary file.
        """
        self._digest.update(np.ascontiguousarray(probabilities, "<f8").data)
        self._n_to_come -= len(probabilities)
        if labels is None:
            return
        cells = np.ascontiguousarray(labels, "<i8").data
        if self._labels is None and not self._n_to_come:
            self._digest.update(cells)
            return
        try:
            if self._labels is None:
                self._labels = tempfile.SpooledTemporaryFile(_MOST_LABELS)  # noqa: SIM115
            self._labels.write(cells)
        except OSError as error:
            raise OutputError(
                f"{tempfile.gettempdir()}: labels cannot be kept there: {error.strerror}",
                hint="Free some space, or name another folder in TMPDIR",
            ) from error

    def hexdigest(self) -> str:
        """Return the hash; no rows can be added after it."""
        if self._labels is not None:
            self._labels.seek(0)
            while part := self._labels.read(1 << 20):
                self._digest.update(part)
            self._labels.close()
            self._labels = None
        return self._digest.hexdigest()
