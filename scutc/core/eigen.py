"""The largest eigenvalues of symmetric matrices and their eigenvectors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import linalg
from scipy.sparse.linalg import ArpackError, aslinearoperator, eigsh

if TYPE_CHECKING:
    from numpy.typing import NDArray

# Up to this size a dense solver is as fast as an iterative one, and it always converges.
MAX_DENSE = 1000


def leading_eigenpairs(
    matrix: Any, n_pairs: int, *, tolerance: float = 0.0, max_dense: int | None = None
) -> tuple[NDArray[Any], NDArray[Any]]:
    """The largest eigenvalues, largest first, and their eigenvectors as columns.

    Parameters
    ----------
    matrix
        Symmetric: a dense or sparse matrix, or a ``LinearOperator`` with a method ``toarray``.
    n_pairs
        Number of eigenpairs, at most the size of the matrix.
    tolerance
        Relative error of the eigenvalues that an iterative solver may leave; 0 is that of the machine.
    max_dense
        Largest size for a dense solver.
    """
    size = matrix.shape[0]
    if size > (MAX_DENSE if max_dense is None else max_dense) and n_pairs < size:
        start = np.random.default_rng(0).standard_normal(size).astype(matrix.dtype)
        try:
            values, vectors = eigsh(aslinearoperator(matrix), k=n_pairs, which="LA", v0=start, tol=tolerance)
            return values[::-1], vectors[:, ::-1]
        except ArpackError:  # no convergence, or nothing to find, as between identical cells
            pass
    dense = matrix.toarray() if hasattr(matrix, "toarray") else matrix
    try:
        values, vectors = linalg.eigh(dense, subset_by_index=(size - n_pairs, size - 1))
    except linalg.LinAlgError:  # that driver may fail on many equal eigenvalues, as between duplicated cells
        values, vectors = linalg.eigh(dense, driver="evd")
    return values[: -n_pairs - 1 : -1], vectors[:, : -n_pairs - 1 : -1]


def fix_signs(vectors: NDArray[np.float64]) -> NDArray[np.float64]:
    """Make each column's entry of largest magnitude positive: eigenvectors have no sign of their own."""
    largest = vectors[np.argmax(np.abs(vectors), axis=0), np.arange(vectors.shape[1])]
    return vectors * np.where(largest < 0, -1.0, 1.0)
