"""How many clusters: the number at which they are best separated and the orders agree best on them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from sklearn.metrics import adjusted_rand_score, silhouette_score

from .assignment import partition

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .settings import Settings
    from .solvers import Solution

RULE = "highest silhouette times mean agreement of the orders"

MAX_CLUSTERS = 20
MIN_MEAN_SIZE = 3
# The silhouette needs all distances between the cells that it looks at: a sample keeps it cheap.
SILHOUETTE_CELLS = 1000


@dataclass(frozen=True, eq=False)
class NClustersEstimate:
    """The chosen number, and the score of every candidate."""

    n_clusters: int
    candidates: NDArray[np.intp]
    scores: NDArray[np.float64]


def estimate_n_clusters(solution: Solution, settings: Settings) -> NClustersEstimate:
    """Number of clusters with the highest silhouette × mean agreement of the single orders with the fused result.

    A single cluster has no silhouette: it is the answer only where the data show no structure at all.
    """
    n_cells = len(solution.embedding)
    candidates = np.arange(2, min(MAX_CLUSTERS, n_cells // MIN_MEAN_SIZE) + 1)
    if not len(candidates) or not solution.spectrum[0] > 0:
        return NClustersEstimate(1, np.array([1]), np.array([0.0]))
    scores = []
    for n_clusters in candidates:
        settings.report(f"number of clusters: trying {n_clusters}")
        scores.append(_score(solution, int(n_clusters), settings.seed))
    return NClustersEstimate(int(candidates[np.argmax(scores)]), candidates, np.array(scores))


def _score(solution: Solution, n_clusters: int, seed: int) -> float:
    # As many directions as clusters for each candidate: silhouettes in fewer are higher by that alone.
    points = solution.embedding[:, :n_clusters]
    fused = partition(solution.points(solution.orders, n_clusters), n_clusters, seed, n_starts=1)
    shown = np.random.default_rng(seed).permutation(len(points))[:SILHOUETTE_CELLS]
    if not 1 < len(np.unique(fused[shown])) < len(shown):
        return -1.0
    agreements = [
        adjusted_rand_score(fused, partition(solution.points(orders, n_clusters), n_clusters, seed, n_starts=1))
        for orders in solution.embeddings
        if len(orders) == 1
    ]
    agreement = float(np.mean(agreements)) if agreements else 1.0
    return float(silhouette_score(points[shown], fused[shown])) * max(agreement, 0.0)
