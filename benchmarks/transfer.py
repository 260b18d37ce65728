"""Transferred labels: cells of a type that the reference lacks, and what it costs the others to tell them.

Usage: python benchmarks/transfer.py FOLDER    (or the folder in the variable SCUTC_DATA)

The folder holds labelled .h5ad files, as for quality.py; those with three classes of at least ten cells and at most
2200 cells are used, images are not. Writes transfer.md to benchmarks/results.

Each class is halved, one half is the reference and the other new. Up to four classes in turn are left out of the
reference, and its classes are transferred. Three ways to tell that a new cell is of none of them are compared: that its
typicality is low, that its share of the vote is, and that it lies farther from its nearest cells than these from
theirs. New cells come as they are, and with 30 % of their values lost, as if they had been sequenced less deeply.
"""

from __future__ import annotations

import argparse
import os
import warnings
import zlib
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from common import RESULTS, circumstances, markdown, prepare
from scipy import sparse
from sklearn.neighbors import NearestNeighbors
from sklearn.preprocessing import normalize
from tqdm import tqdm

import scutc

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from anndata import AnnData
    from numpy.typing import NDArray

MIN_CLASS, MIN_CLASSES, MAX_CELLS, MAX_LEFT_OUT = 10, 3, 2200, 4
LOST_VALUES = 0.3
N_NEIGHBORS = 15
LEVELS = {
    "typicality": (0.01, 0.02, 0.05, 0.1),
    "share of the vote": (0.5, 0.7, 0.9),
    "nearest cells": (0.01, 0.02, 0.05, 0.1),
}
# What may be lost where a threshold is chosen.
MAX_LOST = 0.05


def usable(sets: Mapping[str, AnnData]) -> Iterator[tuple[str, AnnData]]:
    """Sets of cells that are not too large, with their classes that are not too small."""
    for name in tqdm(sets, unit="set"):
        adata = sets[name]
        sizes = adata.obs["label"].astype(str).value_counts()
        large = sizes.index[sizes >= MIN_CLASS]
        if adata.n_obs <= MAX_CELLS and len(large) >= MIN_CLASSES and adata.uns["values"] != "pixels":
            yield name, prepare(adata[adata.obs["label"].astype(str).isin(large)].copy())


def halve(classes: NDArray[np.str_], rng: np.random.Generator) -> NDArray[np.bool_]:
    """Which cells are of the reference: half of each class."""
    chosen = np.zeros(len(classes), dtype=bool)
    for each in np.unique(classes):
        cells = rng.permutation(np.flatnonzero(classes == each))
        chosen[cells[: len(cells) // 2]] = True
    return chosen


def with_lost_values(adata: AnnData, rng: np.random.Generator) -> AnnData:
    adata = adata.copy()
    X = dense(adata)
    adata.X = np.where(rng.random(X.shape) < LOST_VALUES, min(X.min(), 0.0), X)
    return adata


def nearest_cells(new: AnnData, reference: AnnData) -> NDArray[np.float64]:
    """Part of the reference whose cells lie as far from their nearest ones, next to how far these do from theirs."""
    n_neighbors = min(N_NEIGHBORS, reference.n_obs - 1)
    search = NearestNeighbors(n_neighbors=n_neighbors, algorithm="brute").fit(standardized(reference))
    of_reference, of_new = search.kneighbors(), search.kneighbors(standardized(new))
    own = (of_reference[0] ** 2).mean(axis=1)
    relative, relative_of_new = (
        (distances**2).mean(axis=1) / own[near].mean(axis=1) for distances, near in (of_reference, of_new)
    )
    n_nearer = np.searchsorted(np.sort(relative), relative_of_new)
    return (1 + len(relative) - n_nearer) / (1 + len(relative))


def dense(adata: AnnData) -> NDArray[np.float64]:
    return adata.X.toarray() if sparse.issparse(adata.X) else np.asarray(adata.X)


def standardized(adata: AnnData) -> NDArray[np.float64]:
    """Cells centred and of length 1: squared distances are 2 − 2 × the correlation."""
    X = dense(adata).astype(np.float64)
    return normalize(X - X.mean(axis=1, keepdims=True))


def tell(new: AnnData, reference: AnnData) -> dict[str, NDArray[np.float64]]:
    """What each way says of the new cells: low where they are of no class of the reference."""
    scutc.tl.transfer(new, reference, labels="label")
    return {
        "typicality": new.obs["utc_typicality"].to_numpy(),
        "share of the vote": new.obs["utc_confidence"].to_numpy(),
        "nearest cells": nearest_cells(new, reference),
    }


def compare(sets: Mapping[str, AnnData]) -> pd.DataFrame:
    """For every way and level the part of the left-out class and of the other cells that would lose their label."""
    rows = []
    for name, adata in usable(sets):
        rng = np.random.default_rng(zlib.crc32(name.encode()))
        classes = adata.obs["label"].astype(str).to_numpy()
        in_reference = halve(classes, rng)
        for left_out in rng.permutation(np.unique(classes))[:MAX_LEFT_OUT]:
            reference = adata[in_reference & (classes != left_out)].copy()
            # Known classes are transferred, so the clusters play no part.
            scutc.tl.utc(reference, 2, orders=[2], screen_genes=False, n_splits=0)
            new = adata[~in_reference].copy()
            unknown = classes[~in_reference] == left_out
            for state, cells in (("as they are", new), ("30 % of values lost", with_lost_values(new, rng))):
                for way, values in tell(cells, reference).items():
                    right = (cells.obs["utc"].astype(str) == classes[~in_reference])[~unknown].mean()
                    rows += [
                        {
                            "data": name,
                            "new cells": state,
                            "way": way,
                            "below": level,
                            "left out": (values < level)[unknown].mean(),
                            "others": (values < level)[~unknown].mean(),
                            "others right": right,
                        }
                        for level in LEVELS[way]
                    ]
    return pd.DataFrame(rows)


def means(rows: pd.DataFrame) -> pd.DataFrame:
    """Means over sets, of means over their classes."""
    keys = ["new cells", "way", "below"]
    return rows.groupby([*keys, "data"], sort=False)[["left out", "others"]].mean().groupby(keys, sort=False).mean()


def chosen_without(rows: pd.DataFrame) -> pd.DataFrame:
    """For each set the way and level that finds most in the other sets at a bearable loss, and what it does here."""
    rows = rows[rows["new cells"] == "as they are"]
    table = {}
    for name, here in rows.groupby("data"):
        elsewhere = means(rows[rows["data"] != name]).droplevel("new cells")
        way, level = elsewhere[elsewhere["others"] <= MAX_LOST]["left out"].idxmax()
        here = here[(here["way"] == way) & (here["below"] == level)]
        table[name] = {"way": way, "below": level, **here[["left out", "others", "others right"]].mean()}
    return pd.DataFrame(table).T.rename_axis("data")


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure how cells of unknown types are told.")
    parser.add_argument("folder", nargs="?", default=os.environ.get("SCUTC_DATA"), help="default: $SCUTC_DATA")
    options = parser.parse_args()
    if options.folder is None:
        parser.error("give a folder, or set SCUTC_DATA")
    warnings.simplefilter("ignore")
    rows = compare(scutc.datasets.read_labelled(options.folder))
    without = chosen_without(rows)
    parts = [
        "# Cells of a type that the reference lacks",
        circumstances("scutc", "scanpy", "numpy", "scipy", "scikit-learn"),
        "Written by `benchmarks/transfer.py`, which says how it is measured. *Left out* is the part of the cells of a "
        "type that the reference lacks that would be left without a label, *others* that of the rest, which should "
        f"keep theirs. Means over {rows['data'].nunique()} sets.",
        markdown(means(rows)),
        "## Chosen without the set",
        f"The way and level that finds most in the other sets and costs at most {MAX_LOST:.0%} there. Means: left out "
        f"{without['left out'].mean():.2f}, others {without['others'].mean():.3f}. *Others right* is the part of the "
        "rest that gets the right label.",
        markdown(without),
    ]
    text = "\n\n".join(parts) + "\n"
    (RESULTS / "transfer.md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
