"""What kind of values a matrix holds, as its first cells show."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from .core.blocks import is_dask, read_rows
from .core.warn import warn

# So many cells tell. They are the first ones, so that of a file no more is read, and of a Dask array its first chunks.
N_CELLS = 100
# No logarithm of a count or an intensity is larger, to whichever base.
LARGEST_LOGARITHM = 30

BINARY = "nothing but 0 and 1"
COUNTS = "whole numbers, as raw counts are"
SIGNED = "values below 0"
LARGE = f"values above {LARGEST_LOGARITHM}, as logarithms are not"
LOGARITHMS = "values of the size of logarithms"


def warn_of_counts(matrix: Any, where: str, *, layer: str | None = None, use_raw: bool = False) -> None:
    """Warn of whole numbers, which are to be transformed first.

    ``where`` says which matrix that is, ``layer`` and ``use_raw`` how it was chosen.
    """
    kind = kind_of_values(matrix)
    if kind == BINARY:
        warn(
            f"{where} holds {kind}, as binary data such as open regions (ATAC) do. For these TF-IDF and LSI are "
            "customary: write their coordinates to adata.obsm, and give the key as use_rep."
        )
    elif kind == COUNTS:
        warn(f"{where} holds {kind}, in which clusters are found much worse. {_how_to_transform(layer, use_raw)}")


def _how_to_transform(layer: str | None, use_raw: bool) -> str:
    """What to do about counts, so that counts that are kept stay."""
    if use_raw:
        return (
            "Leave use_raw out if adata.X is normalised and logarithmised, or set adata.raw to an AnnData in which "
            "adata.X is."
        )
    if layer is not None:
        other = f"{layer}_log_normalised"
        return (
            "Leave layer out if adata.X is normalised and logarithmised. Else do so in a copy, and give that:\n"
            f"    adata.layers[{other!r}] = adata.layers[{layer!r}].copy()\n"
            f"    sc.pp.normalize_total(adata, layer={other!r})\n    sc.pp.log1p(adata, layer={other!r})"
        )
    return "Normalise and logarithmise them first:\n    sc.pp.normalize_total(adata)\n    sc.pp.log1p(adata)"


def warn_of_other_values(new: Any, reference: Any, where: str) -> None:
    """Warn where new cells were not transformed as those of a reference; ``where`` says which matrix of either."""
    kind, wanted = kind_of_values(new), kind_of_values(reference)
    if kind is not None and wanted is not None and kind != wanted:
        warn(
            f"adata_new{where} holds {kind}, adata_ref{where} {wanted}. Cells are compared value by value: normalise "
            "and transform the new ones as the reference was."
        )


def kind_of_values(matrix: Any) -> str | None:
    """What a matrix holds, in words; ``None`` where that cannot be told, of zeros alone or values that are missing."""
    values = _first_values(matrix)
    if not np.isfinite(values).all() or not values.any():
        return None
    if (values < 0).any():
        return SIGNED
    if (values == np.rint(values)).all():
        return BINARY if values.max() == 1 else COUNTS
    return LARGE if values.max() > LARGEST_LOGARITHM else LOGARITHMS


def _first_values(matrix: Any) -> Any:
    rows = matrix[:N_CELLS]
    if is_dask(rows):
        rows = read_rows(rows, np.arange(rows.shape[0]))
    return rows.data if sparse.issparse(rows) else np.asarray(rows)
