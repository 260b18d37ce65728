"""How sure a cell's label is, and how well each cluster is found again."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.spatial.distance import cdist

from .mixture import Cells, fit_mixture

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from numpy.typing import NDArray

    from .views import View

# Halves agree beyond chance if labels that are dealt to the cells at random agree as well in fewer than this part of so
# many deals.
CHANCE, N_DEALS = 0.05, 199


def confidence(views: Collection[View], labels: NDArray[np.intp], n_clusters: int) -> NDArray[np.float64]:
    """For each cell how sure its label is, from 0 to 1: the mean over views of p (1 + s) / 2.

    In each view, that of all orders and those of single ones, p is the probability of the label in a mixture with the
    clusters' centres and common covariance, and s the cell's silhouette.
    """
    if n_clusters == 1:
        return np.ones(len(labels))
    cells = np.arange(len(labels))
    sure = np.zeros(len(labels))
    for view in views:
        points = view.points(n_clusters)
        probabilities = fit_mixture(Cells(points), labels, n_clusters, n_steps=1).probabilities[cells, labels]
        sure += probabilities * (1 + silhouettes(points, labels, n_clusters)) / 2
    return np.clip(sure / len(views), 0.0, 1.0)


def silhouettes(points: NDArray[np.float64], labels: NDArray[np.intp], n_clusters: int) -> NDArray[np.float64]:
    """For each cell how much nearer the centre of its own cluster is than that of the next, from −1 to 1.

    Distances to centres make it linear in the number of cells. A cell that is a cluster by itself has 0, as usual.
    """
    members = np.eye(n_clusters)[labels]
    sizes = members.sum(axis=0)
    centers = members.T @ points / np.maximum(sizes, 1.0)[:, None]
    distances = cdist(points, centers)
    distances[:, sizes == 0] = np.inf
    cells = np.arange(len(labels))
    own = distances[cells, labels]
    distances[cells, labels] = np.inf
    other = distances.min(axis=1)
    if not np.isfinite(other).all():  # a single cluster
        return np.zeros(len(labels))
    larger = np.maximum(own, other)
    return np.divide(other - own, larger, out=np.zeros(len(labels)), where=(larger > 0) & (sizes[labels] > 1))


def stability(labels: NDArray[np.intp], votes: Sequence[NDArray[np.intp]], n_clusters: int) -> NDArray[np.float64]:
    """For each cluster how well it is found again, from 0 to 1, the mean over votes.

    The number of cells that it shares with the cluster most like it, of all cells that are in either (Jaccard's index).
    Missing for clusters that have no cell among these.
    """
    best = []
    for vote in votes:
        shared = cross_table(labels, vote, n_clusters)
        either = shared.sum(axis=1, keepdims=True) + shared.sum(axis=0) - shared
        best.append(np.divide(shared, either, out=np.zeros(shared.shape), where=either > 0).max(axis=1))
    found = np.mean(best, axis=0)
    found[np.bincount(labels, minlength=n_clusters) == 0] = np.nan
    return found


def cross_table(labels: NDArray[np.intp], others: NDArray[np.intp], n_labels: int | None = None) -> NDArray[np.intp]:
    """How many cells have each label and each of the others: scikit-learn's takes a hundred times as long for few."""
    n_labels, n_others = n_labels or int(labels.max()) + 1, int(others.max()) + 1
    return np.bincount(labels * n_others + others, minlength=n_labels * n_others).reshape(n_labels, n_others)


def agree_beyond_chance(halves: Sequence[NDArray[np.intp]], n_clusters: int, seed: int) -> bool:
    """Whether halves of the genes, two that follow each other of one split, agree better than labels dealt at random.

    In data whose genes have been permuted one by one they do not: there the halves know nothing of each other. Where
    there is nothing to agree on, nothing speaks against the labels.
    """
    if not halves or not 1 < n_clusters < len(halves[0]):
        return True
    rng = np.random.default_rng(seed)
    splits = list(zip(halves[::2], halves[1::2], strict=True))

    def pairs_together(others: Iterable[NDArray[np.intp]]) -> float:
        # All of the Rand index that depends on how the labels are dealt.
        return sum(
            float((cross_table(first, other) ** 2).sum()) for (first, _), other in zip(splits, others, strict=True)
        )

    found = pairs_together(second for _, second in splits)
    dealt = [pairs_together(rng.permutation(second) for _, second in splits) for _ in range(N_DEALS)]
    return bool(np.mean(np.array(dealt) >= found) < CHANCE)
