"""Pair-to-pair similarity integrated with pairwise similarity."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ..core.affinities import AffinitySettings
from ..core.affinities.pairwise import PairwiseAffinity
from ..core.normalization import normalize
from ._base import GraphClusterer
from .pps import choose_pair_neighbors, pair_to_pair_similarity

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ..core.geometry import Geometry


class IPS2(GraphClusterer):
    """Clustering by pairwise similarity integrated with pair-to-pair similarity (IPS2).

    The similarity of :class:`PPS` is added to a pairwise one, each normalised by its row sums, and the sum is cut by
    spectral clustering. The pairwise similarity is the entropic one that UTC uses as its order 2.

    Parameters
    ----------
    n_clusters
        Number of clusters.
    weight
        Weight of the pair-to-pair similarity; the pairwise one has weight 1.
    n_neighbors
        Perplexity of the pairwise similarity, as in UTC.
    pair_neighbors
        Which pairs are taken for the pair-to-pair similarity, as ``n_neighbors`` of :class:`PPS`: ``None`` takes all
        for up to 140 samples, and above that those of a sample with its 10 nearest neighbours.
    sharpness
        How fast the pair-to-pair affinity falls with the ratio of distances (σ), at most 80.
    n_eigenvectors
        Number of eigenvectors. ``None`` takes as many as there are clusters.
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
        The integrated similarity, samples × samples.
    metric_
        The metric that was used: ``"euclidean"`` where there is but one feature.
    seed_
        ``random_state`` if it is an integer, else the seed that was drawn from it.

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

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        weight: float = 1.0,
        n_neighbors: int = 15,
        pair_neighbors: int | None = None,
        sharpness: float = 3.0,
        n_eigenvectors: int | None = None,
        metric: str = "correlation",
        random_state: int | np.random.RandomState | None = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.weight = weight
        self.n_neighbors = n_neighbors
        self.pair_neighbors = pair_neighbors
        self.sharpness = sharpness
        self.n_eigenvectors = n_eigenvectors
        self.metric = metric
        self.random_state = random_state

    def _compute_affinity(self, geometry: Geometry) -> NDArray[np.float64]:
        settings = AffinitySettings(self.n_neighbors, sharpness=self.sharpness, seed=self.seed_)
        pairwise = PairwiseAffinity(geometry, settings).contract().toarray()
        settings = replace(settings, n_neighbors=choose_pair_neighbors(self.pair_neighbors, geometry.n_cells))
        pair_to_pair = pair_to_pair_similarity(geometry, settings, self.n_eigenvectors or self.n_clusters)
        return normalize(pairwise) + self.weight * normalize(pair_to_pair)
