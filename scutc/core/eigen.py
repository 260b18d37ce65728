"""The largest eigenvalues of symmetric matrices and their eigenvectors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import linalg
from scipy.sparse.linalg import ArpackError, aslinearoperator, eigsh

if TYPE_CHECKING:
    from numpy.typing import NDArray

# Up to this size a dense solver is as fast as an iterative one, and it always converges.
MAX_DENSE = 500
# Above this size a dense matrix does not fit the cache, and reading it takes most of the time of a product: so many
# vectors at once then cost hardly more than one.
MAX_CACHED = 1500
BLOCK = 16
# The space that such blocks span is first looked at when it has so many dimensions for each eigenpair, then whenever it
# has grown by this factor, and given up beyond the last number.
FIRST_LOOK, GROWTH, LAST_LOOK = 4, 1.25, 16
# Of the largest eigenvalue, in units of the precision: what is left of an eigenvalue of 0.
ROUNDING = 100


def leading_eigenpairs(
    matrix: Any, n_pairs: int, *, tolerance: float = 0.0, max_dense: int | None = None, in_blocks: bool = False
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
    in_blocks
        Multiply many vectors at once where the matrix is large: it takes more of them, which pays for a dense one.
    """
    size = matrix.shape[0]
    if size > (MAX_DENSE if max_dense is None else max_dense) and n_pairs < size:
        found = _block_krylov(matrix, n_pairs, tolerance) if in_blocks and size > MAX_CACHED else None
        if found is not None:
            return found
        start = np.random.default_rng(0).standard_normal(size).astype(matrix.dtype)
        try:
            values, vectors = eigsh(aslinearoperator(matrix), k=n_pairs, which="LA", v0=start, tol=tolerance)
            return values[::-1], vectors[:, ::-1]
        except ArpackError:  # no convergence, or nothing to find, as between identical cells
            pass
    dense = matrix.toarray() if hasattr(matrix, "toarray") else matrix
    return _dense_eigenpairs(dense, n_pairs)


def _dense_eigenpairs(matrix: NDArray[Any], n_pairs: int) -> tuple[NDArray[Any], NDArray[Any]]:
    size = len(matrix)
    try:
        values, vectors = linalg.eigh(matrix, subset_by_index=(size - n_pairs, size - 1))
    except linalg.LinAlgError:  # that driver may fail on many equal eigenvalues, as between duplicated cells
        values, vectors = linalg.eigh(matrix, driver="evd")
    return values[: -n_pairs - 1 : -1], vectors[:, : -n_pairs - 1 : -1]


def _block_krylov(matrix: Any, n_pairs: int, tolerance: float) -> tuple[NDArray[Any], NDArray[Any]] | None:
    """The same from the space of a random block and its products with powers of the matrix.

    ``None`` where residuals stay above the tolerance, as a part of the eigenvalues.
    """
    size = matrix.shape[0]
    max_dimensions = min(size, LAST_LOOK * n_pairs)
    basis = np.empty((size, max_dimensions), dtype=matrix.dtype, order="F")
    images = np.empty_like(basis)
    block = np.random.default_rng(0).standard_normal((size, BLOCK)).astype(matrix.dtype)
    n_dimensions, next_look = 0, FIRST_LOOK * n_pairs
    rounding = ROUNDING * np.finfo(matrix.dtype).eps
    while n_dimensions < max_dimensions and block.any():  # else no further vectors follow from these
        known = basis[:, :n_dimensions]
        block = block[:, : max_dimensions - n_dimensions]
        for _ in range(2):  # once leaves rounding errors that grow
            block = linalg.qr(block - known @ (known.T @ block), mode="economic", check_finite=False)[0]
        new = slice(n_dimensions, n_dimensions + block.shape[1])
        basis[:, new], images[:, new] = block, matrix @ block
        block, n_dimensions = images[:, new], new.stop
        if n_dimensions >= min(next_look, max_dimensions):
            next_look = GROWTH * n_dimensions
            values, vectors, residuals = _ritz_pairs(basis[:, : new.stop], images[:, : new.stop], n_pairs)
            # Eigenvalues of 0 have no relative error.
            if np.all(residuals <= np.maximum(tolerance * np.abs(values), rounding * np.abs(values).max())):
                return values, vectors
    return None


def _ritz_pairs(
    basis: NDArray[Any], images: NDArray[Any], n_pairs: int
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """The best eigenpairs in the span of orthonormal vectors, whose images are known, and the residuals' lengths."""
    values, mixtures = _dense_eigenpairs(basis.T @ images, n_pairs)
    vectors = basis @ mixtures
    return values, vectors, linalg.norm(images @ mixtures - vectors * values, axis=0)


def fix_signs(vectors: NDArray[np.float64]) -> NDArray[np.float64]:
    """Make each column's entry of largest magnitude positive: eigenvectors have no sign of their own."""
    largest = vectors[np.argmax(np.abs(vectors), axis=0), np.arange(vectors.shape[1])]
    return vectors * np.where(largest < 0, -1.0, 1.0)
