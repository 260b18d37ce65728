"""Colours of clusters: those that scanpy gives, and the same ones for clusters that contain each other."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anndata import AnnData
    from numpy.typing import NDArray


def label_colors(adata: AnnData, column: str, n_categories: int) -> list[str]:
    """The colours that scanpy gives to the categories of a column: those in ``adata.uns``, else its default ones."""
    from matplotlib import rcParams
    from matplotlib.colors import is_color_like, to_hex
    from scanpy.pl import palettes

    stored = adata.uns.get(f"{column}_colors", [])
    cycle = rcParams["axes.prop_cycle"].by_key().get("color", [])
    for palette in (stored, cycle, palettes.default_20, palettes.default_28, palettes.default_102):
        if len(palette) >= n_categories and all(map(is_color_like, palette)):
            return list(map(to_hex, palette[:n_categories]))
    return [to_hex("grey")] * n_categories


def inherited_colors(coarse: NDArray[np.intp], fine: NDArray[np.intp], colors_of_fine: Sequence[str]) -> list[str]:
    """Colours of clusters that contain others: each has that of the largest cluster in it."""
    sizes = np.bincount(fine, minlength=len(colors_of_fine))
    colors = [""] * (int(coarse.max()) + 1)
    for cluster in np.argsort(-sizes, kind="stable")[::-1]:  # the largest last
        if sizes[cluster]:
            colors[coarse[np.argmax(fine == cluster)]] = colors_of_fine[cluster]
    return colors
