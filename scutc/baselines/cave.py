"""Clique averaging: affinities of triples, averaged into a graph that is cut."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .._parameters import estimator, parameter
from .._validation import PositiveNumber
from ._base import GraphClusterer, gaussian_affinity

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..core.geometry import Geometry


@estimator
class CAVE(GraphClusterer):
    """Clique averaging of triples, then normalised cut (CAVE).

    All triples of samples are the edges of a weighted hypergraph. Clique averaging seeks the graph in which the mean of
    the three edges of a triple is the weight of that triple, by least squares; negative weights become 0 and the
    graph is cut by spectral clustering. Three samples are similar when they lie near a point, their centre, as suits
    compact clusters: the weight exp(−(d_ij² + d_jk² + d_ik²) / 2h²) falls with their squared distances from it. So
    groups that cross are not told apart.

    Attributes
    ----------
    affinity_matrix_
        The graph that approximates the hypergraph, samples × samples.

    Notes
    -----
    Two things differ from the publication. It fits a model of the clusters to each triple, such as a line or a
    subspace, and turns the error into a weight: here that model is a point. And it bounds the edges in the least
    squares: here these are solved without bounds, which has a closed form, and negative edges become 0 afterwards.

    References
    ----------
    S. Agarwal, J. Lim, L. Zelnik-Manor, P. Perona, D. Kriegman and S. Belongie, "Beyond pairwise clustering", IEEE
    Conference on Computer Vision and Pattern Recognition, 2005.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import make_blobs
    >>> from scutc.baselines import CAVE
    >>> X, _ = make_blobs(n_samples=60, n_features=500, centers=3, random_state=0)
    >>> np.bincount(CAVE(3).fit_predict(X))
    array([20, 20, 20])
    """

    bandwidth: float = parameter(
        PositiveNumber(),
        "Width h of the triadic affinity, as a multiple of the median distance between two samples.",
        default=1.0,
    )

    def _compute_affinity(self, geometry: Geometry) -> NDArray[np.float64]:
        return np.maximum(average_cliques(sum_triples(geometry, self.bandwidth)), 0.0)


def sum_triples(geometry: Geometry, bandwidth: float) -> NDArray[np.float64]:
    """For each pair the sum of the affinities of all triples that it is in; 0 for a cell with itself."""
    # The affinity of a triple is the product of its three Gaussians, and its sum over the third cell a matrix product.
    gaussian = gaussian_affinity(geometry, bandwidth)
    sums = gaussian * (gaussian @ gaussian)
    return (sums + sums.T) / 2


def average_cliques(sums: NDArray[np.float64]) -> NDArray[np.float64]:
    """Least squares for (w_ij + w_jk + w_ik) / 3 = t_ijk over all triples, from s_ij = Σ_k t_ijk; of least norm.

    The normal equations are Σ_k (w_ij + w_jk + w_ik) = 3 s_ij. Three kinds of w are eigenvectors of their left-hand
    side: constants, a_i + a_j where the a add up to 0, and those whose every row adds up to 0. So s is taken apart into
    these and each part divided by its eigenvalue, which is quicker than a solver and needs no list of triples.
    """
    n_cells = len(sums)
    if n_cells < 3:
        return np.zeros_like(sums)
    between = ~np.eye(n_cells, dtype=bool)
    constant = np.where(between, sums.sum() / between.sum(), 0.0)
    excess = (sums - constant).sum(axis=1) / (n_cells - 2)
    by_cell = np.where(between, excess[:, None] + excess, 0.0)
    rest = sums - constant - by_cell
    weights = constant / (n_cells - 2)
    # With 3 or 4 cells an eigenvalue is 0: least norm leaves its part out.
    if n_cells > 3:
        weights += by_cell * 1.5 / (n_cells - 3)
    if n_cells > 4:
        weights += rest * 3 / (n_cells - 4)
    return weights
