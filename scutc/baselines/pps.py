"""Pair-to-pair similarity: which pairs of cells are tight next to other pairs, read off a tensor's eigenvectors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse.linalg import LinearOperator

from .._parameters import estimator, parameter
from .._validation import PositiveInteger, PositiveNumber
from ..core.affinities.tetradic import epsilon, near_pairs
from ..core.eigen import leading_eigenpairs
from ..core.parallel import ENTRIES_TO_READ, row_blocks
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
# By the triangle inequality each pair has an affinity of exp(−σ) or more with some pair (k, k). Beyond σ = 87 that is 0
# in single precision, and a pair may have no affinity at all.
MAX_SHARPNESS = 80
# Relative. Much less would ask more than single precision gives.
EIGENVALUE_TOLERANCE = 1e-4


@estimator
class PPS(GraphClusterer):
    """Clustering by pair-to-pair similarity (PPS, also PPC).

    Two pairs of samples are similar when both are tight and lie far from each other: T₄[(i,j),(k,l)] =
    exp(−σ (d_ij + d_kl) / (d_ik + d_jl + ε)). The leading eigenvectors of this matrix of pairs by pairs, normalised by
    its row sums, become a similarity of samples, which is cut by spectral clustering. Meant for a hundred samples or
    so, and some hundreds at most.

    Attributes
    ----------
    affinity_matrix_
        The similarity of samples, samples × samples.

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

    n_neighbors: int | None = parameter(
        PositiveInteger((None,)),
        "Which pairs are taken. ``None`` takes all, as in the publication, for up to 140 samples; above that, where "
        "their matrix would not fit into 0.5 GB, those of a sample with one of its 10 nearest neighbours, and each "
        "sample with itself, which is another method: see the notes. An integer forces so many neighbours for any "
        "number of samples. Time and memory grow with the square of the number of pairs, and beyond 11 000 pairs, "
        "1 200 samples with 10 neighbours, the matrix is not kept and every step computes it anew.",
        default=None,
    )
    sharpness: float = parameter(
        PositiveNumber(), "How fast the affinity falls with the ratio of distances (σ), at most 80.", default=3.0
    )
    n_eigenvectors: int | None = parameter(
        PositiveInteger((None,)), "Number of eigenvectors. ``None`` takes as many as there are clusters.", default=None
    )

    def _compute_affinity(self, geometry: Geometry) -> NDArray[np.float64]:
        n_neighbors = choose_pair_neighbors(self.n_neighbors, geometry.n_cells)
        return pair_to_pair_similarity(geometry, n_neighbors, self.sharpness, self.n_eigenvectors or self.n_clusters)


def choose_pair_neighbors(n_neighbors: int | None, n_cells: int) -> int:
    """The number of neighbours with which a cell forms pairs: all other cells where that is feasible."""
    if n_neighbors is not None:
        return n_neighbors
    return n_cells - 1 if n_cells <= MAX_SAMPLES_ALL_PAIRS else DEFAULT_NEIGHBORS


def pair_to_pair_similarity(
    geometry: Geometry, n_neighbors: int, sharpness: float, n_eigenvectors: int
) -> NDArray[np.float64]:
    """Σ_a λ_a tr(V_a) V_a over the leading eigenpairs of the unfolded tensor, clipped at 0, with a zero diagonal."""
    if sharpness > MAX_SHARPNESS:
        msg = f"sharpness={sharpness!r} is more than {MAX_SHARPNESS}: affinities would vanish in rounding."
        raise ValueError(msg)
    first, second = pairs = list_pairs(geometry, n_neighbors)
    operator = TetradicOperator(geometry, sharpness, pairs)
    values, vectors = leading_eigenpairs(
        operator,
        min(n_eigenvectors, len(first)),
        tolerance=EIGENVALUE_TOLERANCE,
        max_dense=min(max(MIN_PAIRS_ITERATIVE, MIN_PAIRS_PER_EIGENVECTOR * n_eigenvectors), MAX_PAIRS_DENSE),
    )
    vectors = operator.entries(vectors.astype(np.float64))
    of_cells = vectors @ (values * vectors[first == second].sum(axis=0))
    similarity = np.zeros((geometry.n_cells, geometry.n_cells))
    similarity[first, second] = similarity[second, first] = np.maximum(of_cells, 0.0)
    np.fill_diagonal(similarity, 0.0)
    return similarity


def list_pairs(geometry: Geometry, n_neighbors: int) -> NDArray[np.intp]:
    """The pairs i < j of near neighbours and the pairs (i, i), as two rows."""
    cells = np.arange(geometry.n_cells)
    return np.concatenate([near_pairs(geometry, n_neighbors), np.column_stack([cells, cells])]).T


class TetradicOperator(LinearOperator):
    """D^-½ T₄ D^-½ on the symmetric matrices that are 0 outside a set of pairs.

    (i, j) is to (k, l) as (j, i) to (l, k): eigenvectors are symmetric matrices or antisymmetric ones, which are no
    similarities. In the basis (e_ij + e_ji) / √2 and e_ii of the symmetric ones, there are half as many coordinates.
    """

    def __init__(self, geometry: Geometry, sharpness: float, pairs: NDArray[np.intp]) -> None:
        super().__init__(np.dtype(np.float32), (pairs.shape[1],) * 2)
        self.pairs = pairs
        self.sharpness = np.float32(sharpness)
        self.epsilon = np.float32(epsilon(geometry))
        self.distances = geometry.distances.astype(np.float32)
        n_pairs = pairs.shape[1]
        self._slices = row_blocks(n_pairs, n_pairs, ENTRIES_TO_READ)
        self._stored: list[NDArray[np.float32]] = []
        if n_pairs <= MAX_PAIRS_STORED:
            self._stored = list(self._blocks())
        # Each pair i < j stands for two of the tensor's, (i, i) for one.
        multiplicity = np.asarray(np.where(pairs[0] == pairs[1], 1, 2), dtype=np.float32)
        degrees = self._times(multiplicity) / 2
        self._scaling = np.sqrt(multiplicity / 2 / degrees)

    def _rows(self, block: slice) -> NDArray[np.float32]:
        """T₄[(i,j),(k,l)] + T₄[(i,j),(l,k)] for a block of pairs (i, j) and all pairs (k, l)."""
        (i, j), (k, m) = self.pairs[:, block], self.pairs
        d = self.distances
        exponent = -self.sharpness * (d[i, j][:, None] + d[k, m])
        straight = exponent / (d[i][:, k] + d[j][:, m] + self.epsilon)
        crossed = exponent / (d[i][:, m] + d[j][:, k] + self.epsilon)
        return np.exp(straight, out=straight) + np.exp(crossed, out=crossed)

    def _blocks(self) -> Iterable[NDArray[np.float32]]:
        return self._stored or map(self._rows, self._slices)

    def _times(self, vector: NDArray[Any]) -> NDArray[Any]:
        return np.concatenate([rows @ vector for rows in self._blocks()])

    def _matvec(self, vector: NDArray[Any]) -> NDArray[Any]:
        """The normalised tensor times a symmetric matrix, both in the basis."""
        return self._scaling * self._times(self._scaling * vector.ravel())

    def toarray(self) -> NDArray[np.float64]:
        """The operator as a dense array."""
        rows = np.concatenate(list(self._blocks()))
        return np.asarray(rows * self._scaling[:, None] * self._scaling, dtype=np.float64)

    def entries(self, coordinates: NDArray[np.float64]) -> NDArray[np.float64]:
        """Entries of symmetric matrices at the pairs, from their coordinates in the basis."""
        return coordinates * np.where(self.pairs[0] == self.pairs[1], 1.0, np.sqrt(0.5))[:, None]
