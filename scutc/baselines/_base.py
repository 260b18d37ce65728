"""What the baselines share: checks, distances, and cutting a graph of cells into exactly k clusters."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.cluster import spectral_clustering
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import validate_data

from .._parameters import check_parameters, estimator, parameter
from .._validation import OneOf, PositiveInteger, check_n_clusters, check_seed, draw_seed
from ..core.blocks import as_rows, check_finite
from ..core.geometry import Geometry
from ..core.metric import AUTO, METRICS, usable_metric
from ..core.parallel import one_blas_thread
from ..core.tree import number_by_size

if TYPE_CHECKING:
    from numpy.typing import NDArray


@estimator
class GraphClusterer(ClusterMixin, BaseEstimator, ABC):
    """A method that turns distances into an affinity matrix and cuts it.

    A subclass declares its further parameters and says what the affinity is; unless it says otherwise, that is cut by
    :func:`normalized_cut`.

    Attributes
    ----------
    labels_
        Cluster of each sample, numbered by decreasing size.
    metric_
        The metric that was used: ``"euclidean"`` where there is but one feature.
    seed_
        ``random_state`` if it is an integer, else the seed that was drawn from it.
    """

    n_clusters: int = parameter(PositiveInteger(), "Number of clusters.", default=8, kw_only=False)
    metric: str = parameter(
        OneOf((AUTO, *METRICS)),
        'Distance between two samples, as in UTC; the publications take ``"euclidean"``, the samples as they are.',
        default=AUTO,
    )
    random_state: int | np.random.RandomState | None = parameter(
        check_seed, "Seed for the starts of k-means.", default=0
    )

    @abstractmethod
    def _compute_affinity(self, geometry: Geometry) -> NDArray[np.float64]:
        """A symmetric n × n array without negative entries."""

    def _cut(self, affinity: NDArray[np.float64], geometry: Geometry) -> NDArray[np.intp]:
        """Labels with exactly ``n_clusters`` values."""
        return normalized_cut(affinity, self.n_clusters, self.seed_)

    @one_blas_thread
    def fit(self, X: Any, y: Any = None) -> Self:
        """Cluster the rows of a dense or sparse matrix.

        Parameters
        ----------
        X
            Samples × features, dense or sparse (CSR or CSC); never densified.
        y
            Ignored.

        Returns
        -------
        The estimator itself, fitted.

        Examples
        --------
        >>> from sklearn.datasets import make_blobs
        >>> from scutc.baselines import SpectralClustering
        >>> X, _ = make_blobs(n_samples=60, n_features=500, centers=3, random_state=0)
        >>> SpectralClustering(3).fit(X).labels_.shape
        (60,)
        """
        check_parameters(self)
        X = validate_data(self, X, accept_sparse="csr", ensure_all_finite=False, ensure_min_samples=2)
        X = as_rows(X)
        check_finite(X)
        check_n_clusters(self.n_clusters, X.shape[0])
        self.metric_ = usable_metric(self.metric, X.shape[1])
        self.seed_ = draw_seed(self.random_state)
        geometry = Geometry.of(X, self.metric_, n_jobs=1)
        self.affinity_matrix_ = self._compute_affinity(geometry)
        self.labels_ = number_by_size(self._cut(self.affinity_matrix_, geometry))
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def gaussian_affinity(geometry: Geometry, bandwidth: float) -> NDArray[np.float64]:
    """exp(−d² / 2h²) with a zero diagonal, h being ``bandwidth`` times the median distance between two cells."""
    distances = geometry.distances[np.triu_indices(geometry.n_cells, 1)]
    # Where most cells coincide the median is 0 and the mean takes its place.
    width = bandwidth * (float(np.median(distances)) or float(distances.mean()) or 1.0)
    # Scaled before they are squared: the square of a huge width overflows, that of a tiny one is 0.
    scaled = geometry.distances / max(width, np.finfo(np.float64).tiny)
    with np.errstate(over="ignore"):
        affinity = np.exp(-(scaled**2) / 2)
    np.fill_diagonal(affinity, 0.0)
    return affinity


def normalized_cut(affinity: NDArray[np.float64], n_clusters: int, seed: int) -> NDArray[np.intp]:
    """Exactly ``n_clusters`` labels from scikit-learn's k-means in the leading eigenvectors of D^-½ A D^-½."""
    n_cells = len(affinity)
    if n_clusters == 1:
        return np.zeros(n_cells, dtype=np.intp)
    if n_clusters == n_cells:
        return np.arange(n_cells)
    with warnings.catch_warnings():
        # A graph in several parts needs no remark: its parts are the clusters.
        warnings.filterwarnings("ignore", "Graph is not fully connected", UserWarning)
        # Where cells coincide scikit-learn may change its eigensolver and find fewer clusters, see below.
        warnings.filterwarnings("ignore", "ARPACK has failed", RuntimeWarning)
        warnings.simplefilter("ignore", ConvergenceWarning)
        labels = spectral_clustering(affinity, n_clusters=n_clusters, random_state=seed)
    return _fill_up(labels, n_clusters)


def _fill_up(labels: NDArray[Any], n_clusters: int) -> NDArray[np.intp]:
    """Let the largest cluster give up its last cell until there are ``n_clusters``.

    K-means finds fewer only where cells coincide in the embedding, where one choice is as good as another.
    """
    labels = number_by_size(labels)
    for label in range(labels.max() + 1, n_clusters):
        largest = np.argmax(np.bincount(labels))
        labels[np.flatnonzero(labels == largest)[-1]] = label
    return labels
