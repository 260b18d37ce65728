"""Small tasks drawn from labelled data sets, so that a comparison has little noise.

One data set moves by 0.3 in ARI where little changes, so each gives several tasks of at most 400 cells. *As they are*
is first all classes of a few cells, then some of them with 85 % of their cells; *unequal* is some classes in sizes that
are drawn, the largest up to twenty times the smallest where there are so many cells. Results are to be averaged within
a set before they are over sets.
"""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from anndata import AnnData
    from numpy.typing import NDArray

MAX_CELLS = 400
MIN_CLASS = 5
# Of a class in a task at least so many cells are left by drawing.
MIN_LEFT = 3
PART_OF_CELLS = 0.85
SMALLEST_SHARE = 0.05
# Sizes are so large that of this part of the classes there are too few cells, and all are taken.
PART_OF_CLASSES_EXHAUSTED = 0.25
# How many of each kind a set gives.
N_TASKS = {"as they are": 3, "unequal": 2}


def draw(adata: AnnData, name: str, kind: str, task: int) -> NDArray[np.intp]:
    """The cells of a task, always the same for a set's name: none if fewer than two classes are left."""
    classes = np.unique(adata.obs["label"].astype(str), return_inverse=True)[1]
    seed = [zlib.crc32(name.encode()), task]
    if kind == "unequal":
        cells = _unequal(classes, np.random.default_rng([*seed, 1]))
    else:
        cells = _as_they_are(classes, task, np.random.default_rng(seed))
    return cells if len(np.unique(classes[cells])) > 1 else cells[:0]


def subset(adata: AnnData, cells: NDArray[np.intp]) -> AnnData:
    """These cells, without genes that are the same in all of them."""
    adata = adata[cells]
    X = adata.X.toarray() if hasattr(adata.X, "toarray") else adata.X
    return adata[:, np.ptp(X, axis=0) > 0].copy()


def _large(classes: NDArray[np.intp]) -> NDArray[np.intp]:
    return np.flatnonzero(np.bincount(classes) >= MIN_CLASS)


def _some(classes: NDArray[np.intp], rng: np.random.Generator) -> NDArray[np.intp]:
    """At least two of the classes that have a few cells."""
    large = _large(classes)
    return rng.choice(large, size=min(int(rng.integers(2, max(len(large), 2) + 1)), len(large)), replace=False)


def _as_they_are(classes: NDArray[np.intp], task: int, rng: np.random.Generator) -> NDArray[np.intp]:
    cells = np.flatnonzero(np.isin(classes, _some(classes, rng) if task else _large(classes)))
    if task:
        cells = cells[rng.random(len(cells)) < PART_OF_CELLS]
    if len(cells) > MAX_CELLS:
        cells = np.sort(rng.choice(cells, MAX_CELLS, replace=False))
    return cells[np.bincount(classes[cells])[classes[cells]] >= MIN_LEFT]


def _unequal(classes: NDArray[np.intp], rng: np.random.Generator) -> NDArray[np.intp]:
    """Cells of some classes, their shares drawn evenly on a log scale."""
    chosen = _some(classes, rng)
    there = np.bincount(classes)[chosen]
    sizes = np.exp(rng.uniform(np.log(SMALLEST_SHARE), 0.0, len(chosen)))
    sizes *= min(np.quantile(there / sizes, PART_OF_CLASSES_EXHAUSTED), MAX_CELLS / sizes.sum())
    sizes = np.minimum(np.maximum(sizes, MIN_CLASS), there).astype(np.intp)
    drawn = [
        rng.choice(np.flatnonzero(classes == each), size, replace=False)
        for each, size in zip(chosen, sizes, strict=True)
    ]
    return np.sort(np.concatenate(drawn))
