"""The one place that reads from and writes to AnnData."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from anndata import AnnData, ImplicitModificationWarning

from ._parameters import checks_of, words_of
from .core.blocks import check_readable, in_memory, is_out_of_memory, select_genes

if TYPE_CHECKING:
    from numpy.typing import NDArray

# Parameters of an estimator that say how it is to work, not what to find.
UNRECORDED = ("n_jobs", "verbose", "progress")
# What is written of each gene, and what those have that were not judged.
GENE_COLUMNS = {"informative": False, "score": np.nan}


def check_adata(adata: Any) -> None:
    """Raise unless this is an AnnData."""
    if not isinstance(adata, AnnData):
        msg = f"adata is a {type(adata).__name__}, not an AnnData. For plain arrays use scutc.UTC."
        raise TypeError(msg)


def check_writable(adata: AnnData) -> None:
    """Raise where a result cannot be written, before it is computed."""
    if adata.is_view and adata.isbacked:
        msg = "adata is a view of a backed AnnData, which nothing can be written to: use adata.to_memory() first."
        raise ValueError(msg)


def check_key(key: Any) -> None:
    """Raise unless results can be written, and read from a file again, under this key."""
    if not isinstance(key, str) or not key or "/" in key:
        msg = f"key_added={key!r} is not a non-empty string without '/'."
        raise ValueError(msg)


def read_matrix(
    adata: AnnData,
    *,
    layer: str | None = None,
    use_raw: bool = False,
    use_rep: str | None = None,
    mask_var: str | NDArray[np.bool_] | None = None,
) -> tuple[Any, NDArray[np.bool_] | None]:
    """The matrix that the selectors choose, in memory or not, ``adata.X`` by default, and the mask of its genes."""
    selectors = {"layer": layer, "use_raw": use_raw or None, "use_rep": use_rep}
    chosen = [f"{name}={value!r}" for name, value in selectors.items() if value is not None]
    if len(chosen) > 1:
        msg = f"Both {' and '.join(chosen)} choose the input: give one of them."
        raise ValueError(msg)
    if use_rep is not None and mask_var is not None:
        msg = f"mask_var selects genes, which use_rep={use_rep!r} does not have: give one of them."
        raise ValueError(msg)
    if use_raw and adata.raw is None:
        msg = "use_raw=True, but adata.raw is missing. Set adata.raw or leave use_raw out."
        raise ValueError(msg)

    matrix: Any
    if layer is not None:
        matrix = _lookup(adata.layers, layer, "layer", "adata.layers")
    elif use_rep is not None:
        matrix = _lookup(adata.obsm, use_rep, "use_rep", "adata.obsm")
    else:
        matrix = adata.raw.X if use_raw else adata.X
    matrix = _check_matrix(matrix)
    if mask_var is None:
        return matrix, None
    mask = _resolve_mask(adata.raw.var, mask_var, "adata.raw.var") if use_raw else _resolve_mask(adata.var, mask_var)
    return matrix[:, mask] if in_memory(matrix) else select_genes(matrix, np.flatnonzero(mask)), mask


def read_obs(adata: AnnData, column: str, name: str, hint: str = "") -> pd.Series:
    """A column of ``adata.obs``, asked for by the parameter of this name; the hint says what to do if it is missing."""
    return _lookup(adata.obs, column, name, "adata.obs", hint)


def read_result(adata: AnnData, key: str, *, or_transferred: bool = False) -> Mapping[str, Any]:
    """What :func:`scutc.tl.utc`, or if that will do :func:`scutc.tl.transfer`, wrote to ``adata.uns`` under a key."""
    check_adata(adata)
    found = {name: value for name, value in adata.uns.items() if isinstance(value, Mapping)}
    if "missing_genes" in found.get(key, {}):
        if or_transferred:
            return found[key]
        msg = (
            f"key={key!r} was transferred to these cells: use the AnnData on which scutc.tl.utc was run, the reference."
        )
        raise KeyError(msg)
    results = {name: value for name, value in found.items() if "spectrum" in value}
    if key not in results:
        there = ", ".join(map(repr, results)) or "none"
        msg = (
            f"key={key!r} is no result of scutc.tl.utc in adata.uns. There: {there}. "
            f"Run scutc.tl.utc(adata, key_added={key!r}) first."
        )
        raise KeyError(msg)
    return results[key]


def clusterings(key: str, result: Mapping[str, Any]) -> list[str]:
    """The columns of ``adata.obs`` that a result has: one, or one for each number of clusters."""
    if "n_clusters" not in result:
        return [key]  # transferred
    numbers = result["n_clusters"]
    return [f"{key}_{number}" for number in numbers] if np.ndim(numbers) else [key]


def choose_clustering(key: str, result: Mapping[str, Any], labels: str | None, name: str = "labels") -> str:
    """The column of clusters that is asked for, by the parameter of this name, or the only one."""
    columns = clusterings(key, result)
    if labels is None and len(columns) > 1:
        msg = f"key={key!r} has several clusterings: choose one with {name}=. Valid: {', '.join(map(repr, columns))}."
        raise ValueError(msg)
    return columns[0] if labels is None else labels


def read_labels(adata: AnnData, column: str, name: str = "labels") -> pd.Categorical:
    """A column of ``adata.obs`` as categories."""
    return pd.Categorical(read_obs(adata, column, name, hint="Clusters are there after scutc.tl.utc."))


def read_recorded_matrix(adata: AnnData, result: Mapping[str, Any], *, all_genes: bool = False) -> tuple[Any, pd.Index]:
    """The matrix that was clustered, according to a result in ``adata.uns``, and the names of its columns.

    With ``all_genes`` those of another AnnData, that may have other genes, which the recorded masks do not fit.
    """
    params = result["params"]
    use_raw, use_rep = bool(params.get("use_raw", False)), params.get("use_rep")
    mask_var = None if all_genes else params.get("mask_var")
    matrix, mask = read_matrix(adata, layer=params.get("layer"), use_raw=use_raw, use_rep=use_rep, mask_var=mask_var)
    if use_rep is not None:
        return matrix, pd.RangeIndex(matrix.shape[1])
    names = adata.raw.var_names if use_raw else adata.var_names
    names = names if mask is None else names[mask]
    if all_genes or "kept_genes" not in result:
        return matrix, names
    kept = np.flatnonzero(result["kept_genes"])
    return select_genes(matrix, kept), names[kept]


def parameters_to_record(model: Any) -> dict[str, Any]:
    """The parameters of a fitted estimator, with what was made of them, as h5ad and zarr can hold them."""
    # Neither these nor None, which is left out further on, can be written, and the result does not depend on them.
    params = {name: value for name, value in model.get_params().items() if name not in UNRECORDED}
    params |= {"orders": np.array(model.orders_), "metric": model.metric_, "random_state": model.seed_}
    for name, value in params.items():
        if isinstance(value, Mapping):
            params[name] = {str(key): each for key, each in value.items()}
    return params


def recorded_parameters(params: Mapping[str, Any], estimator: type) -> dict[str, Any]:
    """The parameters of an estimator that were recorded, to be given to it again."""
    parameters = {name: params[name] for name in words_of(estimator) if name in params and name not in UNRECORDED}
    for name, check in checks_of(estimator).items():
        if name not in params and name not in UNRECORDED and _allows_none(check):
            parameters[name] = None  # which was not written
    if "weights" in params:
        parameters["weights"] = {int(order): float(weight) for order, weight in params["weights"].items()}
    return parameters


def _allows_none(check: Callable[[str, Any], None]) -> bool:
    try:
        check("", None)
    except (TypeError, ValueError):
        return False
    return True


def _lookup(mapping: Any, key: str, name: str, where: str, hint: str = "") -> Any:
    if key not in mapping:
        # From anndata 0.13 on, X is the layer None.
        valid = ", ".join(repr(other) for other in mapping if other is not None)
        msg = f"{name}={key!r} is not in {where}. Valid: {valid or 'none, it is empty'}. {hint}"
        raise KeyError(msg.strip())
    return mapping[key]


def _resolve_mask(
    var: pd.DataFrame, mask_var: str | pd.Series | NDArray[np.bool_], where: str = "adata.var"
) -> NDArray[np.bool_]:
    if isinstance(mask_var, str):
        mask = np.array(_lookup(var, mask_var, "mask_var", where))
    else:
        if isinstance(mask_var, pd.Series) and not mask_var.index.equals(var.index):
            msg = f"The index of mask_var is not that of {where}: give it the same genes in the same order."
            raise ValueError(msg)
        mask = np.array(mask_var)
    if mask.dtype != bool or mask.shape != (len(var),):
        msg = f"mask_var must be {len(var)} booleans, one per gene of {where}, not {mask.dtype} of shape {mask.shape}."
        raise ValueError(msg)
    if not mask.any():
        msg = "mask_var selects none of the genes."
        raise ValueError(msg)
    return mask


def _check_matrix(matrix: Any) -> Any:
    if matrix is None:
        msg = "adata.X is missing. Choose another input with layer=, use_raw= or use_rep=."
        raise ValueError(msg)
    if isinstance(matrix, pd.DataFrame):
        matrix = matrix.to_numpy()
    if not in_memory(matrix) and not is_out_of_memory(matrix):
        msg = (
            f"A matrix of type {type(matrix).__name__} is not supported: use a numpy array, a scipy sparse matrix, a "
            "Dask array or a backed AnnData."
        )
        raise NotImplementedError(msg)
    if matrix.dtype.kind not in "biuf":
        msg = f"The matrix holds {matrix.dtype}, not numbers: convert it, for example with adata.X.astype('float32')."
        raise ValueError(msg)
    check_readable(matrix)
    return matrix


def numbered_categories(codes: NDArray[np.intp]) -> pd.Categorical:
    """Labels by scanpy's convention, the categories "0", "1" and so on."""
    return pd.Categorical.from_codes(codes, categories=[str(code) for code in range(codes.max() + 1)])


def write_result(
    adata: AnnData,
    key: str,
    *,
    obs: Mapping[str, pd.Categorical | NDArray[np.float64]],
    obsm: Mapping[str, NDArray[Any]],
    uns: dict[str, Any],
    colors: Mapping[str, list[str]] = MappingProxyType({}),
    var: pd.DataFrame | None = None,
) -> None:
    """Write columns of ``obs`` and ``var``, arrays of ``obsm`` and ``uns[key]``, and drop what no longer fits.

    ``colors`` are those of columns of ``obs``, for which scanpy's own would not do.
    ``var`` are the genes' columns, named without the key; genes that it does not have get what is missing.
    """
    with warnings.catch_warnings():
        # Writing to a view makes it an object of its own: what is wanted here.
        warnings.simplefilter("ignore", ImplicitModificationWarning)
        for name, array in obsm.items():
            adata.obsm[name] = array
        adata.uns[key] = uns
        for name, missing in GENE_COLUMNS.items():
            if var is not None:
                adata.var[f"{key}_{name}"] = var[name].reindex(adata.var_names, fill_value=missing).to_numpy()
            elif f"{key}_{name}" in adata.var:  # of an earlier result
                del adata.var[f"{key}_{name}"]
        for name, values in obs.items():
            adata.obs[name] = values
            stored = adata.uns.get(f"{name}_colors")
            if name in colors:
                adata.uns[f"{name}_colors"] = colors[name]
            elif stored is not None and isinstance(values, pd.Categorical) and len(stored) != len(values.categories):
                del adata.uns[f"{name}_colors"]
