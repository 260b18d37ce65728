"""What kind of values a matrix holds, as its first cells show."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from .core.blocks import is_dask
from .core.warn import warn

# So many cells tell. They are the first ones, so that of a file no more is read, and of a Dask array its first chunks.
N_CELLS = 100


def warn_of_counts(matrix: Any, where: str) -> None:
    """Warn of whole numbers, which are to be transformed first; ``where`` says which matrix that is."""
    values = _first_values(matrix)
    if not np.isfinite(values).all() or (values < 0).any() or (values != np.rint(values)).any():
        return
    match values.max(initial=0):
        case 0:
            return
        case 1:
            warn(
                f"{where} holds nothing but 0 and 1, as binary data such as open regions (ATAC) do. For these TF-IDF "
                "and LSI are customary: write their coordinates to adata.obsm, and give the key as use_rep."
            )
        case _:
            warn(
                f"{where} holds whole numbers, as raw counts are, in which clusters are found much worse. Normalise "
                "and logarithmise them first:\n    sc.pp.normalize_total(adata)\n    sc.pp.log1p(adata)"
            )


def _first_values(matrix: Any) -> Any:
    rows = matrix[:N_CELLS]
    if not is_dask(rows):
        return rows.data if sparse.issparse(rows) else np.asarray(rows)
    import dask

    # By chunks, since not every version of Dask can put sparse ones together.
    chunks = dask.compute(*rows.to_delayed().ravel())
    return np.concatenate([_first_values(chunk).ravel() for chunk in chunks])
