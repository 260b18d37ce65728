"""Clusters without a random start, for any number of them: cuts of one tree, each improved by a mixture.

Cheap and always the same, which many views of the same cells need that are to be compared with each other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.cluster.hierarchy import linkage
from scipy.spatial.distance import pdist

from .assignment import SHRINKAGE
from .fusion import leading_directions

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

# Columns of an embedding that the tree sees. They are the same for every number of clusters, so that the tree is.
N_DIRECTIONS = 20
# A tree's cut is near an optimum: the mixture has so many steps, or fewer where the mean log-likelihood gains less.
MAX_STEPS = 15
TOLERANCE = 1e-3


def partitions(embedding: NDArray[np.float64], numbers: Iterable[int]) -> dict[int, NDArray[np.intp]]:
    """Labels for each number of clusters, some of which may not occur in them."""
    merges = linkage(pdist(embedding[:, :N_DIRECTIONS]), "ward")
    labels = {}
    for n_clusters in numbers:
        points = leading_directions(embedding, n_clusters)
        labels[n_clusters] = mixture(points, cut(merges, n_clusters), n_clusters).argmax(axis=1)
    return labels


def cut(merges: NDArray[np.float64], n_clusters: int) -> NDArray[np.intp]:
    """Exactly ``n_clusters`` clusters, or as many as cells, by the first merges of a tree in scipy's form."""
    n_cells = len(merges) + 1
    n_merges = max(n_cells - n_clusters, 0)
    parents = np.arange(n_cells + n_merges)
    parents[merges[:n_merges, :2].astype(np.intp)] = np.arange(n_cells, n_cells + n_merges)[:, None]
    while True:
        grandparents = parents[parents]
        if np.array_equal(grandparents, parents):
            return np.unique(parents[:n_cells], return_inverse=True)[1]
        parents = grandparents


def mixture(
    points: NDArray[np.float64], labels: NDArray[np.intp], n_clusters: int, n_steps: int = MAX_STEPS
) -> NDArray[np.float64]:
    """Probability of each cluster for each cell, by a Gaussian mixture with one covariance that starts from labels.

    The model of :func:`scutc.core.assignment.partition`; scikit-learn's takes several times as long from such a start.
    """
    points = points / (np.sqrt(points.var(axis=0).mean()) or 1.0)
    n_cells, n_directions = points.shape
    scatter = points.T @ points
    probabilities = np.eye(n_clusters)[labels]
    likelihood = -np.inf
    for _ in range(n_steps):
        sizes = probabilities.sum(axis=0) + 10 * np.finfo(float).eps
        centers = probabilities.T @ points / sizes[:, None]
        covariance = (scatter - (centers.T * sizes) @ centers) / n_cells + SHRINKAGE * np.eye(n_directions)
        whitening = np.linalg.inv(np.linalg.cholesky(covariance)).T
        white_points, white_centers = points @ whitening, centers @ whitening
        # Up to what all clusters of a cell have in common.
        logarithms = white_points @ white_centers.T + (np.log(sizes / n_cells) - (white_centers**2).sum(axis=1) / 2)
        highest = logarithms.max(axis=1, keepdims=True)
        probabilities = np.exp(logarithms - highest)
        totals = probabilities.sum(axis=1, keepdims=True)
        probabilities /= totals
        last, common = likelihood, np.log(np.diag(whitening)).sum() - (white_points**2).sum() / (2 * n_cells)
        likelihood = float(np.mean(highest + np.log(totals)) + common)
        if likelihood - last < TOLERANCE:
            break
    return probabilities
