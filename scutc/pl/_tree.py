"""How clusters split as there are more of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.cluster.hierarchy import leaves_list

from .._anndata import clusterings, read_result, recorded_names
from .._colors import inherited_colors
from ..core.tree import number_by_size
from ..core.views import cut
from ._shared import colored_clusters, embedded_cells, finish, panels

if TYPE_CHECKING:
    from collections.abc import Iterable

    from anndata import AnnData
    from matplotlib.axes import Axes

# Height of a row of clusters, in inches, and the part of it that is left white.
ROW, BETWEEN = 0.3, 0.12
# Height of all rows at least, in inches for each point of its letters: what the name of the axis takes.
LOWEST = 0.14
# Width of a letter of a name, and of the narrowest cluster that has one, in inches.
LETTER, NARROWEST_NAMED = 0.07, 0.13


def tree(
    adata: AnnData,
    *,
    key: str = "utc",
    numbers: Iterable[int] | None = None,
    figsize: tuple[float, float] | None = None,
    ax: Axes | None = None,
    show: bool | None = None,
) -> Axes | None:
    """How clusters split as their number grows: a row for each number, every cluster below the one that it is part of.

    Clusters for different numbers are cuts of one tree, ``adata.uns[key]["tree"]``, so that each lies inside one of the
    fewer. They are as wide as they have cells, and have the colour of the largest cluster in them. Their names are
    those in ``adata.obs``, by size for each number of clusters, so that one name may be another cluster's in the next
    row: follow the colours. Those that are too narrow have no name.

    Parameters
    ----------
    adata
        Annotated data matrix with a result of :func:`scutc.tl.utc`.
    key
        Key of the result, ``key_added`` of :func:`scutc.tl.utc`.
    numbers
        Numbers of clusters to show, at most the largest of the result. By default those of the result if it has
        several, else all from 1 on.
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
    >>> adata = scutc.datasets.syndata2(n_features=100)
    >>> scutc.tl.utc(adata, n_clusters=[2, 3, 5])
    >>> ax = scutc.pl.tree(adata, show=False)
    >>> [text.get_text() for text in ax.get_yticklabels()]
    ['2', '3', '5']
    """
    from matplotlib import rcParams
    from matplotlib.font_manager import FontProperties

    result = read_result(adata, key)
    if "tree" not in result:
        msg = f"adata.uns[{key!r}] has no tree: it is there after scutc.tl.utc for two or more clusters."
        raise KeyError(msg)
    merges = np.asarray(result["tree"])
    n_clusters = len(merges) + 1
    columns = dict(zip(np.ravel(result["n_clusters"]).tolist(), clusterings(key, result), strict=True))
    finest, colors = colored_clusters(adata, key, columns[n_clusters])
    embedded = embedded_cells(adata, key)
    codes = finest.codes[embedded].astype(np.intp)
    # They are the nodes of the tree by their numbers, so none may be moved or left without cells. If they have been
    # renamed, their sizes tell whether they are still in order.
    renamed = list(finest.categories) != recorded_names(result, n_clusters)
    moved = renamed and (np.diff(np.bincount(codes)) >= 0).any()
    if len(finest.categories) != n_clusters or set(codes) != set(range(n_clusters)) or moved:
        msg = (
            f"adata.obs[{columns[n_clusters]!r}] has no longer the {n_clusters} clusters of the tree: run scutc.tl.utc "
            "again."
        )
        raise ValueError(msg)
    rows = _rows(numbers, columns, n_clusters)

    points = FontProperties(size=rcParams["axes.labelsize"]).get_size_in_points()
    (axes,) = panels(ax, 1, size=(6.4, 0.9 + max(ROW * len(rows), LOWEST * points)), figsize=figsize)
    sizes = np.bincount(codes, minlength=n_clusters) / len(codes)
    order = leaves_list(merges)
    starts = np.empty(n_clusters)
    starts[order] = np.cumsum(sizes[order]) - sizes[order]
    labels = codes
    width = axes.get_window_extent().width / axes.figure.dpi
    for height, number in enumerate(rows[::-1]):
        coarser = number_by_size(cut(merges, number)[codes])
        colors = inherited_colors(coarser, labels, colors)
        labels = coarser
        names = recorded_names(result, number)
        if number in columns:
            shown, shown_colors = colored_clusters(adata, key, columns[number])
            if np.array_equal(shown.codes[embedded], labels):
                names = list(map(str, shown.categories))
            if f"{columns[number]}_colors" in adata.uns:  # what all other plots show them in
                colors = shown_colors
        first = {cluster: starts[np.unique(codes[labels == cluster])].min() for cluster in range(number)}
        widths = np.bincount(labels) / len(labels)
        axes.barh(
            np.full(number, height),
            widths,
            left=[first[cluster] for cluster in range(number)],
            height=1 - BETWEEN,
            color=colors,
            edgecolor="white",
            linewidth=0.8,
        )
        for cluster, name in enumerate(names):
            if widths[cluster] * width >= max(NARROWEST_NAMED, LETTER * len(name)):
                middle, ink = first[cluster] + widths[cluster] / 2, _ink(colors[cluster])
                axes.text(middle, height, name, ha="center", va="center", fontsize="small", color=ink)
    axes.set(
        xlim=(0, 1),
        ylim=(-0.5, len(rows) - 0.5),
        xlabel="part of the cells",
        ylabel="number of clusters",
        yticks=np.arange(len(rows))[::-1],
        yticklabels=list(map(str, rows)),
    )
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.tick_params(axis="y", length=0)
    axes.grid(visible=False)
    return finish(axes, show)


def _rows(numbers: Iterable[int] | None, columns: dict[int, str], n_clusters: int) -> list[int]:
    """The numbers of clusters to show, ascending."""
    if numbers is None:
        return sorted(columns) if len(columns) > 1 else list(range(1, n_clusters + 1))
    rows = sorted(set(numbers))
    if not rows or not all(isinstance(number, int | np.integer) and 1 <= number <= n_clusters for number in rows):
        msg = f"numbers={numbers!r}: give whole numbers of clusters from 1 to {n_clusters}, the largest of the result."
        raise ValueError(msg)
    return list(map(int, rows))


def _ink(color: str) -> str:
    """Black or white, whichever is easier to read on a colour."""
    from matplotlib.colors import to_rgb

    return "black" if np.dot(to_rgb(color), [0.299, 0.587, 0.114]) > 0.5 else "white"
