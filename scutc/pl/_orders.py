"""What each order saw."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .._anndata import (
    choose_clustering,
    clusterings,
    read_recorded_matrix,
    read_result,
    recorded_parameters,
)
from .._estimator import UTC
from ..core.blocks import read_rows
from ._shared import (
    colored_clusters,
    draw_legend,
    finish,
    panels,
    sample_cells,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anndata import AnnData
    from matplotlib.axes import Axes

# Size of all dots together and at most of one, in square points.
DOTS, LARGEST_DOT = 6000.0, 30.0


def orders(
    adata: AnnData,
    *,
    key: str = "utc",
    color: str | None = None,
    dimensions: tuple[int, int] = (0, 1),
    max_cells: int = 1000,
    figsize: tuple[float, float] | None = None,
    ax: Axes | Sequence[Axes] | None = None,
    show: bool | None = None,
) -> list[Axes] | None:
    """What each order saw: the embedding that it gives by itself, and how well its own clusters agree with the fused.

    The agreement, the adjusted Rand index in ``adata.uns[key]["agreement"]``, is 1 for an order that finds the same
    clusters by itself and about 0 for one that finds others. The embeddings are computed again, with the parameters
    that were used, from the matrix that was clustered, by ``solver="spectral"`` also where another solver was used.

    Parameters
    ----------
    adata
        Annotated data matrix with a result of :func:`scutc.tl.utc`, and still with the matrix that it was made of.
    key
        Key of the result, ``key_added`` of :func:`scutc.tl.utc`.
    color
        Column of ``adata.obs`` to colour cells by; the clusters by default. To be given where the result has several
        numbers of clusters. Cells without a label are left out. The agreement is only shown for clusters of the result,
        and only ``solver="spectral"`` has one.
    dimensions
        The two columns of the embeddings to show, counted from 0.
    max_cells
        Of more cells a sample is shown, the same every time, with all clusters in proportion and at least one cell of
        each, and the embeddings are those of the sample; the agreement is that of all cells, or of the landmarks where
        there were any. The titles say so.
    figsize
        Width and height of the figure in inches; not together with ``ax``.
    ax
        Axes to draw on, one for each order.
    show
        Show the figure; ``None`` follows ``scanpy.settings.autoshow``.

    Returns
    -------
    ``None``, or with ``show=False`` a list of the Axes, one for each order.

    Examples
    --------
    >>> import scutc
    >>> adata = scutc.datasets.syndata2(n_features=100)
    >>> scutc.tl.utc(adata, n_clusters=3)
    >>> for ax in scutc.pl.orders(adata, show=False):
    ...     print(ax.get_title().splitlines())
    ['order 2', 'agreement 1.00']
    ['order 3', 'agreement 1.00']
    ['order 4', 'agreement 1.00']
    """
    from scanpy import settings

    result = read_result(adata, key)
    params = result["params"]
    column = choose_clustering(key, result, color, "color")
    clusters, colors = colored_clusters(adata, key, column)
    cells, note = sample_cells(clusters, max_cells)
    cells = np.sort(cells)  # with all of them the matrix is the one that was clustered: the same anchors are drawn
    matrix, _ = read_recorded_matrix(adata, key, result)
    shown = read_rows(matrix, cells)

    axes = panels(ax, len(params["orders"]), size=(3.4, 3.8), figsize=figsize)
    for panel, order in zip(axes, params["orders"], strict=True):
        model = UTC(**recorded_parameters(params, UTC))
        model.set_params(
            # One cluster takes no time to find, and the embedding has at least two columns anyhow.
            n_clusters=1 if max(dimensions) < 2 else max(dimensions) + 1,
            orders=(order,),
            n_landmarks=None,  # these are few cells already
            screen_genes=False,  # and these genes are chosen
            n_splits=0,  # only the embedding is asked for
            solver="spectral",
            solver_params=None,
            n_jobs=settings.n_jobs,
        )
        points = model.fit_transform(shown)
        horizontal, vertical = dimensions
        panel.scatter(
            points[:, horizontal],
            points[:, vertical],
            c=np.array(colors)[clusters.codes[cells]],
            s=min(DOTS / len(cells), LARGEST_DOT),
            lw=0,
        )
        panel.set(xticks=[], yticks=[], xlabel=f"dimension {horizontal + 1}", ylabel=f"dimension {vertical + 1}")
        lines = [f"order {order}"]
        if column in clusterings(key, result) and str(order) in result["agreement"]:
            agreement = np.ravel(result["agreement"][str(order)])[clusterings(key, result).index(column)]
            lines.append(f"agreement {agreement:.2f}")
        panel.set_title("\n".join([*lines, note] if note else lines))
    draw_legend(axes[-1], clusters, colors, widen=ax is None and figsize is None)
    return finish(axes, show)
