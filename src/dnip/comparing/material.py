"""What methods of comparison learn from, drawn by seed, and what they learn."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from dnip.base.arrays import check_probabilities
from dnip.base.classes import check_several_classes, names_of, read_indices
from dnip.base.columns import CONTENT_FREE
from dnip.base.typing import Booleans, Floats, Labels, Probabilities
from dnip.base.validation import check_integer
from dnip.tables import ProbabilityTable
from dnip.tables.guards import check_classes_agree, check_disjoint, check_raw, scored_rows
from dnip.tables.splitting import BALANCED_UP_TO, draw_rows


@dataclass(frozen=True, eq=False)
class OptSet:
    """What methods may learn from; each takes what it needs.

    Attributes
    ----------
    probabilities : ndarray of shape (M, N)
    labels : ndarray of shape (M,)
        Class indices, of at least two classes.
    unlabelled : ndarray of shape (U, N)
        Rows without a label that are at hand before any test row.
    batch : ndarray of shape (B, N)
        The rows that the correction will decide, without their labels. Only a method whose
        ``reads`` names the batch reads them.
    content_free : ndarray of shape (C, N)
        What the model answers to texts without content.
    classes : tuple of str

    Examples
    --------
    >>> opt = OptSet.of([[0.9, 0.1], [0.6, 0.4]], [0, 1])
    >>> opt.n_classes, len(opt.batch)
    (2, 0)
    """

    probabilities: Probabilities
    labels: Labels
    unlabelled: Probabilities
    batch: Probabilities
    content_free: Probabilities
    classes: tuple[str, ...]

    @classmethod
    def of(
        cls,
        probabilities: ArrayLike,
        labels: ArrayLike,
        *,
        classes: Sequence[str] | None = None,
        **others: ArrayLike,
    ) -> OptSet:
        """Check arrays and make an opt set of them; what is left out has no rows.

        Raises
        ------
        InvalidInputError
            For input that breaks its contract, or labels of fewer than two classes.
        """
        p = check_probabilities(probabilities)
        n_classes = p.shape[1]
        y = read_indices(labels, len(p), n_classes, "labels")
        names = names_of(n_classes, classes)
        check_several_classes(np.bincount(y, minlength=n_classes) > 0, names)
        parts = dict.fromkeys(("unlabelled", "batch", "content_free"), np.empty((0, n_classes)))
        return cls(p, y, classes=names, **parts | {k: np.asarray(v) for k, v in others.items()})

    @property
    def n_classes(self) -> int:
        """N."""
        return int(self.probabilities.shape[1])

    @property
    def present(self) -> Booleans:
        """Whether each class has labels, shape (N,)."""
        return np.bincount(self.labels, minlength=self.n_classes) > 0


@dataclass(frozen=True, eq=False)
class Material:
    """Rows to learn from and rows to score.

    Attributes
    ----------
    opt : OptSet
        All labels, all rows without a label, and all test rows as the batch.
    test, true : ndarray of shape (T, N), ndarray of shape (T,)
        Labelled test rows.
    sources : tuple of str
        Names of the opt and the test table.
    """

    opt: OptSet
    test: Probabilities
    true: Labels
    sources: tuple[str, str]

    @classmethod
    def of(
        cls,
        opt: ProbabilityTable,
        test: ProbabilityTable,
        *,
        unlabelled: ProbabilityTable | None = None,
        content_free: ProbabilityTable | None = None,
    ) -> Material:
        """Sort the rows of tables; those whose id begins with content-free are content-free.

        Parameters
        ----------
        opt, test : ProbabilityTable
            With labels.
        unlabelled : ProbabilityTable, optional
            More rows to learn from; labels that it has are not read.
        content_free : ProbabilityTable, optional
            All its rows are content-free.

        Raises
        ------
        InvalidInputError
            For tables of other classes, opt and test rows in common, or labels of fewer than two
            classes on either side.

        Examples
        --------
        >>> import numpy as np
        >>> from dnip import ProbabilityTable
        >>> opt = ProbabilityTable(np.array([[0.9, 0.1], [0.6, 0.4]]), np.array([0, 1]))
        >>> test = ProbabilityTable(np.array([[0.8, 0.2], [0.3, 0.7]]), np.array([0, 1]))
        >>> Material.of(opt, test).opt.n_classes
        2
        """
        check_raw(opt, test, unlabelled, content_free)
        check_disjoint(opt, test)
        if unlabelled is not None:
            check_classes_agree(opt, unlabelled)
            check_disjoint(unlabelled, test)
        if content_free is not None:
            check_classes_agree(opt, content_free)
        opt_rows, opt_free = _part(opt)
        test_rows, test_free = _part(test)
        free = [opt_free, test_free] if content_free is None else [content_free.probabilities]
        labelled, scored = scored_rows(opt_rows, "a fit"), scored_rows(test_rows)
        more = [opt_rows.unlabelled().probabilities]
        more += [] if unlabelled is None else [unlabelled.probabilities]
        assert labelled.labels is not None
        assert scored.labels is not None
        learned_from = OptSet.of(
            labelled.probabilities,
            labelled.labels,
            unlabelled=np.concatenate(more),
            batch=test_rows.probabilities,
            content_free=np.concatenate(free),
            classes=opt.classes,
        )
        return cls(learned_from, scored.probabilities, scored.labels, (opt.source, test.source))

    def missing(self, labels: Labels) -> tuple[str, ...]:
        """Return the names of the classes that no label names."""
        sizes = np.bincount(labels, minlength=self.opt.n_classes)
        return tuple(name for name, size in zip(self.opt.classes, sizes, strict=True) if size == 0)

    def draw(self, n_labels: int | None, seed: int) -> OptSet:
        """Return the opt set of one run: all labels, or some, the other opt rows unlabelled.

        Parameters
        ----------
        n_labels : int, optional
            Up to 100 are drawn class-balanced, more are drawn uniformly.
        seed : int
            Of the draw.

        Raises
        ------
        InvalidInputError
            For more labels than there are, or labels of fewer than two classes.
        """
        if n_labels is None:
            return self.opt
        opt = self.opt
        check_integer("labels", n_labels, at_least=2, at_most=len(opt.labels))
        balanced = n_labels <= BALANCED_UP_TO
        rows = draw_rows(opt.labels, opt.n_classes, n_labels, seed, balanced=balanced)
        drawn = replace(opt, probabilities=opt.probabilities[rows], labels=opt.labels[rows])
        check_several_classes(drawn.present, opt.classes)
        others = np.delete(opt.probabilities, rows, axis=0)
        return replace(drawn, unlabelled=np.concatenate([others, opt.unlabelled]))


def _part(table: ProbabilityTable) -> tuple[ProbabilityTable, Probabilities]:
    """Return the rows with content, and the probabilities of those without."""
    if table.ids is None:
        return table, table.probabilities[:0]
    free = np.array([str(name).startswith(CONTENT_FREE) for name in table.ids], np.bool_)
    return table.take(~free), table.probabilities[free]


class Correction(ABC):
    """What a method has learned, frozen."""

    @abstractmethod
    def scores(self, probabilities: Probabilities) -> Floats:
        """Return the corrected score of each class, shape (M, N); the highest wins."""

    def predict(self, probabilities: Probabilities) -> Labels:
        """Return the class of each row, shape (M,); the lowest on a tie."""
        return np.asarray(np.argmax(self.scores(probabilities), axis=1))

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Return the learned numbers, ready for JSON."""


class Method(ABC):
    """A way to learn a correction from an opt set.

    A new method is a subclass and a line in :func:`~dnip.comparing.baselines.choose`.

    Attributes
    ----------
    name : str
        What users call it.
    summary : str
        What it does, in a few words.
    reads : tuple of str
        What it reads of an opt set: labels, unlabelled, batch, content-free.
    seeded : bool
        Whether the seed of a fit changes what it learns.
    """

    name: ClassVar[str]
    summary: ClassVar[str]
    reads: ClassVar[tuple[str, ...]] = ("labels",)
    seeded: ClassVar[bool] = False

    @abstractmethod
    def fit(self, opt: OptSet, seed: int = 0) -> Correction:
        """Learn a correction.

        Raises
        ------
        InvalidInputError
            If the opt set lacks what the method reads.
        MissingDependencyError
            If an optional library is missing.
        """


@dataclass(frozen=True, eq=False)
class ClassWeights(Correction):
    """One weight per class: the argmax of ω·p, the lowest class on a tie.

    Examples
    --------
    >>> import numpy as np
    >>> ClassWeights(np.array([1.0, 2.0])).predict(np.array([[0.7, 0.3], [0.6, 0.4]]))
    array([0, 1])
    """

    weights: Floats
    notes: dict[str, Any] = field(default_factory=dict)

    def scores(self, probabilities: Probabilities) -> Floats:
        """Return ω·p, shape (M, N)."""
        return np.asarray(self.weights * probabilities)

    def to_dict(self) -> dict[str, Any]:
        """Return the weights, and the notes of the method."""
        return {"weights": self.weights.tolist(), **self.notes}


@dataclass(frozen=True, eq=False)
class LogLinear(Correction):
    """Scores that are linear in log-probabilities: ln p·A + b.

    Attributes
    ----------
    matrix : ndarray of shape (N, N)
        A; column n makes the score of class n.
    bias : ndarray of shape (N,)
        b.
    notes : dict
        Further numbers of the method.

    Examples
    --------
    >>> import numpy as np
    >>> shift = LogLinear(np.eye(2), np.array([0.0, 1.0]))
    >>> shift.predict(np.array([[0.7, 0.3], [0.8, 0.2]]))
    array([1, 0])
    """

    matrix: Floats
    bias: Floats
    notes: dict[str, Any] = field(default_factory=dict)

    def scores(self, probabilities: Probabilities) -> Floats:
        """Return ln p·A + b, shape (M, N)."""
        return np.asarray(log(probabilities) @ self.matrix + self.bias)

    def to_dict(self) -> dict[str, Any]:
        """Return the notes of the method, or else the bare numbers."""
        return self.notes or {"matrix": self.matrix.tolist(), "bias": self.bias.tolist()}


# No calibration tells probabilities below this apart.
_LEAST_PROBABILITY = 1e-12


def log(probabilities: Probabilities) -> Floats:
    """Return log-probabilities; zeros count as a tiny number."""
    return np.asarray(np.log(np.maximum(probabilities, _LEAST_PROBABILITY)))
