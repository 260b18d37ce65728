"""What the plots have in common: the clusters, a sample of the cells, the Axes."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from .._anndata import clusterings, read_embedding, read_labels, read_result
from .._colors import label_colors
from .._fields import embedding_field
from .._validation import check_positive_integer
from ..core.sampling import draw_in_proportion

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anndata import AnnData
    from matplotlib.axes import Axes
    from numpy.typing import ArrayLike, NDArray

# Thickness of a bar of cluster colours and its distance from the plot, in points.
BAR, GAP = 9.0, 3.0
# Of more categories none can be read, nor its colour told from the others.
MAX_CATEGORIES = 100


def read_categories(adata: AnnData, column: str, name: str) -> pd.Categorical:
    """A column of ``adata.obs``, asked for by the parameter of this name, as categories that a plot can hold."""
    labels = read_labels(adata, column, name)
    n_categories = len(labels.categories)
    if adata.obs[column].dtype.kind == "f" or n_categories > MAX_CATEGORIES:
        msg = (
            f"{name}={column!r} has {n_categories} different values, {adata.obs[column].dtype}: choose a column of at "
            f"most {MAX_CATEGORIES} categories. Numbers that name classes are such after .astype('category')."
        )
        raise ValueError(msg)
    return labels


def embedded_cells(adata: AnnData, key: str) -> NDArray[np.bool_]:
    """Which cells the result has an embedding of: all, or those that it was restricted to."""
    if embedding_field(key) not in adata.obsm:
        return np.ones(adata.n_obs, dtype=bool)
    return np.asarray(np.isfinite(read_embedding(adata, key)).all(axis=1))


def colored_clusters(adata: AnnData, key: str, column: str) -> tuple[pd.Categorical, list[str]]:
    """A column of ``adata.obs`` as categories, and their colours, of the cells that the result has an embedding of.

    The others, to which it was not restricted, are without a label, and clusters of none but these are left out.
    """
    of_result = column in clusterings(key, read_result(adata, key))  # which may be many, if that was asked for
    labels = (read_labels if of_result else read_categories)(adata, column, "color")
    colors = label_colors(adata, column, len(labels.categories))
    embedded = embedded_cells(adata, key)
    if embedded.all():
        return labels, colors
    inside = pd.Categorical.from_codes(np.where(embedded, labels.codes, -1), dtype=labels.dtype)
    kept = np.unique(inside.codes[inside.codes >= 0])
    return inside.remove_unused_categories(), [colors[cluster] for cluster in kept]


def sample_cells(
    labels: pd.Categorical, max_cells: int, among: NDArray[np.bool_] | None = None
) -> tuple[NDArray[np.intp], str]:
    """Labelled cells sorted by cluster, if too many a sample with all clusters in proportion, and a note that says so.

    The sample is the same every time and has at least one cell of each cluster. ``among`` says which cells there are.
    """
    check_positive_integer("max_cells", max_cells)
    codes = labels.codes if among is None else np.where(among, labels.codes, -1)
    cells = draw_in_proportion(codes, max_cells, at_least=1, rng=np.random.default_rng(0))
    if len(cells) < 2:
        msg = f"There is nothing to show of {len(cells)} cells: label more of them, or raise max_cells={max_cells}."
        raise ValueError(msg)
    cells = cells[np.argsort(codes[cells], kind="stable")]
    return cells, "" if len(cells) == len(codes) else f"{len(cells)} of {len(codes)} cells"


def check_figsize(ax: Axes | Sequence[Axes] | None, figsize: tuple[float, float] | None) -> None:
    """Raise if a figure that there is already is to have a size."""
    if ax is not None and figsize is not None:
        msg = f"Both ax= and figsize={figsize!r} are given: the figure that ax belongs to has its size already."
        raise ValueError(msg)


def panels(
    ax: Axes | Sequence[Axes] | None,
    n_panels: int,
    size: tuple[float, float],
    figsize: tuple[float, float] | None = None,
) -> list[Axes]:
    """The Axes that were given, or those of a new row of panels of this size, or together of ``figsize``."""
    from matplotlib import pyplot as plt

    check_figsize(ax, figsize)
    if ax is None:
        width, height = size
        figsize = (width * n_panels, height) if figsize is None else figsize
        _, axes = plt.subplots(1, n_panels, figsize=figsize, layout="constrained", squeeze=False)
        return list(axes.flat)
    given = list(np.ravel(np.array(ax, dtype=object)))
    if len(given) != n_panels:
        msg = f"ax has {len(given)} Axes, this plot {n_panels}: give as many, plt.subplots(1, {n_panels}) makes them."
        raise ValueError(msg)
    return given


def finish(ax: Any, show: bool | None) -> Any:
    """Show the figure, or return its Axes; scanpy's ``settings.autoshow`` decides where the user did not."""
    from matplotlib import pyplot as plt
    from scanpy import settings

    if settings.autoshow if show is None else show:
        plt.show()
        return None
    return ax


def draw_bar(ax: Axes, colors: Sequence[str], sizes: ArrayLike, side: str) -> None:
    """A bar of colours along the ``"left"`` (from top to bottom) or ``"top"`` of a plot, in parts of these sizes."""
    from matplotlib.lines import Line2D
    from matplotlib.transforms import ScaledTranslation

    inches = (GAP + BAR / 2) / 72
    shift = (-inches, 0.0) if side == "left" else (0.0, inches)
    beside = ax.transAxes + ScaledTranslation(*shift, ax.figure.dpi_scale_trans)
    edges = np.append(0.0, np.cumsum(sizes)) / np.sum(sizes)
    for color, start, end in zip(colors, edges, edges[1:], strict=False):
        along = ([0, 0], [1 - start, 1 - end]) if side == "left" else ([start, end], [1, 1])
        # Layouts make room for markers, of which there are none, and not for the width of lines.
        line = Line2D(*along, color=color, lw=BAR, ms=BAR, solid_capstyle="butt", transform=beside, clip_on=False)
        ax.add_artist(line)


def draw_legend(
    ax: Axes, labels: pd.Categorical, colors: Sequence[str], title: str | None = None, *, widen: bool
) -> None:
    """Names and colours of the clusters, to the right of a plot, in as many columns as its height asks for.

    ``widen`` makes the figure wider by them, lest long names leave no room for the plot.
    """
    from matplotlib.lines import Line2D

    names = list(map(str, labels.categories))
    dots = [
        Line2D([], [], color=color, label=name, marker="o", ls="") for name, color in zip(names, colors, strict=True)
    ]
    draw = partial(ax.legend, handles=dots, loc="center left", bbox_to_anchor=(1, 0.5), frameon=False, title=title)
    draw(ncols=math.ceil(draw().get_window_extent().height / ax.get_window_extent().height))
    if widen:
        widen_by_legend(ax)


def widen_by_legend(ax: Axes) -> None:
    """Give the legend beside a plot room of its own."""
    figure: Any = ax.figure
    legend: Any = ax.get_legend()
    width, height = figure.get_size_inches()
    figure.set_size_inches(width + legend.get_window_extent().width / figure.dpi, height)
