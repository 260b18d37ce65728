"""Spectral clustering of pairwise affinities: the baseline of all."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._parameters import estimator, parameter
from .._validation import PositiveNumber
from ._base import GraphClusterer, gaussian_affinity

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ..core.geometry import Geometry


@estimator
class SpectralClustering(GraphClusterer):
    """Spectral clustering with a Gaussian kernel (SC).

    Two samples are similar when they are near. The leading eigenvectors of the normalised affinity are clustered by
    k-means; both steps are scikit-learn's. Known to fail where groups touch or cross, or where all distances are alike.

    Attributes
    ----------
    affinity_matrix_
        The Gaussian affinity, samples × samples.

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

    bandwidth: float = parameter(
        PositiveNumber(),
        "Width of the Gaussian kernel exp(−d² / 2h²), as a multiple of the median distance between two samples. The "
        "publication leaves it open.",
        default=1.0,
    )

    def _compute_affinity(self, geometry: Geometry) -> NDArray[np.float64]:
        return gaussian_affinity(geometry, self.bandwidth)
