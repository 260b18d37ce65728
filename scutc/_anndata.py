"""The one place that reads from AnnData: the matrix, labels, and results with what is known of them."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
import pandas as pd
from anndata import AnnData

from ._fields import CLUSTERED, TRANSFERRED, embedding_field, tool_of
from ._parameters import checks_of, words_of
from .core.blocks import check_readable, in_memory, is_out_of_memory, select_genes
from .core.warn import warn

if TYPE_CHECKING:
    from numpy.typing import NDArray

# Parameters of an estimator that say how it is to work, not what to find.
UNRECORDED = ("n_jobs", "verbose", "progress")


def check_adata(adata: Any) -> None:
    """Raise unless this is an AnnData."""
    if type(adata).__module__.partition(".")[0] == "mudata":
        valid = ", ".join(map(repr, getattr(adata, "mod", {})))
        msg = f'adata is a MuData: give one of its modalities, for example mdata["rna"]. Valid: {valid or "none"}.'
        raise TypeError(msg)
    if not isinstance(adata, AnnData):
        msg = f"adata is a {type(adata).__name__}, not an AnnData. For plain arrays use scutc.UTC."
        raise TypeError(msg)


def check_writable(adata: AnnData) -> None:
    """Raise where a result cannot be written, before it is computed."""
    if adata.is_view and adata.isbacked:
        msg = "adata is a view of a backed AnnData, which nothing can be written to: use adata.to_memory() first."
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


def read_embedding(adata: AnnData, key: str, whose: str = "adata") -> NDArray[np.float64]:
    """The embedding of the result under a key; ``whose`` is the parameter that the AnnData was given as."""
    name = embedding_field(key)
    if name not in adata.obsm:
        msg = f"{whose}.obsm[{name!r}], the embedding of key={key!r}, is missing: run scutc.tl.utc again to have it."
        raise KeyError(msg)
    return np.asarray(adata.obsm[name])


def read_result(adata: AnnData, key: str, *, or_transferred: bool = False, whose: str = "adata") -> Mapping[str, Any]:
    """What :func:`scutc.tl.utc`, or if that will do :func:`scutc.tl.transfer`, wrote to ``uns`` under a key.

    ``whose`` is the parameter that the AnnData was given as.
    """
    check_adata(adata)
    tools = {name: tool for name in adata.uns if (tool := tool_of(adata, name)) is not None}
    if tools.get(key) == TRANSFERRED and not or_transferred:
        msg = (
            f"key={key!r} was transferred to these cells: use the AnnData on which scutc.tl.utc was run, the reference."
        )
        raise KeyError(msg)
    if key not in tools:
        there = ", ".join(repr(name) for name, tool in tools.items() if tool == CLUSTERED) or "none"
        msg = (
            f"key={key!r} is no result of scutc.tl.utc in {whose}.uns. There: {there}. "
            f"Run scutc.tl.utc({whose}, key_added={key!r}) first, or scutc run --key-added {key} on its file."
        )
        raise KeyError(msg)
    result: Mapping[str, Any] = adata.uns[key]
    return result


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


def is_restricted(result: Mapping[str, Any]) -> bool:
    """Whether only cells of some categories were clustered."""
    return "restrict_to" in result["params"]


def recorded_names(result: Mapping[str, Any], n_clusters: int) -> list[str]:
    """The names that a result gave to so many clusters."""
    return cluster_names(n_clusters, result["params"]["restrict_to"]["categories"] if is_restricted(result) else ())


def cluster_names(n_clusters: int, parents: Sequence[str] = ()) -> list[str]:
    """Names by scanpy's convention: "0", "1" and so on; of parts of a cluster "3,0", of several together "3-5,0"."""
    prefix = f"{'-'.join(parents)}," if len(parents) else ""
    return [f"{prefix}{number}" for number in range(n_clusters)]


def read_recorded_matrix(
    adata: AnnData, key: str, result: Mapping[str, Any], *, in_part: bool = False
) -> tuple[Any, pd.Index]:
    """The matrix that was clustered, according to a result in ``adata.uns``, and the names of its columns.

    The one place that says where a result no longer fits: raises if genes were removed, added or moved since, and warns
    if cells were. With ``in_part`` these may, as long as nothing was recorded by the positions of genes.
    """
    params = result["params"]
    mask_var = params.get("mask_var")
    all_names = _gene_names(adata, params)
    masked_by_position = mask_var is not None and not isinstance(mask_var, str)
    if masked_by_position and len(mask_var) != len(all_names):
        _raise_other_genes(key, result, len(all_names))
    matrix, mask = read_matrix(adata, **_selectors(params), mask_var=mask_var)
    names = column_names(adata, matrix, mask, params)
    by_position = masked_by_position or "kept_genes" in result
    if (by_position or not in_part) and identity_of_genes(names) != result["genes"]:
        _raise_other_genes(key, result, len(names))
    if not in_part and adata.n_obs != result["n_cells"]:
        warn(
            f"key={key!r} is a result for {result['n_cells']} cells, and adata has {adata.n_obs} now: what is computed "
            "again is for these, and what was recorded, such as agreements, for those. Run scutc.tl.utc again for a "
            "result that fits."
        )
    if "kept_genes" not in result:
        return matrix, names
    kept = np.flatnonzero(result["kept_genes"])
    return select_genes(matrix, kept), names[kept]


def _raise_other_genes(key: str, result: Mapping[str, Any], n_genes: int) -> NoReturn:
    msg = (
        f"key={key!r} is a result for {result['genes']['number']} genes, and there are {n_genes} now, not the same or "
        "in another order. Run scutc.tl.utc again, or use the AnnData with all of its genes."
    )
    raise ValueError(msg)


def read_matrix_alike(adata: AnnData, result: Mapping[str, Any]) -> tuple[Any, pd.Index]:
    """The same matrix of new cells, ``adata_new``, with all of its genes, and the names of its columns."""
    if result["params"].get("use_raw") and adata.raw is None:
        msg = (
            "The reference was read from adata_ref.raw, and adata_new.raw is missing: if adata_new.X has such values, "
            "set adata_new.raw = adata_new."
        )
        raise ValueError(msg)
    matrix, _ = read_matrix(adata, **_selectors(result["params"]))
    return matrix, column_names(adata, matrix, None, result["params"])


def column_names(adata: AnnData, matrix: Any, mask: NDArray[np.bool_] | None, params: Mapping[str, Any]) -> pd.Index:
    """Names of the columns of a matrix that was read with these parameters; numbers, if they are no genes."""
    if params.get("use_rep") is not None:
        return pd.RangeIndex(matrix.shape[1])
    names = _gene_names(adata, params)
    return names if mask is None else names[mask]


def identity_of_genes(names: pd.Index) -> dict[str, Any]:
    """How many genes there are, and what changes if one of them has another name or another place."""
    text = "\0".join(map(str, names)).encode("utf-8", "surrogatepass")
    return {"number": len(names), "hash": hashlib.sha256(text).hexdigest()[:16]}


def _gene_names(adata: AnnData, params: Mapping[str, Any]) -> pd.Index:
    return adata.raw.var_names if params.get("use_raw") and adata.raw is not None else adata.var_names


def place_of_matrix(params: Mapping[str, Any]) -> str:
    """Where in an AnnData the matrix of genes that these parameters choose lies, for messages: ``.X``, for example."""
    if params.get("layer") is not None:
        return f".layers[{params['layer']!r}]"
    return ".raw.X" if params.get("use_raw") else ".X"


def _selectors(params: Mapping[str, Any]) -> dict[str, Any]:
    use_raw = bool(params.get("use_raw", False))
    return {"layer": params.get("layer"), "use_raw": use_raw, "use_rep": params.get("use_rep")}


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
