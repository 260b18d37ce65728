"""How often cells are together: cells × cells, ordered by cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .._anndata import choose_clustering, clusterings, read_result, recorded_names
from .._fields import votes_field
from ._shared import BAR, GAP, colored_clusters, draw_bar, draw_legend, finish, panels, sample_cells

if TYPE_CHECKING:
    from collections.abc import Mapping

    from anndata import AnnData
    from matplotlib.axes import Axes


def stability(
    adata: AnnData,
    *,
    key: str = "utc",
    color: str | None = None,
    max_cells: int = 1000,
    figsize: tuple[float, float] | None = None,
    ax: Axes | None = None,
    show: bool | None = None,
) -> Axes | None:
    """How often two cells are in the same cluster, cells × cells ordered by cluster, over all views of the data.

    A view is all orders together, one of them alone, or a half of the genes: what it finds is in
    ``adata.obsm[key + "_votes"]``. Black pairs are together in all views, white ones in none. A cluster that is a black
    square on white is there whichever way one looks; grey between two squares are clusters that some views make one.
    The legend has the stability of each cluster, ``adata.uns[key]["stability"]``, how well it is found again in halves
    of the genes, from 0 to 1.

    Parameters
    ----------
    adata
        Annotated data matrix with a result of :func:`scutc.tl.utc`.
    key
        Key of the result, ``key_added`` of :func:`scutc.tl.utc`.
    color
        Which of the result's clusterings to show, a column of ``adata.obs``. To be given where it has several numbers
        of clusters.
    max_cells
        Of more cells a sample is shown, the same every time, with all clusters in proportion and at least one cell of
        each. Cells that not all views looked at, which beyond a thousand are most, are left out. The title says so.
    figsize
        Width and height of the figure in inches; not together with ``ax``.
    ax
        Axes to draw on.
    show
        Show the figure; ``None`` follows ``scanpy.settings.autoshow``.

    Returns
    -------
    ``None``, or with ``show=False`` the Axes.

    Examples
    --------
    >>> import scutc
    >>> adata = scutc.datasets.syndata2(n_features=1000)
    >>> scutc.tl.utc(adata, n_clusters=3)
    >>> ax = scutc.pl.stability(adata, show=False)
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['0 (0...)', '1 (0...)', '2 (0...)']
    """
    result = read_result(adata, key)
    column = choose_clustering(key, result, color, "color")
    if column not in (columns := clusterings(key, result)):
        msg = f"color={color!r} is no clustering of key={key!r}. Valid: {', '.join(map(repr, columns))}."
        raise KeyError(msg)
    if votes_field(column) not in adata.obsm:
        msg = (
            f"adata.obsm[{votes_field(column)!r}], what each view finds, is missing: run scutc.tl.utc again to have it."
        )
        raise KeyError(msg)
    clusters, colors = colored_clusters(adata, key, column)
    votes = np.asarray(adata.obsm[votes_field(column)])
    cells, note = sample_cells(clusters, max_cells, among=np.all(votes >= 0, axis=1))
    together = sum(np.equal.outer(view, view) for view in votes[cells].T) / votes.shape[1]

    sizes = np.bincount(clusters.codes[cells], minlength=len(colors))
    (axes,) = panels(ax, 1, size=(4.4, 5.2), figsize=figsize)
    image = axes.imshow(together, vmin=0.0, vmax=1.0, cmap="Greys")
    scale = axes.figure.colorbar(image, ax=axes, location="bottom", shrink=0.5, aspect=30, pad=0.03)
    scale.set_ticks([0.0, 0.5, 1.0])
    scale.set_label(f"share of {votes.shape[1]} views")
    axes.set(xticks=[], yticks=[], anchor="E")  # next to the legend, for which layouts else leave too little
    title = "how often two cells are together"
    axes.set_title(f"{title}\n{note}" if note else title, pad=BAR + GAP + 5)
    draw_bar(axes, colors, sizes, "left")
    draw_bar(axes, colors, sizes, "top")
    known = _stability_by_name(result, columns.index(column))
    # Renamed clusters, and those without a cell that halves of the genes look at, have none.
    found = {name: known.get(name, np.nan) for name in map(str, clusters.categories)}
    names = {name: f"{name} ({value:.2f})" for name, value in found.items() if np.isfinite(value)}
    draw_legend(
        axes,
        clusters.rename_categories(names),
        colors,
        title="cluster (stability)" if names else None,
        widen=ax is None and figsize is None,
    )
    return finish(axes, show)


def _stability_by_name(result: Mapping[str, Any], position: int) -> dict[str, float]:
    """Of each cluster of the result's clustering at this position, by the name that it was given."""
    values = result["stability"]
    if np.ndim(result["n_clusters"]):
        values = values[str(result["n_clusters"][position])]
    return dict(zip(recorded_names(result, len(values)), map(float, values), strict=True))
