"""Clusters against known classes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from scipy.optimize import linear_sum_assignment

from .._anndata import check_adata, read_labels
from .._colors import label_colors
from ._shared import BAR, GAP, draw_bar, finish, panels

if TYPE_CHECKING:
    from anndata import AnnData
    from matplotlib.axes import Axes
    from numpy.typing import NDArray


def confusion(
    adata: AnnData, reference: str, *, key: str = "utc", ax: Axes | None = None, show: bool | None = None
) -> Axes | None:
    """Clusters × reference classes: how many cells of each cluster are of each class, and the five scores.

    Numbers are cells, none where there are none; colours are shares of the cluster. Rows and columns are ordered so
    that clusters and the classes that fit them best meet on the diagonal; clusters or classes that are left over come
    last.

    Parameters
    ----------
    adata
        Annotated data matrix.
    reference
        Column of ``adata.obs`` with the known classes. Cells without one are left out, and the title says how many.
    key
        Column of ``adata.obs`` with the clusters: ``key_added`` of :func:`scutc.tl.utc`, with ``"_4"``, for example,
        where it was given several numbers of clusters; or what another tool wrote, for example ``"leiden"``.
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
    clusters, classes = read_labels(adata, key, "key"), read_labels(adata, reference, "reference")
    labelled = (clusters.codes >= 0) & (classes.codes >= 0)
    if not labelled.any():
        msg = f"No cell has both a cluster in {key!r} and a class in {reference!r}: there is nothing to compare."
        raise ValueError(msg)
    counts = _full_diagonal(pd.crosstab(clusters[labelled], classes[labelled]))
    shares = counts.div(counts.sum(axis=1), axis=0).to_numpy()

    n_rows, n_columns = counts.shape
    (axes,) = panels(ax, 1, size=(3 + 0.5 * n_columns, 2.2 + 0.4 * n_rows))
    axes.imshow(shares, vmin=0.0, vmax=1.0, cmap="Blues", aspect="auto")
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
    axes.set(xlabel=reference, ylabel=key, title="  ".join(scores[:3]) + "\n" + "  ".join(scores[3:]) + note)
    return finish(axes, show)


def _full_diagonal(counts: pd.DataFrame) -> pd.DataFrame:
    """Rows and columns in an order that puts as much as possible on the diagonal; what has no partner comes last."""
    rows, columns = linear_sum_assignment(counts, maximize=True)
    return counts.iloc[_first(rows, counts.shape[0]), _first(columns, counts.shape[1])]


def _first(chosen: NDArray[np.intp], n: int) -> NDArray[np.intp]:
    return np.concatenate([chosen, np.setdiff1d(np.arange(n), chosen)])
