"""How similar cells are, before and after: cells × cells, ordered by cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from sklearn.metrics.pairwise import cosine_similarity

from .._anndata import choose_clustering, read_embedding, read_recorded_matrix, read_result
from ..core.affinities import pairwise_affinity
from ..core.blocks import read_rows
from ..core.geometry import Geometry
from ._shared import (
    BAR,
    GAP,
    colored_clusters,
    draw_bar,
    draw_legend,
    finish,
    panels,
    sample_cells,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anndata import AnnData
    from matplotlib.axes import Axes

# A few pairs of cells are far more similar than all others: where the scale of colours ends, as a quantile of the
# affinities that are not 0.
DARKEST = 0.75


def affinity(
    adata: AnnData,
    *,
    key: str = "utc",
    color: str | None = None,
    max_cells: int = 1000,
    figsize: tuple[float, float] | None = None,
    ax: Sequence[Axes] | None = None,
    show: bool | None = None,
) -> list[Axes] | None:
    """Affinity of cells × cells ordered by cluster, before and after fusing, side by side.

    Before: the pairwise affinity (order 2) on the matrix that was clustered, computed again with the parameters that
    were used. After: the cosine between cells in the fused embedding, where those below 0 count as 0. Clusters show
    as squares on the diagonal.

    Parameters
    ----------
    adata
        Annotated data matrix with a result of :func:`scutc.tl.utc`, and still with the matrix that it was made of.
    key
        Key of the result, ``key_added`` of :func:`scutc.tl.utc`.
    color
        Column of ``adata.obs`` to order and colour the cells by; the clusters by default. To be given where the result
        has several numbers of clusters. Cells without a label are left out.
    max_cells
        Of more cells a sample is shown, the same every time, with all clusters in proportion and at least one cell of
        each; the affinities are those within the sample. The titles say so.
    figsize
        Width and height of the figure in inches; not together with ``ax``.
    ax
        Two Axes to draw on.
    show
        Show the figure; ``None`` follows ``scanpy.settings.autoshow``.

    Returns
    -------
    ``None``, or with ``show=False`` the two Axes.

    Examples
    --------
    >>> import scutc
    >>> adata = scutc.datasets.syndata2(n_features=100)
    >>> scutc.tl.utc(adata, n_clusters=3)
    >>> before, after = scutc.pl.affinity(adata, show=False)
    >>> after.get_title()
    'after: cosine in the fused embedding'
    """
    from matplotlib.ticker import MaxNLocator
    from scanpy import settings

    result = read_result(adata, key)
    params = result["params"]
    column = choose_clustering(key, result, color, "color")
    clusters, colors = colored_clusters(adata, key, column)
    cells, note = sample_cells(clusters, max_cells)

    shown = read_rows(read_recorded_matrix(adata, key, result)[0], cells)
    geometry = Geometry.of(shown, params["metric"], settings.n_jobs)
    pairwise = pairwise_affinity(geometry, int(params["n_neighbors"])).toarray()
    fused = read_embedding(adata, key)
    cosines = np.clip(cosine_similarity(fused[cells]), 0.0, 1.0)

    sizes = np.bincount(clusters.codes[cells], minlength=len(colors))
    axes = panels(ax, 2, size=(4.6, 5.2), figsize=figsize)
    heatmaps = (
        ("before: pairwise affinity of the data", pairwise, np.quantile(pairwise[pairwise > 0], DARKEST)),
        ("after: cosine in the fused embedding", cosines, 1.0),
    )
    for panel, (title, values, darkest) in zip(axes, heatmaps, strict=True):
        image = panel.imshow(values, vmin=0.0, vmax=darkest, cmap="Greys")
        extend = "max" if values.max() > darkest else "neither"
        panel.figure.colorbar(
            image, ax=panel, extend=extend, ticks=MaxNLocator(4), location="bottom", shrink=0.5, aspect=30, pad=0.03
        )
        panel.set(xticks=[], yticks=[], anchor="E")  # next to the legend, for which layouts else leave too little
        panel.set_title(f"{title}\n{note}" if note else title, pad=BAR + GAP + 5)
        draw_bar(panel, colors, sizes, "left")
        draw_bar(panel, colors, sizes, "top")
    draw_legend(axes[-1], clusters, colors, widen=ax is None and figsize is None)
    return finish(axes, show)
