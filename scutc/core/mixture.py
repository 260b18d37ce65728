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


def fit_mixture(
    points: NDArray[np.float64],
    labels: NDArray[np.intp],
    n_clusters: int,
    *,
    n_steps: int = MAX_STEPS,
    sizes: NDArray[np.float64] | None = None,
    scatter: NDArray[np.float64] | None = None,
) -> Mixture:
    """Improve labels by a mixture.

    Unlike k-means it takes clusters that are of unequal size or all stretched the same way for what they are.
    scikit-learn's takes several times as long from such a start.

    Parameters
    ----------
    points
        Where points lie, one in each row.
    labels
        Cluster of each to start with.
    n_clusters
        Number of clusters, some of which may be empty.
    n_steps
        Number of steps at most.
    sizes
        How many cells each point stands for; one by default.
    scatter
        Sum of the outer products of these cells with themselves, where they scatter about the point that stands for
        them.
    """
    sizes = np.ones(len(points)) if sizes is None else sizes
    n_cells = sizes.sum()
    weighted = points * sizes[:, None]
    scatter = points.T @ weighted if scatter is None else scatter
    variance = np.trace(scatter) / n_cells - ((weighted.sum(axis=0) / n_cells) ** 2).sum()
    # In a unit in which coordinates have a mean variance of 1.
    unit = np.sqrt(max(variance, 0.0) / points.shape[1]) or 1.0
    points, weighted, scatter = points / unit, weighted / unit, scatter / unit**2
    probabilities = np.eye(n_clusters)[labels]
    shrinkage = SHRINKAGE * np.eye(points.shape[1])
    likelihood = -np.inf
    for _ in range(n_steps):
        members = sizes @ probabilities + 10 * np.finfo(float).eps
        centers = probabilities.T @ weighted / members[:, None]
        covariance = (scatter - (centers.T * members) @ centers) / n_cells + shrinkage
        whitening = np.linalg.inv(np.linalg.cholesky(covariance)).T
        white_centers = centers @ whitening
        # Up to what all clusters of a cell have in common.
        logarithms = points @ (whitening @ white_centers.T)
        logarithms += np.log(members / n_cells) - (white_centers**2).sum(axis=1) / 2
        highest = logarithms.max(axis=1, keepdims=True)
        probabilities = np.exp(logarithms - highest)
        totals = probabilities.sum(axis=1, keepdims=True)
        probabilities /= totals
        common = np.log(np.diag(whitening)).sum() - np.sum((whitening @ whitening.T) * scatter) / (2 * n_cells)
        last, likelihood = likelihood, float(sizes @ (highest + np.log(totals))[:, 0] / n_cells + common)
        if likelihood - last < TOLERANCE:
            break
    return Mixture(probabilities, likelihood)
