"""Spectral clustering of pairwise affinities: the baseline of all."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ._base import GraphClusterer, gaussian_affinity

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ..core.geometry import Geometry


class SpectralClustering(GraphClusterer):
    """Spectral clustering with a Gaussian kernel (SC).

    Two samples are similar when they are near. The leading eigenvectors of the normalised affinity are clustered by
    k-means; both steps are scikit-learn's. Known to fail where groups touch or cross, or where all distances are alike.

    Parameters
    ----------
    n_clusters
        Number of clusters.
    bandwidth
        Width of the Gaussian kernel exp(−d² / 2h²), as a multiple of the median distance between two samples. The
        publication leaves it open.
    metric
        ``"correlation"`` centres every sample and scales it to unit length first; ``"euclidean"`` takes the samples as
        they are, as in the publication.
    random_state
        Seed for the starts of k-means.

    Attributes
    ----------
    labels_
        Cluster of each sample, numbered by decreasing size.
    affinity_matrix_
        The Gaussian affinity, samples × samples.
    metric_
        The metric that was used: ``"euclidean"`` where there is but one feature.
    seed_
        ``random_state`` if it is an integer, else the seed that was drawn from it.

    Notes
    -----
    The publication cuts images in two, again and again, by the second eigenvector, and multiplies the affinity by a
    cut-off in the plane of the image. Here all clusters are found at once, by k-means in as many eigenvectors as there
    are clusters, and the affinity of samples, which lie in no plane, is the Gaussian kernel alone.

    References
    ----------
    J. Shi and J. Malik, "Normalized cuts and image segmentation", IEEE Transactions on Pattern Analysis and Machine
    Intelligence 22(8), 2000.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import make_blobs
    >>> from scutc.baselines import SpectralClustering
    >>> X, _ = make_blobs(n_samples=60, n_features=500, centers=3, random_state=0)
    >>> np.bincount(SpectralClustering(3).fit_predict(X))
    array([20, 20, 20])
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        bandwidth: float = 1.0,
        metric: str = "correlation",
        random_state: int | np.random.RandomState | None = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.bandwidth = bandwidth
        self.metric = metric
        self.random_state = random_state

    def _compute_affinity(self, geometry: Geometry) -> NDArray[np.float64]:
        return gaussian_affinity(geometry, self.bandwidth)
