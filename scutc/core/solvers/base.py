"""What every solver is given, and what it returns."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ..fusion import leading_directions
from ..parallel import Progress, no_progress

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True)
class SolverSettings:
    """The choices that are not a solver's own, and how it says where it is."""

    n_clusters: int
    effective_rank: float
    seed: int
    weights: dict[int, float] = field(default_factory=dict)
    """Weights of orders; 1 for those that are left out."""
    report: Callable[[str], None] = lambda message: None
    progress: Progress = no_progress

    def weight(self, order: int) -> float:
        """Weight of an order."""
        return self.weights.get(order, 1.0)


@dataclass(frozen=True)
class Iterations:
    """What a solver that iterates did."""

    objective: NDArray[np.float64]
    """Objective at the start and after each iteration."""
    relative_gradient: float
    """Length of the part of the gradient along which the answer could still move, next to the whole gradient's."""
    converged: bool
    remedy: str = ""
    """What to do if it did not converge."""

    @property
    def n_iter(self) -> int:
        """Number of iterations."""
        return len(self.objective) - 1


@dataclass(frozen=True)
class Solution:
    """The embedding that a solver found, and what it is made of."""

    orders: tuple[int, ...]
    """The orders that were fused."""
    embeddings: dict[tuple[int, ...], NDArray[np.float64]]
    """Embeddings by the orders that they know of, ``orders`` among them: each casts a vote on the labels."""
    spectrum: NDArray[np.float64]
    """Largest first: eigenvalues of the fused operator, or the objective's value of each column of the embedding."""
    order_spectra: dict[int, NDArray[np.float64]]
    """The same for each order alone."""
    iterations: Iterations | None = None
    """For a solver that iterates."""

    @property
    def embedding(self) -> NDArray[np.float64]:
        """The embedding that knows of all orders."""
        return self.embeddings[self.orders]

    def points(self, orders: tuple[int, ...], n_clusters: int) -> NDArray[np.float64]:
        """Where so many clusters are sought, by some of the orders.

        Columns of a solver that iterates are alike in length and belong together: all of them.
        """
        embedding = self.embeddings[orders]
        return leading_directions(embedding, n_clusters) if self.iterations is None else embedding
