"""Pair-to-pair similarity integrated with pairwise similarity."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._parameters import estimator, parameter
from .._validation import PositiveInteger, PositiveNumber
from ..core.affinities import pairwise_affinity
from ..core.normalization import normalize
from ._base import GraphClusterer
from .pps import choose_pair_neighbors, pair_to_pair_similarity

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ..core.geometry import Geometry


@estimator
class IPS2(GraphClusterer):
    """Clustering by pairwise similarity integrated with pair-to-pair similarity (IPS2).

    The similarity of :class:`PPS` is added to a pairwise one, each normalised by its row sums, and the sum is cut by
    spectral clustering. The pairwise similarity is the entropic one that UTC uses as its order 2.

    Attributes
    ----------
    affinity_matrix_
        The integrated similarity, samples × samples.

    Notes
    -----
    The publication's text was not available, and this follows the description in the paper on UTC. The entropic
    pairwise similarity is ours, and so is the plain weighted sum of the two similarities; for what is ours in the
    pair-to-pair similarity, see the notes on :class:`PPS`.

    References
    ----------
    H. Peng, Y. Hu, J. Chen, H. Wang, Y. Li and H. Cai, "Integrating tensor similarity to enhance clustering
    performance", IEEE Transactions on Pattern Analysis and Machine Intelligence, 2020.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import make_blobs
    >>> from scutc.baselines import IPS2
    >>> X, _ = make_blobs(n_samples=60, n_features=500, centers=3, random_state=0)
    >>> np.bincount(IPS2(3).fit_predict(X))
    array([20, 20, 20])
    """

    weight: float = parameter(
        PositiveNumber(), "Weight of the pair-to-pair similarity; the pairwise one has weight 1.", default=1.0
    )
    n_neighbors: int = parameter(PositiveInteger(), "Perplexity of the pairwise similarity, as in UTC.", default=15)
    pair_neighbors: int | None = parameter(
        PositiveInteger((None,)),
        "Which pairs are taken for the pair-to-pair similarity, as ``n_neighbors`` of :class:`PPS`: ``None`` takes all "
        "for up to 140 samples, and above that those of a sample with its 10 nearest neighbours.",
        default=None,
    )
    sharpness: float = parameter(
        PositiveNumber(),
        "How fast the pair-to-pair affinity falls with the ratio of distances (σ), at most 80.",
        default=3.0,
    )
    n_eigenvectors: int | None = parameter(
        PositiveInteger((None,)), "Number of eigenvectors. ``None`` takes as many as there are clusters.", default=None
    )

    def _compute_affinity(self, geometry: Geometry) -> NDArray[np.float64]:
        pairwise = pairwise_affinity(geometry, self.n_neighbors).toarray()
        pair_neighbors = choose_pair_neighbors(self.pair_neighbors, geometry.n_cells)
        n_eigenvectors = self.n_eigenvectors or self.n_clusters
        pair_to_pair = pair_to_pair_similarity(geometry, pair_neighbors, self.sharpness, n_eigenvectors)
        return normalize(pairwise) + self.weight * normalize(pair_to_pair)
