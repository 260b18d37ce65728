"""Labels at a given number of clusters: whether seeds agree, and what if orders disagree.

Usage: python benchmarks/labels.py FOLDER    (or the folder in the variable SCUTC_DATA)

The folder holds labelled .h5ad files, as for quality.py. Without one only crossing lines are measured. Writes labels.md
to benchmarks/results.
"""

from __future__ import annotations

import argparse
import os
import warnings
from itertools import combinations, product
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from common import RESULTS, circumstances, markdown, prepare
from sklearn.metrics import adjusted_rand_score
from tqdm import tqdm

import scutc

if TYPE_CHECKING:
    from collections.abc import Mapping

    from anndata import AnnData

SEEDS = range(6)
# Larger sets would take most of the time.
MAX_CELLS_OF_SEEDS = 1000


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
        circumstances("scutc", "scanpy", "numpy", "scipy", "scikit-learn"),
        "Written by `benchmarks/labels.py`.",
        "## Crossing lines",
        "Accuracy on Syndata-1 under Euclidean distances, mean of three draws of the noise.",
        markdown(lines.mean().map("{:.3f}".format).rename("mean accuracy").rename_axis("orders").to_frame()),
        markdown(lines),
    ]
    if options.folder is not None:
        seeds = agreement_of_seeds(scutc.datasets.read_labelled(options.folder))
        parts += [
            "## Seeds",
            f"Sets of at most {MAX_CELLS_OF_SEEDS} cells, seeds 0 to {SEEDS[-1]}, ARI between the labels of two seeds.",
            markdown(seeds.agg(["mean", "min"]).map("{:.3f}".format).rename_axis("over sets").to_frame()),
            markdown(seeds.to_frame()),
        ]
    text = "\n\n".join(parts) + "\n"
    (RESULTS / "labels.md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
