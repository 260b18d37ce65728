"""Labels and embedding for new cells."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from .._anndata import (
    check_adata,
    check_writable,
    choose_clustering,
    is_restricted,
    place_of_matrix,
    read_embedding,
    read_labels,
    read_matrix_alike,
    read_recorded_matrix,
    read_result,
)
from .._fields import (
    CLUSTERED,
    TRANSFERRED,
    check_fields,
    check_key,
    confidence_field,
    embedding_field,
    fields_of,
    tool_of,
    typicality_field,
    write_result,
)
from .._validation import check_n_jobs, check_share
from .._values import warn_of_other_values
from ..core.blocks import check_finite, read_rows
from ..core.extension import Rule, Speakers
from ..core.sampling import draw_in_proportion
from ._naming import named
from ._progress import progress_bar

if TYPE_CHECKING:
    from anndata import AnnData
    from numpy.typing import NDArray

# Of a larger reference a sample speaks: its labels in proportion, but of each at least so many cells.
MAX_REFERENCE_CELLS = 20_000
MIN_CELLS_PER_LABEL = 50


def transfer(
    adata_new: AnnData,
    adata_ref: AnnData,
    key: str = "utc",
    *,
    labels: str | None = None,
    key_added: str | None = None,
    min_shared_genes: float = 0.5,
    min_confidence: float | None = None,
    min_typicality: float | None = None,
    n_jobs: int | None = None,
) -> None:
    """Give new cells the clusters and the embedding of a reference.

    Each new cell gets a weighted mean of the embedding of its nearest cells in the reference, by the genes that both
    have, and of their labels the one whose mean profile is most like its own. It is the rule by which
    :func:`scutc.tl.utc` places cells by their nearest landmarks, but here all cells of the reference speak, landmarks
    or not. The matrix of the new cells is read as that of the reference was, for example from the same layer, and must
    be normalised the same way; from ``obsm`` it must be in the same coordinates, such as those of one PCA.

    Every cell gets a label, be it of a kind that the reference lacks or not, and the vote may still be unanimous. That
    a cell is unlike the cells of its label shows in its typicality: look at it, or let ``min_typicality`` leave such
    cells without a label. In halves of data sets, with a type of cells missing from one of them, 0.05 found 31 % of
    these and took the label from 3 % of the others. Where the new cells differ from the reference as a whole, for
    example in depth, few are typical of anything, and half of the others lost their label, too.

    Parameters
    ----------
    adata_new
        New cells, in memory, backed, or with Dask arrays whose chunks hold whole rows.
    adata_ref
        Cells with a result of :func:`scutc.tl.utc`, and still with the matrix that it was made of. Of more than 20 000
        cells a sample speaks, in proportion to the labels, with at least 50 cells of each. A cell that speaks gets what
        it has if it is among the new ones.
    key
        Key of the result, ``key_added`` of :func:`scutc.tl.utc`.
    labels
        Column of ``adata_ref.obs`` to transfer, for example names that were given to the clusters; the clusters by
        default. Cells of the reference without a label are left out.
    key_added
        Key under which the results are written, ``key`` by default. They replace what an earlier transfer wrote under
        it; what scutc did not write under this key is never overwritten.
    min_shared_genes
        Raise where fewer than this part of the reference's genes are among the new cells' genes.
    min_confidence
        Leave cells without a label whose label gets less than this share of the vote. By default none.
    min_typicality
        Leave cells without a label whose typicality is below this, for example 0.05. By default none.
    n_jobs
        Number of threads, by default ``scanpy.settings.n_jobs``.

    Returns
    -------
    ``None``. Sets these fields:

    ``adata_new.obs[key_added]``
        Label of each cell, with the categories of the reference; missing where it was not to be confident or typical.
    ``adata_new.obs[key_added + "_confidence"]``
        Share of the vote that the label got, up to 1.
    ``adata_new.obs[key_added + "_typicality"]``
        The part of the reference's cells that lie as far from the mean of their label's other cells as this one does
        from that of its label, from nearly 0 to 1. Of cells like those of the reference one in twenty is below 0.05.
    ``adata_new.obsm["X_" + key_added]``
        Where the cells lie in the reference's fused embedding.
    ``adata_new.uns[key_added]``
        A dictionary: ``params``, ``n_shared_genes`` and ``missing_genes``, those of the reference that are not there;
        ``versions``, ``n_cells``, ``tool`` and ``fields`` as from :func:`scutc.tl.utc`.

    Examples
    --------
    >>> import scanpy as sc
    >>> import scutc
    >>> adata = sc.datasets.blobs(n_variables=200, n_centers=3, n_observations=120)
    >>> reference, new = adata[:90].copy(), adata[90:].copy()
    >>> scutc.tl.utc(reference, n_clusters=3)
    >>> scutc.tl.transfer(new, reference)
    >>> new.obs["utc"].cat.categories.to_list()
    ['0', '1', '2']
    >>> new.obsm["X_utc"].shape
    (30, 3)
    """
    from scanpy import logging as logg
    from scanpy import settings

    start = logg.info("transferring uniform tensor clustering to new cells")
    check_adata(adata_new)
    check_writable(adata_new)
    key_added = key if key_added is None else key_added
    check_key(key_added)
    if adata_new is adata_ref:
        msg = "adata_new and adata_ref are the same object, which has its labels already: give the new cells first."
        raise ValueError(msg)
    if adata_new.n_obs == 0:
        msg = "adata_new has 0 cells: there is none to label."
        raise ValueError(msg)
    if tool_of(adata_new, key_added) == CLUSTERED:
        msg = (
            f"adata_new has a clustering {key_added!r} of its own, which would be lost: choose another key_added. Or "
            "are the arguments in the wrong order? The new cells come first, then the reference."
        )
        raise ValueError(msg)
    check_share("min_shared_genes", min_shared_genes)
    thresholds = {"min_confidence": min_confidence, "min_typicality": min_typicality}
    for name, value in thresholds.items():
        if value is not None:
            check_share(name, value)
    check_n_jobs("n_jobs", n_jobs)
    result = read_result(adata_ref, key, whose="adata_ref")
    params = result["params"]
    if is_restricted(result):
        msg = (
            f"key={key!r} is a result for a part of the cells alone. To transfer labels of all cells, take the key of "
            f"a result for all of them, with labels={key!r}."
        )
        raise ValueError(msg)
    fields = fields_of(key_added, [key_added], typicality=True)
    check_fields(adata_new, key_added, fields, {"obsm": params.get("use_rep")}, "adata_new")
    column = choose_clustering(key, result, labels)
    clusters = read_labels(adata_ref, column)
    if clusters.categories.dtype.kind == "f":
        msg = f"labels={column!r} holds numbers, not labels: choose a column of categories."
        raise ValueError(msg)
    embedding = read_embedding(adata_ref, key, "adata_ref")
    reference, genes = read_recorded_matrix(adata_ref, key, result, in_part=True)
    new, new_genes = read_matrix_alike(adata_new, result)
    if "use_rep" in params and len(genes) != len(new_genes):
        msg = (
            f"obsm[{params['use_rep']!r}] has {len(genes)} columns in adata_ref and {len(new_genes)} in adata_new: "
            "both must be in the same coordinates."
        )
        raise ValueError(msg)
    shared = _shared_genes(genes, new_genes, min_shared_genes)
    missing = genes.difference(shared, sort=False)
    if len(missing):
        logg.warning(f"{len(missing)} of the reference's {len(genes)} genes are missing from the new cells: left out")

    n_jobs = settings.n_jobs if n_jobs is None else n_jobs
    # All labelled cells of the reference speak, landmarks or not, so that renamed or merged labels are transferred.
    speaking = _choose_speakers(clusters, int(params["random_state"]))
    coordinates = "use_rep" in params  # which have no names
    with named(adata_ref.obs_names, None if coordinates else shared, "adata_ref"):
        rows = read_rows(reference, speaking, n_jobs)[:, genes.get_indexer(shared)]
        check_finite(rows, speaking)
        columns = new_genes.get_indexer(shared)
        rule = Rule.of(rows, params["metric"], int(params["n_neighbors"]), n_jobs, speaking, columns)
        codes = clusters.codes[speaking].astype(np.intp)
        speakers = Speakers.of(rule, rows, codes, len(clusters.categories))
        typicality_of = speakers.typicality(rows)
        if min_typicality is not None and not len(typicality_of.own):
            msg = f"min_typicality={min_typicality} has nothing to compare with: no label has two cells. Leave it out."
            raise ValueError(msg)
    if not coordinates:
        warn_of_other_values(new, rows, place_of_matrix(params))
    with named(adata_new.obs_names, None if coordinates else new_genes, "adata_new"):
        placed = speakers.place(new, n_jobs, progress_bar("transfer"))
    found, confidence = placed.labels, placed.shares
    typicality = typicality_of(placed.squared_distances, found)
    doubtful = (confidence < (min_confidence or 0.0)) | (typicality < (min_typicality or 0.0))
    if doubtful.any():
        logg.info(f"    {np.count_nonzero(doubtful)} of {len(doubtful)} cells are left without a label")
    write_result(
        adata_new,
        key_added,
        TRANSFERRED,
        obs={
            key_added: pd.Categorical.from_codes(np.where(doubtful, -1, found), dtype=clusters.dtype),
            confidence_field(key_added): confidence,
            typicality_field(key_added): typicality,
        },
        obsm={embedding_field(key_added): placed.weights @ embedding[speaking]},
        uns={
            "params": {"key": key, "labels": column, "metric": params["metric"], "n_neighbors": params["n_neighbors"]}
            | {name: float(value) for name, value in thresholds.items() if value is not None},
            "n_shared_genes": len(shared),
            "missing_genes": np.array(missing, dtype=str),
        },
    )
    logg.info(
        "    finished",
        time=start,
        deep=(
            f"added\n    '{embedding_field(key_added)}', the reference's fused embedding (adata.obsm)\n"
            f"    '{key_added}', its labels (adata.obs, categorical)\n"
            f"    '{confidence_field(key_added)}', their shares of the vote (adata.obs)\n"
            f"    '{typicality_field(key_added)}', how typical cells are of them (adata.obs)\n"
            f"    '{key_added}', parameters and genes (adata.uns)"
        ),
    )


def _shared_genes(reference: pd.Index, new: pd.Index, min_shared: float) -> pd.Index:
    for name, genes in (("adata_ref", reference), ("adata_new", new)):
        if not genes.is_unique:
            msg = f"Genes of {name} share a name: make them unique, for example with {name}.var_names_make_unique()."
            raise ValueError(msg)
    shared = reference[reference.isin(new)]
    if len(shared) < max(1, min_shared * len(reference)):
        msg = (
            f"Only {len(shared)} of the reference's {len(reference)} genes are among the {len(new)} of the new cells "
            f"(first ones: {', '.join(map(str, reference[:3]))} and {', '.join(map(str, new[:3]))}). Check that both "
            f"name genes the same way, or lower min_shared_genes={min_shared}."
        )
        raise ValueError(msg)
    return shared


def _choose_speakers(labels: pd.Categorical, seed: int) -> NDArray[np.intp]:
    """Positions, ascending, of the cells of the reference that speak for it: all that are labelled, or a sample."""
    n_labelled = np.count_nonzero(labels.codes >= 0)
    if n_labelled < 2:
        msg = f"{n_labelled} cells of the reference are labelled: transfer needs at least 2."
        raise ValueError(msg)
    rng = np.random.default_rng(seed)
    return draw_in_proportion(labels.codes, MAX_REFERENCE_CELLS, MIN_CELLS_PER_LABEL, rng)
