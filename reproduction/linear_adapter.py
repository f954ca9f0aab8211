"""The paper's linear adapter: two linear layers trained on a smooth twin of the objective."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from dnip.base.errors import InvalidInputError
from dnip.base.optional import load_optional
from dnip.base.validation import check_integer
from dnip.comparing.baselines.base import Correction, Method, log
from dnip.method.objective import Objective
from dnip.tables.splitting import split_rows

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType

    from dnip.base.typing import Floats, Labels, Probabilities
    from dnip.comparing.baselines.base import OptSet

# Share of the opt rows on which training is watched, where every class leaves one in either part.
_DEV_SHARE = 0.2
_RATE, _MAX_STEPS, _PATIENCE, _LEAST_GAIN = 0.01, 2000, 100, 1e-6


@dataclass(frozen=True)
class LinearAdapter(Method):
    """ln p plus two linear layers of p, trained toward error + β·COBias - τ·ΣPMI.

    Input, width (64) and objective are those of the paper's section 5.4: it reads the class
    probabilities that DNIP reads. The paper leaves the rest open; here the adapter stands beside a
    skip connection and its second layer starts at 0, so that training starts from the raw argmax,
    and the objective is smooth by counting every example toward each class as far as the softmax
    of its scores says so. Adam trains on all rows at once and stops when the smooth objective on a
    fifth of the opt rows, or on all where a class has but one, has not improved for 100 steps.

    Parameters
    ----------
    width : int, default=64
        Of the layer between.
    objective : Objective
        With COBias over pairs.

    Examples
    --------
    >>> from dnip.comparing.baselines import OptSet
    >>> opt = OptSet.of([[0.9, 0.1], [0.6, 0.4]] * 20, [0, 1] * 20)
    >>> LinearAdapter().fit(opt).predict(opt.probabilities[:2])  # doctest: +SKIP
    array([0, 1])
    """

    width: int = 64
    objective: Objective = field(default_factory=Objective)

    name = "linear-adapter"
    summary = "two linear layers trained toward the objective, smoothed"
    seeded = True
    library = "torch"
    extra = "torch"

    def __post_init__(self) -> None:
        check_integer("width", self.width, at_least=1)
        if self.objective.gap != "pairwise":
            raise InvalidInputError(
                "the linear adapter is trained with COBias over pairs; got the objective "
                f"{self.objective.to_dict()}"
            )

    def fit(self, opt: OptSet, seed: int = 0) -> AdaptedScores:
        """Train on the opt rows; the same seed gives the same adapter on the same machine."""
        torch = load_optional("torch", purpose="train the linear adapter", extra=self.extra)
        with _one_thread(torch):
            return self._train(torch, opt, seed)

    def _train(self, torch: ModuleType, opt: OptSet, seed: int) -> AdaptedScores:
        n = opt.n_classes
        spread = n**-0.5
        first = torch.empty(n, self.width, dtype=torch.float64)
        first.uniform_(-spread, spread, generator=torch.Generator().manual_seed(seed))
        others = [(self.width,), (self.width, n), (n,)]
        layers = [first, *(torch.zeros(shape, dtype=torch.float64) for shape in others)]
        for layer in layers:
            layer.requires_grad_()

        def joined() -> tuple[Any, Any]:
            """Return matrix and bias of both layers: one is less to multiply for many rows."""
            weights, bias, more_weights, more_bias = layers
            return weights @ more_weights, bias @ more_weights + more_bias

        def loss(p: Any, log_p: Any, true: Any) -> Any:  # noqa: ANN401 - torch has no types here
            matrix, bias = joined()
            soft = true.T @ torch.softmax(log_p + p @ matrix + bias, dim=1)
            return smooth_objective(torch, soft, self.objective)

        parts = opt.probabilities, log(opt.probabilities), np.eye(n)[opt.labels]
        opt_rows, dev_rows = (
            [torch.from_numpy(part[rows]) for part in parts] for rows in _split(opt.labels, n, seed)
        )
        optimizer = torch.optim.Adam(layers, lr=_RATE)
        best, waited, step = np.inf, 0, 0
        matrix, bias = np.zeros((n, n)), np.zeros(n)
        while step < _MAX_STEPS and waited < _PATIENCE:
            with torch.no_grad():
                reached = float(loss(*dev_rows))
                waited += 1
                if reached < best - _LEAST_GAIN:
                    best, waited = reached, 0
                    matrix, bias = (part.numpy() for part in joined())
            optimizer.zero_grad()
            loss(*opt_rows).backward()
            optimizer.step()
            step += 1
        return AdaptedScores(
            matrix, bias, {"steps": step, "dev_loss": best, "dev_rows": len(dev_rows[0])}
        )


@contextmanager
def _one_thread(torch: ModuleType) -> Iterator[None]:
    """Train on one thread: sums have one order, and small matrices gain nothing from more."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@dataclass(frozen=True, eq=False)
class AdaptedScores(Correction):
    """Scores ln p + p·A + b of a trained adapter.

    Attributes
    ----------
    matrix : ndarray of shape (N, N)
        A.
    bias : ndarray of shape (N,)
        b.
    notes : dict
        Steps of training, and the smooth objective that was reached on the dev rows.
    """

    matrix: Floats
    bias: Floats
    notes: dict[str, Any]

    def scores(self, probabilities: Probabilities) -> Floats:
        """Return ln p + p·A + b, shape (M, N)."""
        return np.asarray(log(probabilities) + probabilities @ self.matrix + self.bias)

    def to_dict(self) -> dict[str, Any]:
        """Return matrix, bias and notes."""
        return {"matrix": self.matrix.tolist(), "bias": self.bias.tolist(), **self.notes}


def smooth_objective(torch: ModuleType, soft: Any, objective: Objective) -> Any:  # noqa: ANN401
    """Return Z of soft confusion counts, a tensor of shape (N, N); of whole counts it is Z itself.

    Classes without examples are left out of COBias, as ever.
    """
    n, total = len(soft), soft.sum()
    true, predicted, correct = soft.sum(dim=1), soft.sum(dim=0), soft.diagonal()
    z = torch.zeros((), dtype=soft.dtype)
    if "error" in objective.terms:
        z = z + 1 - correct.sum() / total
    if "cobias" in objective.terms:
        rates = torch.sort(correct[true > 0] / true[true > 0]).values
        seen = len(rates)
        ranks = 2 * torch.arange(seen, dtype=soft.dtype) - seen + 1
        z = z + objective.beta * (ranks @ rates) / (seen * (seen - 1) / 2)
    if "pmi" in objective.terms:
        mu = objective.smoothing_over(float(total.detach()))
        joint = (correct + mu) / (total + mu * n**2)
        chance = (predicted + mu) * (true + mu) / (total + mu * n) ** 2
        z = z - objective.tau * torch.log(joint / chance).sum()
    return z


def _split(labels: Labels, n_classes: int, seed: int) -> tuple[Labels, Labels]:
    """Return the rows to train on and those to watch: all, twice, where a class has but one."""
    counts = np.bincount(labels, minlength=n_classes)
    everything = np.arange(len(labels))
    if (counts == 1).any():
        return everything, everything
    parts = split_rows(labels, {"dev": _DEV_SHARE, "opt": 1 - _DEV_SHARE}, seed)
    dev = parts["dev"]
    if len(np.unique(labels[dev])) < np.count_nonzero(counts):
        return everything, everything
    return parts["opt"], dev
