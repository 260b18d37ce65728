"""From embeddings to labels: every embedding casts a vote, the vote is counted, exactly k clusters come out."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.spatial.distance import pdist, squareform
from sklearn.cluster import AgglomerativeClustering
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score
from sklearn.mixture import GaussianMixture

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from .settings import Settings
    from .solvers import Solution

# Added to the clusters' common covariance, as a part of the mean variance of the embedding's coordinates: keeps
# the mixture from chasing directions in which the clusters are thin by chance.
SHRINKAGE = 0.1
# Mixtures get stuck in poor optima: on labelled data five starts gave markedly better labels than one, twenty better
# ones still. Each costs time in proportion to the cells, so there are fewer of them where there are many cells.
MAX_STARTS, MIN_STARTS = 20, 5
CELLS_IN_ALL_STARTS = 20_000
# Weight of distances in the embedding where votes are tied.
TIE_BREAK = 1e-6


@dataclass(frozen=True, eq=False)
class Assignment:
    """Labels, and the votes that they are made of."""

    labels: NDArray[np.intp]
    """Exactly as many clusters as asked for, numbered by size."""
    votes: dict[tuple[int, ...], NDArray[np.intp]]
    """The clusters that are found in each embedding alone, by the orders that it knows of."""

    @property
    def single_orders(self) -> dict[int, NDArray[np.intp]]:
        """The votes of each order by itself."""
        return {orders[0]: vote for orders, vote in self.votes.items() if len(orders) == 1}

    @property
    def agreement(self) -> dict[int, float]:
        """How well each order's own clusters agree with the labels."""
        return {order: float(adjusted_rand_score(self.labels, vote)) for order, vote in self.single_orders.items()}


def assign(solution: Solution, n_clusters: int, settings: Settings) -> Assignment:
    """Exactly ``n_clusters`` clusters, numbered by size."""
    seed = settings.seed
    votes = {orders: partition(solution.points(orders, n_clusters), n_clusters, seed) for orders in solution.embeddings}
    labels = consensus(list(votes.values()), solution.points(solution.orders, n_clusters), n_clusters)
    return Assignment(labels, votes)


def partition(points: NDArray[np.float64], n_clusters: int, seed: int, n_starts: int | None = None) -> NDArray[np.intp]:
    """Labels from a Gaussian mixture whose components share one covariance.

    Unlike k-means it takes clusters that are of unequal size or all stretched the same way for what they are. On data
    with fewer distinct points than clusters some labels may not occur.
    """
    if n_clusters == 1:
        return np.zeros(len(points), dtype=np.intp)
    if n_clusters == len(points):
        return np.arange(len(points))
    if n_starts is None:
        n_starts = min(max(MIN_STARTS, CELLS_IN_ALL_STARTS // len(points)), MAX_STARTS)
    scale = np.sqrt(points.var(axis=0).mean()) or 1.0
    mixture = GaussianMixture(
        n_clusters, covariance_type="tied", reg_covar=SHRINKAGE, n_init=n_starts, max_iter=300, random_state=seed
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return mixture.fit_predict(points / scale)


def consensus(votes: Sequence[NDArray[np.intp]], points: NDArray[np.float64], n_clusters: int) -> NDArray[np.intp]:
    """Exactly ``n_clusters`` clusters of cells that most votes put together, numbered by size.

    Average linkage on the share of votes that separate two cells; ties go by distance between points.
    """
    disagreement = pdist(np.column_stack(votes), "hamming")
    distances = pdist(points)
    disagreement += TIE_BREAK * distances / (distances.max() or 1.0)
    return number_by_size(average_linkage(squareform(disagreement, checks=False), n_clusters))


def average_linkage(distances: NDArray[np.float64], n_clusters: int) -> NDArray[np.intp]:
    """Exactly ``n_clusters`` clusters, merged by the mean distance between their cells."""
    return AgglomerativeClustering(n_clusters, metric="precomputed", linkage="average").fit_predict(distances)


def number_by_size(labels: NDArray[np.intp]) -> NDArray[np.intp]:
    """Renumber labels 0, 1, … by decreasing size, ties by the first cell."""
    _, first, inverse, counts = np.unique(labels, return_index=True, return_inverse=True, return_counts=True)
    ranking = np.lexsort((first, -counts))
    return np.argsort(ranking)[inverse]
