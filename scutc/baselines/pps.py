"""Pair-to-pair similarity: which pairs of cells are tight next to other pairs, read off a tensor's eigenvectors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import linalg
from scipy.sparse.linalg import LinearOperator, eigsh

from ..core.affinities import AffinitySettings
from ..core.affinities.tetradic import TetradicAffinity
from ._base import GraphClusterer

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from ..core.geometry import Geometry

# Up to this many samples all pairs are taken: 9 870 of them, and 0.4 GB for the unfolded tensor.
MAX_SAMPLES_ALL_PAIRS = 140
# Above it, the pairs of a sample with so many nearest neighbours.
DEFAULT_NEIGHBORS = 10
# Up to this many pairs the unfolded tensor is kept (0.5 GB), above it is computed anew for every product with it.
MAX_PAIRS_STORED = 11_000
# With fewer pairs than this, or fewer for each eigenvector, a dense eigensolver is faster than an iterative one.
MIN_PAIRS_ITERATIVE = 600
MIN_PAIRS_PER_EIGENVECTOR = 100
# Above this many pairs it takes too long in any case: its time grows with the third power.
MAX_PAIRS_DENSE = 4000
ROWS_PER_BLOCK = 256
# By the triangle inequality each pair has an affinity of exp(−σ) or more with some pair (k, k). Beyond σ = 87 that is 0
# in single precision, and a pair may have no affinity at all.
MAX_SHARPNESS = 80
# Relative. Much less would ask more than single precision gives.
EIGENVALUE_TOLERANCE = 1e-4


class PPS(GraphClusterer):
    """Clustering by pair-to-pair similarity (PPS, also PPC).

    Two pairs of samples are similar when both are tight and lie far from each other: T₄[(i,j),(k,l)] =
    exp(−σ (d_ij + d_kl) / (d_ik + d_jl + ε)). The leading eigenvectors of this matrix of pairs by pairs, normalised by
    its row sums, become a similarity of samples, which is cut by spectral clustering. Meant for a hundred samples or
    so, and some hundreds at most.

    Parameters
    ----------
    n_clusters
        Number of clusters.
    n_neighbors
        Which pairs are taken. ``None`` takes all, as in the publication, for up to 140 samples; above that, where their
        matrix would not fit into 0.5 GB, those of a sample with one of its 10 nearest neighbours, and each sample with
        itself, which is another method: see the notes. An integer forces so many neighbours for any number of samples.
        Time and memory grow with the square of the number of pairs, and beyond 11 000 pairs, 1 200 samples with 10
        neighbours, the matrix is not kept and every step computes it anew.
    sharpness
        How fast the affinity falls with the ratio of distances (σ), at most 80.
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
        The similarity of samples, samples × samples.
    metric_
        The metric that was used: ``"euclidean"`` where there is but one feature.
    seed_
        ``random_state`` if it is an integer, else the seed that was drawn from it.

    Notes
    -----
    An eigenvector, reshaped to the symmetric samples × samples matrix V_a, has no sign of its own, and several of one
    eigenvalue may be rotated at will. The similarity Σ_a λ_a tr(V_a) V_a does not depend on either. It is the
    tensor, cut to its leading eigenvectors, applied to the identity; if the tensor is decomposable, T₄ = S ⊗ S, it is
    the square of the normalised S cut to its leading eigenvectors, and so this is the spectral clustering of S.

    The publication's text was not available, and this follows the description in the paper on UTC. Our reading are the
    combination Σ_a λ_a tr(V_a) V_a of the eigenvectors, taking the symmetric ones alone, setting negative similarities
    and the diagonal to 0, and taking pairs of neighbours above 140 samples. With neighbours only, the similarity is 0
    between all others, and little more than the graph of neighbours is left of it.

    References
    ----------
    H. Peng, Y. Hu, J. Chen, H. Wang, Y. Li and H. Cai, "Integrating tensor similarity to enhance clustering
    performance", IEEE Transactions on Pattern Analysis and Machine Intelligence, 2020.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import make_blobs
    >>> from scutc.baselines import PPS
    >>> X, _ = make_blobs(n_samples=60, n_features=500, centers=3, random_state=0)
    >>> np.bincount(PPS(3).fit_predict(X))
    array([20, 20, 20])
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        n_neighbors: int | None = None,
        sharpness: float = 3.0,
        n_eigenvectors: int | None = None,
        metric: str = "correlation",
        random_state: int | np.random.RandomState | None = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.n_neighbors = n_neighbors
        self.sharpness = sharpness
        self.n_eigenvectors = n_eigenvectors
        self.metric = metric
        self.random_state = random_state

    def _compute_affinity(self, geometry: Geometry) -> NDArray[np.float64]:
        n_neighbors = choose_pair_neighbors(self.n_neighbors, geometry.n_cells)
        settings = AffinitySettings(n_neighbors, sharpness=self.sharpness, seed=self.seed_)
        return pair_to_pair_similarity(geometry, settings, self.n_eigenvectors or self.n_clusters)


def choose_pair_neighbors(n_neighbors: int | None, n_cells: int) -> int:
    """The number of neighbours with which a cell forms pairs: all other cells where that is feasible."""
    if n_neighbors is not None:
        return n_neighbors
    return n_cells - 1 if n_cells <= MAX_SAMPLES_ALL_PAIRS else DEFAULT_NEIGHBORS


def pair_to_pair_similarity(geometry: Geometry, settings: AffinitySettings, n_eigenvectors: int) -> NDArray[np.float64]:
    """Σ_a λ_a tr(V_a) V_a over the leading eigenpairs of the unfolded tensor, clipped at 0, with a zero diagonal."""
    if settings.sharpness > MAX_SHARPNESS:
        msg = f"sharpness={settings.sharpness!r} is more than {MAX_SHARPNESS}: affinities would vanish in rounding."
        raise ValueError(msg)
    first, second = pairs = list_pairs(geometry, settings)
    values, vectors = leading_eigenpairs(TetradicOperator(geometry, settings, pairs), n_eigenvectors)
    of_cells = vectors @ (values * vectors[first == second].sum(axis=0))
    similarity = np.zeros((geometry.n_cells, geometry.n_cells))
    similarity[first, second] = similarity[second, first] = np.maximum(of_cells, 0.0)
    np.fill_diagonal(similarity, 0.0)
    return similarity


def list_pairs(geometry: Geometry, settings: AffinitySettings) -> NDArray[np.intp]:
    """The pairs i < j of near neighbours and the pairs (i, i), as two rows."""
    cells = np.arange(geometry.n_cells)
    neighbors = TetradicAffinity(geometry, settings).reference_pairs
    return np.concatenate([neighbors, np.column_stack([cells, cells])]).T


class TetradicOperator:
    """D^-½ T₄ D^-½ on the symmetric matrices that are 0 outside a set of pairs.

    (i, j) is to (k, l) as (j, i) to (l, k): eigenvectors are symmetric matrices or antisymmetric ones, which are no
    similarities. In the basis (e_ij + e_ji) / √2 and e_ii of the symmetric ones, there are half as many coordinates.
    """

    def __init__(self, geometry: Geometry, settings: AffinitySettings, pairs: NDArray[np.intp]) -> None:
        self.pairs = pairs
        self.sharpness = np.float32(settings.sharpness)
        self.epsilon = np.float32(TetradicAffinity(geometry, settings).epsilon)
        self.distances = geometry.distances.astype(np.float32)
        self.n_pairs = pairs.shape[1]
        self._starts = range(0, self.n_pairs, ROWS_PER_BLOCK)
        self._stored: list[NDArray[np.float32]] = []
        if self.n_pairs <= MAX_PAIRS_STORED:
            self._stored = list(self._blocks())
        # Each pair i < j stands for two of the tensor's, (i, i) for one.
        multiplicity = np.asarray(np.where(pairs[0] == pairs[1], 1, 2), dtype=np.float32)
        degrees = self._times(multiplicity) / 2
        self._scaling = np.sqrt(multiplicity / 2 / degrees)

    def _rows(self, start: int) -> NDArray[np.float32]:
        """T₄[(i,j),(k,l)] + T₄[(i,j),(l,k)] for a block of pairs (i, j) and all pairs (k, l)."""
        (i, j), (k, m) = self.pairs[:, start : start + ROWS_PER_BLOCK], self.pairs
        d = self.distances
        exponent = -self.sharpness * (d[i, j][:, None] + d[k, m])
        straight = exponent / (d[i][:, k] + d[j][:, m] + self.epsilon)
        crossed = exponent / (d[i][:, m] + d[j][:, k] + self.epsilon)
        return np.exp(straight, out=straight) + np.exp(crossed, out=crossed)

    def _blocks(self) -> Iterable[NDArray[np.float32]]:
        return self._stored or map(self._rows, self._starts)

    def _times(self, vector: NDArray[Any]) -> NDArray[Any]:
        return np.concatenate([rows @ vector for rows in self._blocks()])

    def matvec(self, vector: NDArray[Any]) -> NDArray[Any]:
        """The normalised tensor times a symmetric matrix, both in the basis."""
        return self._scaling * self._times(self._scaling * vector.ravel())

    def toarray(self) -> NDArray[np.float64]:
        """The operator as a dense array."""
        rows = np.concatenate(list(self._blocks()))
        return np.asarray(rows * self._scaling[:, None] * self._scaling, dtype=np.float64)

    def entries(self, coordinates: NDArray[np.float64]) -> NDArray[np.float64]:
        """Entries of symmetric matrices at the pairs, from their coordinates in the basis."""
        return coordinates * np.where(self.pairs[0] == self.pairs[1], 1.0, np.sqrt(0.5))[:, None]


def leading_eigenpairs(operator: TetradicOperator, n_vectors: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The largest eigenvalues, and the entries of their eigenvectors at the operator's pairs, a column for each."""
    size = operator.n_pairs
    n_vectors = min(n_vectors, size)
    dense_is_faster = size < max(MIN_PAIRS_ITERATIVE, MIN_PAIRS_PER_EIGENVECTOR * n_vectors)
    if dense_is_faster and size <= MAX_PAIRS_DENSE:
        values, vectors = linalg.eigh(operator.toarray(), subset_by_index=(size - n_vectors, size - 1))
    else:
        start = np.random.default_rng(0).standard_normal(size, dtype=np.float32)
        linear = LinearOperator((size, size), matvec=operator.matvec, dtype=np.float32)
        values, vectors = eigsh(linear, k=min(n_vectors, size - 1), which="LA", v0=start, tol=EIGENVALUE_TOLERANCE)
    return np.asarray(values, dtype=np.float64), operator.entries(np.asarray(vectors, dtype=np.float64))
