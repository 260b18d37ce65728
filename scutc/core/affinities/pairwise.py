"""Order 2: two cells are similar when each is among the other's likely neighbours."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ..normalization import normalize
from ..tensors import PairTensor
from .base import Affinity
from .neighborhoods import scatter_rows

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..geometry import Geometry

# Neighbours that a cell looks at, as a multiple of the perplexity: t-SNE's choice.
# What lies behind them has next to no weight.
NEIGHBORS_PER_PERPLEXITY = 3
MAX_STEPS = 100
# The natural logarithm of a bandwidth is sought this far on both sides of one over the row's mean distance.
LOG_RANGE = 40.0


class PairwiseAffinity(Affinity):
    """The entropic affinity S₂."""

    def contract(self) -> Any:
        """S₂ itself, which already speaks of pairs."""
        return self.geometry.once(pairwise_affinity, self.settings.n_neighbors)

    def tensor(self) -> PairTensor:
        """L₂ = D^-½ S₂ D^-½."""
        return PairTensor(normalize(self.contract()))


def pairwise_affinity(geometry: Geometry, n_neighbors: int) -> Any:
    """Entropic affinity S₂: p_ij ∝ exp(−β_i d_ij²), symmetrised.

    Each cell's β_i makes the perplexity of its row equal to ``n_neighbors``. A constant added to all d² cancels in the
    row's normalisation, which makes this immune to the concentration of distances.
    """
    perplexity = usable_perplexity(n_neighbors, geometry.n_cells)
    neighbors = geometry.nearest_neighbors(math.ceil(NEIGHBORS_PER_PERPLEXITY * perplexity))
    squared = np.take_along_axis(geometry.squared_distances, neighbors, axis=1)
    probabilities = _entropic_rows(squared.astype(np.float64), perplexity)
    one_way = scatter_rows(neighbors, probabilities, geometry.n_cells)
    return (one_way + one_way.T) / 2


def usable_perplexity(n_neighbors: int, n_cells: int) -> float:
    """Effective number of neighbours: ``n_neighbors``, or a third of the other cells where these are few."""
    n_others = n_cells - 1
    return min(n_neighbors, max(n_others / 3, min(2.0, (1 + n_others) / 2)))


def _entropic_rows(squared: NDArray[np.float64], perplexity: float) -> NDArray[np.float64]:
    """Probabilities ∝ exp(−β d²) in each row, with the β that gives the perplexity.

    Newton's method on log β, kept inside a bracket that halves whenever a step would leave it or the last one did not
    halve the error, since Newton's method alone may go to and fro for ever. Where many cells coincide the perplexity
    cannot be reached and β ends at the edge of its range: equal weights on these cells.
    """
    excess = squared - squared.min(axis=1, keepdims=True)
    scale = excess.mean(axis=1, keepdims=True)
    excess /= np.where(scale > 0, scale, 1.0)

    tolerance = 1e-10
    log_beta = np.zeros(len(excess))
    low, high = log_beta - LOG_RANGE, log_beta + LOG_RANGE
    last_error = np.full(len(excess), np.inf)
    for _ in range(MAX_STEPS):
        beta = np.exp(log_beta)
        weights = np.exp(-beta[:, None] * excess)
        total = weights.sum(axis=1)
        mean = (weights * excess).sum(axis=1) / total
        error = np.log(total) + beta * mean - np.log(perplexity)
        if np.all((np.abs(error) <= tolerance) | (high - low <= tolerance)):
            break
        variance = (weights * excess**2).sum(axis=1) / total - mean**2
        low = np.where(error > 0, log_beta, low)
        high = np.where(error > 0, high, log_beta)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            newton = log_beta + error / (beta**2 * variance)
        improves = 2 * np.abs(error) <= last_error
        last_error = np.abs(error)
        log_beta = np.where(improves & (newton > low) & (newton < high), newton, (low + high) / 2)
    return weights / total[:, None]
