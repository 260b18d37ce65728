"""Degrees, and affinities divided by their roots."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

if TYPE_CHECKING:
    from numpy.typing import NDArray


def root_degrees(affinity: Any) -> NDArray[np.float64]:
    """Roots of the row sums of a dense or sparse matrix without negative entries."""
    return np.sqrt(np.asarray(affinity.sum(axis=1), dtype=np.float64))


def safe_inverse(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """One over each value, 0 where it is not positive."""
    return np.divide(1.0, values, out=np.zeros_like(values), where=values > 0)


def normalize(affinity: Any) -> Any:
    """D^-½ A D^-½, D the degrees (row sums) of A, dense or sparse: its largest eigenvalue is 1."""
    inverse_roots = safe_inverse(root_degrees(affinity)).astype(affinity.dtype)
    if sparse.issparse(affinity):
        # In the stored entries themselves: products with diagonal matrices would hold three copies at once.
        normalized = affinity.tocsr(copy=True)
        normalized.data *= np.repeat(inverse_roots, np.diff(normalized.indptr))
        normalized.data *= inverse_roots[normalized.indices]
        return normalized
    normalized = affinity * inverse_roots[:, None]
    normalized *= inverse_roots[None, :]
    return normalized
