"""Labels at a given number of clusters: many small tasks, groups of unequal size, seeds, and orders that disagree.

Usage: python benchmarks/labels.py FOLDER    (or the folder in the variable SCUTC_DATA; needs the extra ``benchmark``)

The folder holds labelled .h5ad files, as for quality.py. Without one only crossing lines are measured. Writes labels.md
to benchmarks/results.

One data set moves by 0.3 in ARI where little changes, so each gives several tasks of at most 400 cells: all of its
classes, or some of them with 85 % of their cells; and some with sizes drawn unequal, the largest up to twenty times
the smallest. Results are averaged within a set first, and differences have the standard error over sets.
"""

from __future__ import annotations

import argparse
import os
import warnings
import zlib
from itertools import combinations, product
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from common import RESULTS, circumstances, markdown, prepare
from quality import run_kmeans, run_leiden_at_k, run_utc
from sklearn.metrics import adjusted_rand_score
from tqdm import tqdm

import scutc

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from anndata import AnnData
    from numpy.typing import NDArray

MAX_CELLS = 400
MIN_CLASS = 5
TASKS = range(2)
SMALLEST_SHARE = 0.05
SEEDS = range(6)
# Larger sets would take most of the time.
MAX_CELLS_OF_SEEDS = 1000
METHODS = {"UTC": run_utc, "k-means on PCA": run_kmeans, "Leiden at k": run_leiden_at_k}


def classes_of(adata: AnnData) -> NDArray[np.intp]:
    return np.unique(adata.obs["label"].astype(str), return_inverse=True)[1]


def some_classes(classes: NDArray[np.intp], rng: np.random.Generator) -> NDArray[np.intp]:
    """At least two of the classes that have a few cells."""
    large = np.flatnonzero(np.bincount(classes) >= MIN_CLASS)
    return rng.choice(large, size=min(int(rng.integers(2, max(len(large), 2) + 1)), len(large)), replace=False)


def as_they_are(classes: NDArray[np.intp], task: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """Cells of all classes in the first task, of some in others, in the sizes that they have."""
    chosen = some_classes(classes, rng) if task else np.flatnonzero(np.bincount(classes) >= MIN_CLASS)
    cells = np.flatnonzero(np.isin(classes, chosen))
    if task:
        cells = cells[rng.random(len(cells)) < 0.85]
    if len(cells) > MAX_CELLS:
        cells = np.sort(rng.choice(cells, MAX_CELLS, replace=False))
    return cells[np.bincount(classes[cells])[classes[cells]] >= 3]


def unequal(classes: NDArray[np.intp], task: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """Cells of some classes, their shares drawn evenly on a log scale."""
    chosen = some_classes(classes, rng)
    there = np.bincount(classes)[chosen]
    sizes = np.exp(rng.uniform(np.log(SMALLEST_SHARE), 0.0, len(chosen)))
    sizes *= min(np.quantile(there / sizes, 0.25), MAX_CELLS / sizes.sum())
    sizes = np.minimum(np.maximum(sizes, MIN_CLASS), there).astype(np.intp)
    drawn = [
        rng.choice(np.flatnonzero(classes == each), size, replace=False)
        for each, size in zip(chosen, sizes, strict=True)
    ]
    return np.sort(np.concatenate(drawn))


KINDS = {"as they are": as_they_are, "unequal": unequal}


def tasks(sets: Mapping[str, AnnData]) -> Iterator[tuple[dict[str, Any], AnnData]]:
    for name in sets:
        adata = prepare(sets[name])
        classes = classes_of(adata)
        for (number, kind), task in product(enumerate(KINDS), TASKS):
            rng = np.random.default_rng([zlib.crc32(name.encode()), task, number])
            part = adata[KINDS[kind](classes, task, rng)].copy()
            spread = np.ptp(part.X.toarray() if hasattr(part.X, "toarray") else part.X, axis=0)
            if len(np.unique(classes_of(part))) > 1:
                yield {"data": name, "sizes": kind, "task": task}, part[:, spread > 0].copy()


def compare(sets: Mapping[str, AnnData]) -> pd.DataFrame:
    """ARI of every method in every task."""
    rows = []
    for about, part in tqdm(tasks(sets), total=len(sets) * len(KINDS) * len(TASKS), unit="task"):
        truth = classes_of(part)
        for method, cluster in METHODS.items():
            labels = cluster(part.copy(), len(np.unique(truth)))
            rows.append(about | {"method": method, "ARI": adjusted_rand_score(truth, labels)})
    return pd.DataFrame(rows)


def means(rows: pd.DataFrame) -> pd.DataFrame:
    """For each kind of sizes the mean of each method over sets, and UTC's lead with its standard error."""
    table = {}
    for sizes, part in rows.groupby("sizes", sort=False):
        ari = part.pivot_table(index="data", columns="method", values="ARI")
        for method in METHODS:
            lead = ari["UTC"] - ari[method]
            table[sizes, method] = {
                "sets": len(ari),
                "mean ARI": f"{ari[method].mean():.3f}",
                "UTC's lead": "" if method == "UTC" else f"{lead.mean():+.3f} ± {lead.sem():.3f}",
            }
    return pd.DataFrame(table).T.rename_axis(["sizes", "method"])


def agreement_of_seeds(sets: Mapping[str, AnnData]) -> pd.Series:
    """Mean ARI between the labels of any two seeds, for each whole set that is not too large."""
    found = {}
    for name in tqdm(sets, unit="set"):
        if sets[name].n_obs > MAX_CELLS_OF_SEEDS:
            continue
        adata = prepare(sets[name])
        k = adata.obs["label"].nunique()
        labels = [scutc.UTC(k, random_state=seed).fit_predict(adata.X) for seed in SEEDS]
        found[name] = np.mean([adjusted_rand_score(*pair) for pair in combinations(labels, 2)])
    return pd.Series(found, name="ARI between seeds").rename_axis("data")


def crossing_lines() -> pd.DataFrame:
    """Accuracy on Syndata-1, fused and by order 3 alone, the mean of three draws of the noise."""
    table = {}
    for n, noise in product((20, 40, 41, 80), (0.0, 0.01, 0.03, 0.05)):
        fused, alone = [], []
        for seed in range(3):
            lines = scutc.datasets.syndata1(n, noise, random_state=seed)
            for accuracies, orders in ((fused, (2, 3, 4)), (alone, (3,))):
                labels = scutc.UTC(2, metric="euclidean", orders=orders).fit_predict(lines.X)
                accuracies.append(scutc.metrics.clustering_accuracy(lines.obs["label"], labels))
        table[n, noise] = {"fused": np.mean(fused), "order 3 alone": np.mean(alone)}
    return pd.DataFrame(table).T.rename_axis(["points", "noise"])


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure labels at a given number of clusters.")
    parser.add_argument("folder", nargs="?", default=os.environ.get("SCUTC_DATA"), help="default: $SCUTC_DATA")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    lines = crossing_lines()
    parts = [
        "# Labels at a given number of clusters",
        circumstances("scutc", "scanpy", "igraph", "numpy", "scipy", "scikit-learn"),
        "Written by `benchmarks/labels.py`, which says how tasks are drawn.",
        "## Crossing lines",
        f"Accuracy on Syndata-1 under Euclidean distances. Means: fused {lines['fused'].mean():.3f}, order 3 alone "
        f"{lines['order 3 alone'].mean():.3f}.",
        markdown(lines),
    ]
    if options.folder is not None:
        sets = scutc.datasets.read_labelled(options.folder)
        rows = compare(sets)
        seeds = agreement_of_seeds(sets)
        parts += [
            "## Tasks",
            f"{len(TASKS)} of each kind from every set.",
            markdown(means(rows)),
            "## Seeds",
            f"Sets of at most {MAX_CELLS_OF_SEEDS} cells, seeds 0 to {SEEDS[-1]}. Mean {seeds.mean():.3f}, lowest "
            f"{seeds.min():.2f}, {seeds.idxmin()}.",
            markdown(seeds.to_frame()),
        ]
    text = "\n\n".join(parts) + "\n"
    (RESULTS / "labels.md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
