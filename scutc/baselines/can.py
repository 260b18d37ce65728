"""Clustering with adaptive neighbours: the graph is learned until it falls into k parts by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy import linalg
from scipy.cluster.hierarchy import linkage
from scipy.sparse.csgraph import connected_components, laplacian
from scipy.spatial.distance import pdist, squareform
from sklearn.exceptions import ConvergenceWarning

from .._parameters import estimator, parameter
from .._validation import PositiveInteger
from ..core.views import cut
from ..core.warn import warn
from ._base import GraphClusterer, normalized_cut

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..core.geometry import Geometry


@estimator
class CAN(GraphClusterer):
    """Clustering with adaptive neighbours (CAN).

    Every sample spreads a weight of 1 over its neighbours, the nearer the more, and the graph of these weights is
    pressed to have exactly ``n_clusters`` connected components, which are the clusters: the distance in the c
    smallest eigenvectors of its Laplacian is added to the distance in the data, λ times, λ doubled while the graph has
    too few components and halved while it has too many. A component has two samples at least.

    Attributes
    ----------
    affinity_matrix_
        The learned graph, samples × samples.
    n_components_
        Number of its connected components, ``n_clusters`` if all went well.
    n_iter_
        Number of graphs that were tried.

    Notes
    -----
    As the publication has it, every step updates the weights over all samples; a public implementation of the authors
    updates only those of the first neighbours by default. What is done where exactly ``n_clusters`` components are not
    reached, merging components or a normalised cut, is ours.

    References
    ----------
    F. Nie, X. Wang and H. Huang, "Clustering and projected clustering with adaptive neighbors", ACM SIGKDD Conference
    on Knowledge Discovery and Data Mining, 2014.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import make_blobs
    >>> from scutc.baselines import CAN
    >>> X, _ = make_blobs(n_samples=60, n_features=500, centers=3, random_state=0)
    >>> model = CAN(3).fit(X)
    >>> np.bincount(model.labels_)
    array([20, 20, 20])
    >>> model.n_components_
    3
    """

    n_neighbors: int = parameter(
        PositiveInteger(),
        "Number of neighbours of each sample in the first graph. Their distances also set the weight γ of the penalty "
        "that spreads neighbours, and the first λ. At most the number of samples less two.",
        default=15,
    )
    max_iter: int = parameter(
        PositiveInteger(),
        "Number of graphs that are tried. If none has exactly ``n_clusters`` components, a ``ConvergenceWarning`` "
        "tells so and the last one is used: components too many are merged by average linkage of the samples' "
        "distances, and a graph with too few is cut by normalised cut, the only random step.",
        default=30,
    )

    def _compute_affinity(self, geometry: Geometry) -> NDArray[np.float64]:
        squared = geometry.squared_distances
        penalties = spreading_penalties(squared, self.n_neighbors)
        penalty = strength = float(penalties.mean())
        graph = neighbor_graph(squared, penalties[:, None])
        indicators = smallest_eigenvectors(graph, self.n_clusters)
        for n_iter in range(1, self.max_iter + 1):
            graph = neighbor_graph(squared + strength * squareform(pdist(indicators, "sqeuclidean")), penalty)
            self.n_components_ = connected_components(graph, directed=False)[0]
            self.n_iter_ = n_iter
            if self.n_components_ == self.n_clusters:
                break
            if self.n_components_ < self.n_clusters:
                strength *= 2
                indicators = smallest_eigenvectors(graph, self.n_clusters)
            else:  # once more from the same eigenvectors, with less pressure
                strength /= 2
        return graph

    def _cut(self, affinity: NDArray[np.float64], geometry: Geometry) -> NDArray[np.intp]:
        components = connected_components(affinity, directed=False)[1]
        if self.n_components_ == self.n_clusters:
            return components
        few = self.n_components_ < self.n_clusters
        msg = (
            f"The graph has {self.n_components_} connected components after max_iter={self.max_iter} steps, not "
            f"n_clusters={self.n_clusters}: its {'normalised cut' if few else 'components, merged by average linkage,'}"
            f" gives the labels. Try {'fewer' if few else 'more'} neighbours (n_neighbors={self.n_neighbors}) or more "
            "steps."
        )
        warn(msg, ConvergenceWarning)
        if few:
            return normalized_cut(affinity, self.n_clusters, self.seed_)
        # No distance inside a component: the tree joins its samples first.
        distances = np.where(components[:, None] == components, 0.0, geometry.distances)
        return cut(linkage(squareform(distances, checks=False), "average"), self.n_clusters)


def spreading_penalties(squared: NDArray[np.float64], n_neighbors: int) -> NDArray[np.float64]:
    """γ_i = (k d_i(k+1) − Σ_h≤k d_i(h)) / 2, with which sample i has exactly k neighbours; d squared, sorted."""
    n_neighbors = min(n_neighbors, len(squared) - 2)
    nearest = np.sort(squared, axis=1)[:, 1 : n_neighbors + 2]
    penalties = (n_neighbors * nearest[:, -1] - nearest[:, :-1].sum(axis=1)) / 2
    # Where many samples lie at the same distance no finite number of neighbours is right: any penalty will do.
    positive = penalties > 1e-12 * squared.mean()
    return np.where(positive, penalties, penalties[positive].mean() if positive.any() else 1.0)


def neighbor_graph(squared: NDArray[np.float64], penalty: NDArray[np.float64] | float) -> NDArray[np.float64]:
    """Weights that minimise Σ_j d_ij s_ij + γ s_ij² over each sample's simplex, symmetrised."""
    scores = -squared / (2 * penalty)
    # No sample is its own neighbour: more than 1 below the largest, a score projects to 0.
    np.fill_diagonal(scores, scores.min(axis=1) - 2)
    weights = project_to_simplex(scores)
    return (weights + weights.T) / 2


def project_to_simplex(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """For each row the nearest one without negative entries that adds up to 1."""
    descending = -np.sort(-points, axis=1)
    excess = np.cumsum(descending, axis=1) - 1
    counts = np.arange(1, points.shape[1] + 1)
    n_positive = np.sum(descending * counts > excess, axis=1)
    thresholds = excess[np.arange(len(points)), n_positive - 1] / n_positive
    return np.maximum(points - thresholds[:, None], 0.0)


def smallest_eigenvectors(graph: NDArray[np.float64], n_vectors: int) -> NDArray[np.float64]:
    """Eigenvectors of the graph's Laplacian D − S for its smallest eigenvalues."""
    return linalg.eigh(laplacian(graph), subset_by_index=(0, n_vectors - 1))[1]
