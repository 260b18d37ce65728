"""Clusters against known classes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from .._anndata import check_adata
from .._colors import label_colors
from ._shared import BAR, GAP, draw_bar, finish, panels, read_categories

if TYPE_CHECKING:
    from anndata import AnnData
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

# Width and height of a field, and what the table has at least for its title and its scale, in inches.
FIELD, LEAST = np.array([0.5, 0.36]), np.array([2.8, 1.5])
# Height of the scale of colours at most, in inches.
SCALE = 2.5
# Room for the names around the table, in inches, before it is known what they take.
MARGIN = 8.0


def confusion(
    adata: AnnData,
    reference: str,
    *,
    key: str = "utc",
    figsize: tuple[float, float] | None = None,
    ax: Axes | None = None,
    show: bool | None = None,
) -> Axes | None:
    """Clusters × reference classes: how many cells of each cluster are of each class, and the five scores.

    Numbers are cells, none where there are none; colours are shares of the cluster. The clusters into which a class was
    split are side by side, the largest first, and so are the classes of which a cluster was made.

    Parameters
    ----------
    adata
        Annotated data matrix.
    reference
        Column of ``adata.obs`` with the known classes, a hundred at most. Cells without one are left out, and the title
        says how many.
    key
        Column of ``adata.obs`` with the clusters: ``key_added`` of :func:`scutc.tl.utc`, with ``"_4"``, for example,
        where it was given several numbers of clusters; or what another tool wrote, for example ``"leiden"``.
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
    >>> scutc.tl.utc(adata, n_clusters=3)
    >>> ax = scutc.pl.confusion(adata, "label", show=False)
    >>> [text.get_text() for text in ax.texts]
    ['40', '35', '30']
    """
    from ..metrics import METRICS

    check_adata(adata)
    clusters, classes = read_categories(adata, key, "key"), read_categories(adata, reference, "reference")
    labelled = (clusters.codes >= 0) & (classes.codes >= 0)
    if not labelled.any():
        msg = f"No cell has both a cluster in {key!r} and a class in {reference!r}: there is nothing to compare."
        raise ValueError(msg)
    counts = _side_by_side(pd.crosstab(clusters[labelled], classes[labelled]))
    shares = counts.div(counts.sum(axis=1), axis=0).to_numpy()

    n_rows, n_columns = counts.shape
    size = np.maximum(FIELD * [n_columns, n_rows], LEAST)
    (axes,) = panels(ax, 1, size=tuple(size + MARGIN), figsize=figsize)
    image = axes.imshow(shares, vmin=0.0, vmax=1.0, cmap="Blues", aspect="auto")
    scale = axes.figure.colorbar(image, ax=axes, shrink=min(1.0, SCALE / size[1]), anchor=(0.0, 1.0), pad=0.02)
    scale.set_ticks([0.0, 0.5, 1.0])
    scale.set_label("share of cluster")
    for row, column in np.argwhere(shares):
        color = "white" if shares[row, column] > 0.5 else "black"
        axes.text(column, row, str(counts.iloc[row, column]), ha="center", va="center", color=color)
    axes.set_xticks(range(n_columns), counts.columns, rotation=45, ha="right", rotation_mode="anchor")
    axes.set_yticks(range(n_rows), counts.index)
    axes.tick_params(axis="y", length=0, pad=BAR + GAP + 3)
    palette = dict(zip(clusters.categories, label_colors(adata, key, len(clusters.categories)), strict=True))
    draw_bar(axes, [palette[cluster] for cluster in counts.index], np.ones(n_rows), "left")

    scores = [f"{name} {metric(classes[labelled], clusters[labelled]):.2f}" for name, metric in METRICS.items()]
    n_missing = int((~labelled).sum())
    note = f"\n{n_missing} of {len(labelled)} cells without a label left out" if n_missing else ""
    axes.set(xlabel=reference, ylabel=key)
    axes.set_title("  ".join(scores[:3]) + "\n" + "  ".join(scores[3:]) + note, fontsize="medium")
    if ax is None and figsize is None:
        _fit_figure(axes, size)
    return finish(axes, show)


def _side_by_side(counts: pd.DataFrame) -> pd.DataFrame:
    """Clusters by the class that they mostly are, and within it by size; classes in the same order.

    A class that no cluster mostly is comes after the one whose cluster has most of it.
    """
    table = counts.to_numpy()
    main = table.argmax(axis=1)
    largest_first = np.argsort(-table.sum(axis=1), kind="stable")
    rank = {each: number for number, each in enumerate(dict.fromkeys(main[largest_first]))}
    rows = sorted(largest_first, key=lambda cluster: rank[main[cluster]])
    home = main[table.argmax(axis=0)]
    columns = sorted(
        range(len(home)), key=lambda each: (rank.get(each, rank[home[each]]), each not in rank, -table[:, each].sum())
    )
    return counts.iloc[rows, columns]


def _fit_figure(ax: Axes, size: NDArray[np.float64]) -> None:
    """Make a figure so large that the plot in it has this size, whatever the names around it take."""
    figure: Any = ax.figure
    for _ in range(2):  # the scale of colours takes a share of the figure, and less of the smaller one
        figure.draw_without_rendering()
        around = figure.get_size_inches() * (1 - np.array(ax.get_position().size))
        figure.set_size_inches(size + around)
