"""A Gaussian mixture whose components share one covariance, from labels to start with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

# Added to the clusters' common covariance, as a part of the mean variance of the embedding's coordinates: keeps
# the mixture from chasing directions in which the clusters are thin by chance.
SHRINKAGE = 0.1
# It starts near an optimum: so many steps, or fewer where the mean log-likelihood gains less.
MAX_STEPS = 50
TOLERANCE = 1e-3
# A variance below this part of the mean square is rounding noise.
NEGLIGIBLE = 1e-12


class Cells:
    """Points in an embedding, each of which stands for some cells, in a unit in which coordinates have variance 1.

    Parameters
    ----------
    points
        Where they lie, one in each row.
    sizes
        How many cells each stands for; one by default.
    scatter
        Sum of the outer products of these cells with themselves, where they scatter about the point that stands for
        them.
    """

    def __init__(
        self,
        points: NDArray[np.float64],
        sizes: NDArray[np.float64] | None = None,
        scatter: NDArray[np.float64] | None = None,
    ) -> None:
        self.sizes = np.ones(len(points)) if sizes is None else sizes
        self.n_cells = self.sizes.sum()
        weighted = points * self.sizes[:, None]
        scatter = points.T @ weighted if scatter is None else scatter
        square = np.trace(scatter) / self.n_cells
        variance = square - ((weighted.sum(axis=0) / self.n_cells) ** 2).sum()
        # Of points that coincide rounding is left, which is no unit.
        unit = np.sqrt((variance if variance > NEGLIGIBLE * square else square) / points.shape[1]) or 1.0
        self.points, self._weighted, self.scatter = points / unit, weighted / unit, scatter / unit**2

    def clusters(self, probabilities: NDArray[np.float64]) -> tuple[NDArray[np.float64], ...]:
        """Number of cells and centre of each cluster, and what makes their common covariance, shrunk, the identity."""
        members = self.sizes @ probabilities + 10 * np.finfo(float).eps
        centers = probabilities.T @ self._weighted / members[:, None]
        covariance = (self.scatter - (centers.T * members) @ centers) / self.n_cells
        covariance += SHRINKAGE * np.eye(len(covariance))
        return members, centers, np.linalg.inv(np.linalg.cholesky(covariance)).T

    def whitened(self, labels: NDArray[np.intp]) -> NDArray[np.float64]:
        """Where points lie if the common covariance of clusters is the identity."""
        *_, whitening = self.clusters(np.eye(int(labels.max()) + 1)[labels])
        return self.points @ whitening


@dataclass(frozen=True, eq=False)
class Mixture:
    """What was found, and how well it describes the points."""

    probabilities: NDArray[np.float64]
    """Of each cluster, for each point."""
    likelihood: float
    """Mean logarithm of the density at the points, up to a constant."""

    @property
    def labels(self) -> NDArray[np.intp]:
        """The likeliest cluster of each point; some clusters may not occur."""
        return self.probabilities.argmax(axis=1)


def fit_mixture(cells: Cells, labels: NDArray[np.intp], n_clusters: int, n_steps: int = MAX_STEPS) -> Mixture:
    """Improve the labels of points, of so many clusters, some of which may be empty, in so many steps at most.

    Unlike k-means it takes clusters that are of unequal size or all stretched the same way for what they are.
    scikit-learn's takes several times as long from such a start.
    """
    probabilities = np.eye(n_clusters)[labels]
    likelihood = -np.inf
    for _ in range(n_steps):
        members, centers, whitening = cells.clusters(probabilities)
        white_centers = centers @ whitening
        # Up to what all clusters of a cell have in common.
        logarithms = cells.points @ (whitening @ white_centers.T)
        logarithms += np.log(members / cells.n_cells) - (white_centers**2).sum(axis=1) / 2
        highest = logarithms.max(axis=1, keepdims=True)
        probabilities = np.exp(logarithms - highest)
        totals = probabilities.sum(axis=1, keepdims=True)
        probabilities /= totals
        squares = np.sum((whitening @ whitening.T) * cells.scatter)
        common = np.log(np.diag(whitening)).sum() - squares / (2 * cells.n_cells)
        last, likelihood = likelihood, float(cells.sizes @ (highest + np.log(totals))[:, 0] / cells.n_cells + common)
        if likelihood - last < TOLERANCE:
            break
    return Mixture(probabilities, likelihood)
