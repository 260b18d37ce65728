"""What the plots have in common: a sample of the cells, the Axes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .._validation import check_positive_integer
from ..core.sampling import draw_in_proportion

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd
    from matplotlib.axes import Axes
    from numpy.typing import ArrayLike, NDArray

# Thickness of a bar of cluster colours and its distance from the plot, in points.
BAR, GAP = 9.0, 3.0


def sample_cells(labels: pd.Categorical, max_cells: int) -> tuple[NDArray[np.intp], str]:
    """Labelled cells sorted by cluster, if too many a sample with all clusters in proportion, and a note that says so.

    The sample is the same every time and has at least one cell of each cluster.
    """
    check_positive_integer("max_cells", max_cells)
    codes = labels.codes
    cells = draw_in_proportion(codes, max_cells, at_least=1, rng=np.random.default_rng(0))
    if len(cells) < 2:
        msg = f"There is nothing to show of {len(cells)} cells: label more of them, or raise max_cells={max_cells}."
        raise ValueError(msg)
    cells = cells[np.argsort(codes[cells], kind="stable")]
    return cells, "" if len(cells) == len(codes) else f"{len(cells)} of {len(codes)} cells"


def panels(ax: Axes | Sequence[Axes] | None, n_panels: int, size: tuple[float, float]) -> list[Axes]:
    """The Axes that were given, or a new row of panels of this size."""
    from matplotlib import pyplot as plt

    if ax is None:
        width, height = size
        _, axes = plt.subplots(1, n_panels, figsize=(width * n_panels, height), layout="constrained", squeeze=False)
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
        line = Line2D(*along, color=color, lw=BAR, solid_capstyle="butt", transform=beside, clip_on=False)
        ax.add_artist(line)


def draw_legend(ax: Axes, labels: pd.Categorical, colors: Sequence[str], title: str | None = None) -> None:
    """Names and colours of the clusters that have cells, to the right of a plot, in columns as in scanpy's plots."""
    from matplotlib.lines import Line2D

    shown = np.unique(labels.codes[labels.codes >= 0]).tolist()
    dots = [Line2D([], [], color=colors[i], label=str(labels.categories[i]), marker="o", ls="") for i in shown]
    n_columns = 1 if len(dots) <= 14 else 2 if len(dots) <= 30 else 3
    ax.legend(handles=dots, loc="center left", bbox_to_anchor=(1, 0.5), frameon=False, ncols=n_columns, title=title)
