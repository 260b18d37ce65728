"""Uniform tensor clustering of an AnnData."""

from __future__ import annotations

from collections.abc import Sequence
from inspect import signature
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

import numpy as np
import pandas as pd

from .._anndata import (
    check_adata,
    check_writable,
    column_names,
    identity_of_genes,
    parameters_to_record,
    place_of_matrix,
    read_matrix,
)
from .._colors import inherited_colors, label_colors
from .._estimator import UTC
from .._fields import (
    CLUSTERED,
    GENE_COLUMNS,
    check_fields,
    check_key,
    confidence_field,
    embedding_field,
    fields_of,
    gene_field,
    votes_field,
    write_result,
)
from .._parameters import check_names, check_parameters, describe, words_of
from .._validation import check_n_clusters, draw_seed
from .._values import warn_of_counts
from ..core.metric import AUTO, OF_COORDINATES
from ..core.warn import warn
from ._cells import Cells
from ._naming import named
from ._progress import progress_bar

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from anndata import AnnData
    from numpy.typing import NDArray

    from ..core.pipeline import Clustering


class _Unset(int):
    """A seed that the user did not choose, so that choosing both ``random_state`` and ``rng`` can be told."""


_DEFAULT_SEED = _Unset(0)
DEFAULT_KEY = "utc"
# Fewer cells are no sample of anything.
MIN_CLUSTER = 3


class Options(TypedDict, total=False):
    """What :func:`utc` takes besides what most users touch."""

    n_splits: int | str
    n_anchors: int | str | None
    n_pairs: int | str | None
    sharpness: float
    effective_rank: float
    affinity: str
    cosine: str
    weights: Mapping[int, float] | None
    solver_params: Mapping[str, float] | None
    rng: int | np.random.Generator | None


@describe(words_of(UTC), options=Options.__annotations__)
def utc(
    adata: AnnData,
    n_clusters: int | Sequence[int] | None = None,
    *,
    layer: str | None = None,
    use_raw: bool = False,
    use_rep: str | None = None,
    mask_var: str | NDArray[np.bool_] | None = None,
    restrict_to: tuple[str, Sequence[str]] | None = None,
    orders: Iterable[int] = UTC.orders,
    metric: str = UTC.metric,
    screen_genes: bool = UTC.screen_genes,
    n_neighbors: int = UTC.n_neighbors,
    n_landmarks: int | str | None = UTC.n_landmarks,
    solver: str = UTC.solver,
    key_added: str = DEFAULT_KEY,
    random_state: int | np.random.RandomState | np.random.Generator | None = _DEFAULT_SEED,
    n_jobs: int | None = None,
    copy: bool = False,
    **options: Unpack[Options],
) -> AnnData | None:
    """Cluster cells by uniform tensor clustering.

    Besides the similarity of two cells (order 2) it measures the angle at which a cell sees two others (order 3) and
    how two pairs of cells lie to each other (order 4), and fuses the three into one embedding, in which it clusters.
    It works on all genes, without PCA, and is meant for few cells with many genes. Beyond a few thousand cells
    landmarks stand for all of them, and the matrix is read in blocks of rows: it may be backed by a file or a Dask
    array.

    Parameters
    ----------
    adata
        Annotated data matrix, normalised and logarithmised as for other scanpy tools. In memory, backed, or with Dask
        arrays whose chunks hold whole rows.
    n_clusters
        Number of clusters. A sequence of numbers gives labels for each of them, cuts of the tree for the largest and so
        nested in each other; a run for one number alone may differ. With ``"ascent"`` and ``"admm"`` they are found in
        the columns for the largest. ``None`` estimates the number, from the spectral solver: the one up to 20 whose
        clusters come back best in halves of the genes and are best separated; one cluster, with a warning, where
        nothing comes back.
    layer
        Layer to use instead of ``adata.X``.
    use_raw
        Use ``adata.raw.X`` instead of ``adata.X``.
    use_rep
        Key of ``adata.obsm`` to use instead of ``adata.X``.
    mask_var
        Genes to use: a boolean array, or the name of a boolean column of ``adata.var``, for example
        ``"highly_variable"``. All genes by default.
    restrict_to
        Cluster some cells alone: a column of ``adata.obs`` and categories of it, for example ``("utc", ["3"])``. Their
        clusters are called ``"3,0"``, ``"3,1"``, …, those of several categories ``"3-5,0"``, …, and all other cells
        keep their label, as in :func:`scanpy.tl.leiden`. Embedding, confidence and votes of these are missing.
    key_added
        Key under which the results are written. With ``restrict_to`` it is ``"utc_R"`` by default. Results replace
        those of an earlier run under this key, with all fields that it wrote, changed since or not; what scutc did not
        write under this key is never overwritten.
    n_jobs
        Number of threads, by default ``scanpy.settings.n_jobs``. The result does not depend on it.
    copy
        Write to a copy and return it.

    Other Parameters
    ----------------
    rng
        A seed or a numpy generator, in place of ``random_state``.

    Returns
    -------
    ``None``, or the copy. Sets these fields:

    ``adata.obs[key_added]``
        Cluster of each cell, strings ``"0"``, ``"1"``, … by decreasing size. For a sequence of numbers of clusters
        ``adata.obs[f"{key_added}_{n_clusters}"]`` for each of them, and so for the two fields that follow.
    ``adata.obs[key_added + "_confidence"]``
        How sure each cell's label is, from 0 to 1.
    ``adata.obsm[key_added + "_votes"]``
        The clusters that all orders together find for each cell, each order alone, and each half of the genes; −1 for
        cells that were not looked at, which beyond a thousand are most.
    ``adata.obsm["X_" + key_added]``
        The fused embedding, with as many columns as clusters, at least 2.
    ``adata.var[key_added + "_informative"]``, ``adata.var[key_added + "_score"]``
        Where genes were screened: whether a gene shares structure with others, and the part of its variance that the
        structure of other genes explains; ``False`` and missing for genes that were not looked at.
    ``adata.uns[key_added]``
        A dictionary, with ``restrict_to`` about the cells that were clustered: ``params``; ``versions``, those of scutc
        and of what its numbers depend on; ``n_cells``, the number of all cells of ``adata``, clustered or not, and
        ``genes``, their number and a hash of their names, by which it is known whether the result still fits; ``tool``
        and ``fields``, by which scutc knows the fields that it wrote; ``n_clusters`` and ``n_clusters_method``
        (``"given"`` or how it was estimated, then with ``n_clusters_candidates``, their ``n_clusters_scores``,
        ``n_clusters_spread``, the standard deviation of these over halves of the genes, and ``n_clusters_reproduced``,
        the part of the labels' information that comes back in them); ``stability``, for each cluster how well it is
        found again in halves of the genes, from 0 to 1, a dictionary for several numbers of clusters; ``spectrum``, the
        eigenvalues of the fused operator; ``order_spectra``, those of each order alone; ``agreement``, for each order
        the adjusted Rand index between its own clustering and the fused one; ``tree``, how the clusters merge, the
        largest number of them where there are several, in the form of :func:`scipy.cluster.hierarchy.linkage`;
        ``kept_genes`` and ``score_of_noise``, where genes were screened: which of the selected ones cells were
        clustered by, and the score to be expected of noise; ``landmarks``, where there are any, the positions of these
        cells among the ``n_cells``: spectra, agreement and the estimated number are theirs then. For ``"ascent"`` and
        ``"admm"`` the spectra are what the columns of the embedding add to the objective, there is no agreement, and
        ``objective_history``, ``n_iter`` and ``converged`` tell how the solver went, and ``relative_gradient`` how far
        from a stationary point its answer is.
    ``adata.uns[f"{key_added}_{n_clusters}_colors"]``
        For a sequence of numbers: a cluster has the colour of the largest cluster in it when there are more of them.

    Examples
    --------
    >>> import scanpy as sc
    >>> import scutc
    >>> adata = sc.datasets.blobs(n_variables=200, n_centers=3, n_observations=90)
    >>> scutc.tl.utc(adata, n_clusters=3)
    >>> adata.obs["utc"].value_counts().to_list()
    [30, 30, 30]
    >>> adata.obsm["X_utc"].shape
    (90, 3)
    """
    # scanpy takes seconds to import, and whoever calls this has it already.
    from scanpy import logging as logg
    from scanpy import settings

    start = logg.info("computing uniform tensor clustering")
    names = [name for name in signature(utc).parameters if name != "options"]
    check_names(options, [*names, *Options.__annotations__], "utc")
    check_adata(adata)
    check_writable(adata)
    if restrict_to is not None and key_added == DEFAULT_KEY:
        key_added = f"{DEFAULT_KEY}_R"
    check_key(key_added)
    if copy and adata.isbacked:
        msg = "copy=True cannot copy the file behind a backed adata: leave copy out, or use adata.to_memory() first."
        raise ValueError(msg)
    matrix, mask = read_matrix(adata, layer=layer, use_raw=use_raw, use_rep=use_rep, mask_var=mask_var)
    cells = Cells.of(adata, restrict_to)
    if len(cells) < 2:
        msg = f"{cells.words}: clustering needs at least 2."
        raise ValueError(msg)
    numbers, several = _numbers_of_clusters(n_clusters, len(cells))
    columns = [f"{key_added}_{number}" for number in numbers] if several else [key_added]
    seed = _resolve_seed(random_state, options.pop("rng", None))
    n_jobs = settings.n_jobs if n_jobs is None else n_jobs
    if use_rep is not None:  # which has no genes to be screened or halved
        screen_genes, options["n_splits"] = False, 0
        metric = OF_COORDINATES if metric == AUTO else metric
    read = {
        "obs": None if restrict_to is None else restrict_to[0],
        "obsm": use_rep,
        "var": mask_var if isinstance(mask_var, str) and not use_raw else None,
    }
    check_fields(adata, key_added, fields_of(key_added, columns, votes=True, genes=screen_genes), read)
    model = UTC(
        n_clusters=max(numbers, default=None),
        orders=orders,
        metric=metric,
        screen_genes=screen_genes,
        n_neighbors=n_neighbors,
        n_landmarks=n_landmarks,
        solver=solver,
        random_state=seed,
        n_jobs=n_jobs,
        verbose=logg.hint,
        progress=progress_bar("utc"),
        **options,
    )
    check_parameters(model)
    matrix = cells.rows(matrix, n_jobs)
    selectors: dict[str, Any] = {"layer": layer, "use_raw": use_raw or None, "use_rep": use_rep}
    if use_rep is None:
        warn_of_counts(matrix, f"adata{place_of_matrix(selectors)}", layer=layer, use_raw=use_raw)
    selectors["mask_var"] = mask_var if isinstance(mask_var, str) else mask
    genes = column_names(adata, matrix, mask, selectors)
    names = adata.obs_names[cells.positions(np.arange(len(cells)))]
    with cells.named_in_errors(), named(names, None if use_rep is not None else genes):
        model.fit(matrix)

    cuts = {
        column: model._clustering if number == model.n_clusters_ else model.cut(number)
        for column, number in zip(columns, numbers or [model.n_clusters_], strict=True)
    }
    _warn_of_small_clusters(cuts)
    labels = {column: cells.labels(cut.labels) for column, cut in cuts.items()}
    description = _describe(
        model, list(cuts.values()), np.array(numbers) if several else n_clusters, selectors | cells.params
    )
    description["genes"] = identity_of_genes(genes)
    if model.landmarks_ is not None:
        description["landmarks"] = cells.positions(model.landmarks_)
    write_result(
        target := adata.copy() if copy else adata,
        key_added,
        CLUSTERED,
        obs=labels | {confidence_field(column): cells.spread(cut.confidence, np.nan) for column, cut in cuts.items()},
        obsm={embedding_field(key_added): cells.spread(model.embedding_, np.nan)}
        | {votes_field(column): cells.spread(cut.votes, -1) for column, cut in cuts.items()},
        uns=description,
        colors=_matched_colors(adata, labels) if several else {},
        var=_judged_genes(model, genes),
    )
    if model.kept_genes_ is not None and model.informative_genes_ is not None:
        kept, informative = np.count_nonzero(model.kept_genes_), np.count_nonzero(model.informative_genes_)
        logg.info(f"    kept {kept} of {len(model.kept_genes_)} genes, {informative} of them informative")
    if n_clusters is None:
        logg.info(f"    estimated {model.n_clusters_} clusters ({target.uns[key_added]['n_clusters_method']})")
    added = _added(key_added, columns, genes=model.kept_genes_ is not None)
    logg.info("    finished", time=start, deep="added\n    " + "\n    ".join(added))
    return target if copy else None


def _added(key: str, columns: list[str], *, genes: bool) -> list[str]:
    """A line for each field that was written."""
    of_genes = " and ".join(f"'{gene_field(key, column)}'" for column in GENE_COLUMNS)
    return [
        f"'{embedding_field(key)}', the fused embedding (adata.obsm)",
        *(f"'{column}', the cluster labels (adata.obs, categorical)" for column in columns),
        *(f"'{confidence_field(column)}', how sure they are (adata.obs)" for column in columns),
        *(f"'{votes_field(column)}', what orders and halves of the genes say (adata.obsm)" for column in columns),
        f"'{key}', parameters, spectra and agreement of the orders (adata.uns)",
        *([f"{of_genes} of each gene (adata.var)"] if genes else []),
    ]


def _warn_of_small_clusters(cuts: Mapping[str, Clustering]) -> None:
    sizes = {column: np.bincount(cut.labels) for column, cut in cuts.items()}
    small = {column: np.count_nonzero(each < MIN_CLUSTER) for column, each in sizes.items() if len(each) > 1}
    if found := [f"{n} of {len(sizes[column])} in adata.obs[{column!r}]" for column, n in small.items() if n]:
        warn(
            f"Clusters of fewer than {MIN_CLUSTER} cells: {', '.join(found)}. They may be outliers or doublets, or ask "
            "for fewer clusters: sc.tl.rank_genes_groups, for one, cannot test a cluster of a single cell."
        )


def _numbers_of_clusters(n_clusters: Any, n_cells: int) -> tuple[list[int], bool]:
    """The numbers of clusters that are asked for, none if one is to be estimated, and whether a sequence was given."""
    if n_clusters is None:
        return [], False
    several = isinstance(n_clusters, Sequence | np.ndarray) and not isinstance(n_clusters, str)
    several = several and getattr(n_clusters, "ndim", 1) > 0
    numbers = list(n_clusters) if several else [n_clusters[()] if isinstance(n_clusters, np.ndarray) else n_clusters]
    if not numbers:
        msg = "n_clusters is an empty sequence: give at least one number of clusters."
        raise ValueError(msg)
    for number in numbers:
        check_n_clusters(number, n_cells)
    return list(dict.fromkeys(map(int, numbers))), several


def _resolve_seed(
    random_state: int | np.random.RandomState | np.random.Generator | None, rng: int | np.random.Generator | None
) -> int | np.random.RandomState | np.random.Generator | None:
    if rng is None:
        return random_state
    if random_state is not _DEFAULT_SEED:
        msg = f"Both random_state={random_state!r} and rng={rng!r} are given: give one of them."
        raise TypeError(msg)
    try:
        return draw_seed(np.random.default_rng(rng))
    except (TypeError, ValueError) as error:
        msg = f"rng={rng!r} is neither a seed nor a numpy generator: {error}."
        raise ValueError(msg) from error


def _matched_colors(adata: AnnData, clusterings: dict[str, pd.Categorical]) -> dict[str, list[str]]:
    """Colours of nested clusterings: those of the finest, which the user may have chosen, and the others inherit."""
    finest, *coarser = sorted(clusterings, key=lambda column: -len(clusterings[column].categories))
    colors = {finest: label_colors(adata, finest, len(clusterings[finest].categories))}
    labelled = clusterings[finest].codes >= 0
    codes = {column: labels.codes[labelled].astype(np.intp) for column, labels in clusterings.items()}
    for fine, coarse in pairwise([finest, *coarser]):
        colors[coarse] = inherited_colors(codes[coarse], codes[fine], colors[fine])
    return colors


def _judged_genes(model: UTC, names: pd.Index) -> pd.DataFrame | None:
    """What goes to ``var``: how each gene was judged, if it was."""
    if model.informative_genes_ is None:
        return None
    genes = pd.DataFrame({"informative": model.informative_genes_, "score": model.gene_scores_}, index=names)
    return genes[~genes.index.duplicated()]


def _describe(model: UTC, cuts: list[Clustering], given: Any, selectors: dict[str, Any]) -> dict[str, Any]:
    """What goes to ``uns``: only what h5ad and zarr can hold, so no ``None`` and no integer keys.

    ``given`` is the number of clusters that was given, an array if it was a sequence.
    """
    single = np.ndim(given) == 0
    params = (
        parameters_to_record(model) | {"n_clusters": given if given is None or not single else int(given)} | selectors
    )
    per_order = {str(order): np.array([cut.agreement[order] for cut in cuts]) for order in cuts[0].agreement}
    stabilities = {str(len(cut.stability)): cut.stability for cut in cuts}
    result: dict[str, Any] = {
        "params": {name: value for name, value in params.items() if value is not None},
        "n_clusters": model.n_clusters_ if single else given,
        "n_clusters_method": "given" if model._model.estimate is None else model._model.estimate.rule,
        "spectrum": model.spectrum_,
        "order_spectra": {str(order): values for order, values in model.order_spectra_.items()},
        "agreement": {order: float(values[0]) if single else values for order, values in per_order.items()},
        "stability": cuts[0].stability if single else stabilities,
    }
    largest = max(cuts, key=lambda cut: len(cut.tree))
    if len(largest.tree):
        result["tree"] = largest.tree
    if model.kept_genes_ is not None:
        result["kept_genes"] = model.kept_genes_
        result["score_of_noise"] = model.score_of_noise_
    if model.objective_history_ is not None:
        result["objective_history"] = model.objective_history_
        result["n_iter"] = model.n_iter_
        result["converged"] = model.converged_
        result["relative_gradient"] = model.relative_gradient_
    if given is None:
        result["n_clusters_candidates"] = model.n_clusters_candidates_
        result["n_clusters_scores"] = model.n_clusters_scores_
        result["n_clusters_spread"] = model.n_clusters_spread_
        result["n_clusters_reproduced"] = model.n_clusters_reproduced_
    return result
