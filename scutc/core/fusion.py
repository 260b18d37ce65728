"""From an affinity per order to one embedding: spectra made comparable, then added."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import linalg, sparse
from scipy.optimize import brentq
from scipy.sparse.linalg import LinearOperator

from .eigen import fix_signs, leading_eigenpairs
from .normalization import normalize, root_degrees

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

# Eigenvalues below this part of the largest one are rounding noise.
NEGLIGIBLE = 1e-10
# With few cells an order may have no more positive eigenvalues than its effective rank: all would be raised to 1 and
# the strong directions lost among the weak. So the rank is at most this part of their number.
MAX_PART_OF_POSITIVE = 2 / 3
# Relative; the iterative solvers' eigenvectors are far better than this asks for the leading ones.
EIGENVALUE_TOLERANCE = 1e-3


@dataclass(frozen=True, eq=False)
class Spectrum:
    """The leading eigenvalues of a degree-normalised affinity, largest first, and their eigenvectors.

    The trivial eigenvector, which only says how well connected a cell is, is left out.
    """

    values: NDArray[np.float64]
    vectors: NDArray[np.float64]


def decompose(affinity: Any, n_components: int) -> Spectrum:
    """Leading eigenpairs of D^-½ A D^-½ without the trivial one, D the degrees (row sums) of A, dense or sparse."""
    roots = root_degrees(affinity)
    n_components = min(n_components, len(roots) - 1)
    if n_components == 0 or not roots.any():
        return Spectrum(np.zeros(n_components), np.zeros((len(roots), n_components)))
    # Taking the trivial eigenvector off, not skipping the first one found: where the affinity falls into separate
    # components the eigenvalue 1 is multiple and the first vector found could be any mixture of theirs.
    trivial = (roots / (linalg.norm(roots))).astype(affinity.dtype)
    deflated = Deflated(normalize(affinity), trivial)
    values, vectors = leading_eigenpairs(
        deflated, n_components, tolerance=EIGENVALUE_TOLERANCE, in_blocks=not sparse.issparse(affinity)
    )
    return Spectrum(np.maximum(values, 0.0).astype(np.float64), vectors.astype(np.float64))


class Deflated(LinearOperator):
    """A matrix with the eigenvalue 1 of one eigenvector turned to −1.

    To −1 and not to 0, so that it comes after all others, negative ones too.
    """

    def __init__(self, matrix: Any, vector: NDArray[Any]) -> None:
        super().__init__(matrix.dtype, matrix.shape)
        self._matrix = matrix
        self._vector = vector

    def _matvec(self, vector: NDArray[Any]) -> NDArray[Any]:
        return self._matrix @ vector - 2 * self._vector * (self._vector @ vector)

    def _matmat(self, vectors: NDArray[Any]) -> NDArray[Any]:
        return self._matrix @ vectors - 2 * np.outer(self._vector, self._vector @ vectors)

    def toarray(self) -> NDArray[Any]:
        """The same as a dense array."""
        dense = self._matrix.toarray() if sparse.issparse(self._matrix) else self._matrix
        return (dense + dense.T) / 2 - 2 * np.outer(self._vector, self._vector)


def equalize(values: NDArray[np.float64], effective_rank: float) -> NDArray[np.float64]:
    """φ: eigenvalues divided by the largest and raised to the power at which they add up to ``effective_rank``.

    Spectra of different orders differ wildly, a sparse local graph has many eigenvalues near 1 and a dense angular
    one few: a plain sum of them would be just the flattest one.
    """
    if not len(values) or values[0] <= NEGLIGIBLE:
        return np.zeros_like(values)
    relative = values / values[0]
    positive = relative > NEGLIGIBLE
    effective_rank = min(effective_rank, max(1.0, MAX_PART_OF_POSITIVE * np.count_nonzero(positive)))
    logarithms = np.log(relative[positive])

    def surplus(power: float) -> float:
        return float(np.exp(power * logarithms).sum()) - effective_rank

    strongest = 1e3
    if surplus(0.0) <= 0:
        power = 0.0
    elif surplus(strongest) >= 0:
        power = strongest
    else:
        power = float(brentq(surplus, 0.0, strongest))
    equalized = np.zeros_like(values)
    equalized[positive] = np.exp(power * logarithms)
    return equalized


@dataclass(frozen=True, eq=False)
class FusedEmbedding:
    """Eigenvectors of the fused operator times its eigenvalues, and these eigenvalues, largest first."""

    points: NDArray[np.float64]
    spectrum: NDArray[np.float64]


def fuse(
    spectra: Sequence[Spectrum], weights: Sequence[float], effective_rank: float, n_components: int
) -> FusedEmbedding:
    """Maximise Σ_p w_p ⟨φ(A_p), V Vᵀ⟩ over orthonormal V: the eigenvectors of the weighted mean of φ(A_p)."""
    factor = np.hstack(
        [
            spectrum.vectors * np.sqrt(weight / sum(weights) * equalize(spectrum.values, effective_rank))
            for spectrum, weight in zip(spectra, weights, strict=True)
        ]
    )
    # The weighted mean of φ(A_p) is factor @ factor.T; its eigenvectors follow from the small factor.T @ factor.
    values, rotation = leading_eigenpairs(factor.T @ factor, factor.shape[1])
    values = np.maximum(values, 0.0)
    n_found = min(n_components, len(values))
    points = np.zeros((len(factor), n_components))
    points[:, :n_found] = factor @ rotation[:, :n_found] * np.sqrt(values[:n_found])
    return FusedEmbedding(fix_signs(points), values)
