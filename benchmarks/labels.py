"""Labels at a given number of clusters: whether seeds and processors agree, and what if orders disagree.

Usage: python benchmarks/labels.py FOLDER    (or the folder in the variable SCUTC_DATA)

The folder holds labelled .h5ad files, as for quality.py. Without one only crossing lines are measured. Writes labels.md
to benchmarks/results.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import warnings
from itertools import combinations, product
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from common import RESULTS, circumstances, markdown, prepare
from sklearn.metrics import adjusted_rand_score
from tqdm import tqdm

import scutc

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from anndata import AnnData
    from numpy.typing import NDArray

SEEDS = range(6)
# Of larger sets only the first seed is taken, as they would take most of the time.
MAX_CELLS = 1000
# A kind of processor before fused multiplication and addition, whose code runs on all of Intel's and AMD's.
OLDER_PROCESSOR = "Nehalem"


def labels_of_sets(sets: Mapping[str, AnnData], seeds: Sequence[int]) -> dict[str, list[NDArray[np.intp]]]:
    """Labels by these seeds for each whole set, only by the first if it is large."""
    found = {}
    for name in tqdm(sets, unit="set"):
        adata = prepare(sets[name])
        k = adata.obs["label"].nunique()
        some = seeds if adata.n_obs <= MAX_CELLS else seeds[:1]
        found[name] = [scutc.UTC(k, random_state=seed).fit_predict(adata.X) for seed in some]
    return found


def labels_on_older_processor(folder: str) -> dict[str, NDArray[np.intp]]:
    """Labels by the first seed, rounded as by an older processor, in a process of its own."""
    newer_instructions = np.show_config(mode="dicts")["SIMD Extensions"].get("found", [])
    environment = {
        "OPENBLAS_CORETYPE": OLDER_PROCESSOR,
        "NPY_DISABLE_CPU_FEATURES": " ".join(newer_instructions),
    }
    with tempfile.TemporaryDirectory() as temporary:
        path = Path(temporary) / "labels.npz"
        command = [sys.executable, __file__, folder, "--save", path]
        subprocess.run(command, check=True, env=os.environ | environment)
        with np.load(path) as labels:
            return dict(labels)


def agreement(folder: str) -> pd.DataFrame:
    """Mean ARI between the labels of any two seeds, and between those of two processors and the truth with one seed."""
    sets = scutc.datasets.read_labelled(folder)
    here, older = labels_of_sets(sets, SEEDS), labels_on_older_processor(folder)
    lines = {}
    for name, labels in here.items():
        pairs, truth = list(combinations(labels, 2)), sets[name].obs["label"]
        lines[name] = {
            "between seeds": np.mean([adjusted_rand_score(*pair) for pair in pairs]) if pairs else np.nan,
            "between processors": adjusted_rand_score(labels[0], older[name]),
            "truth, this processor": adjusted_rand_score(truth, labels[0]),
            "truth, older processor": adjusted_rand_score(truth, older[name]),
        }
    return pd.DataFrame(lines).T.rename_axis("data")


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
    parser.add_argument("--save", help=argparse.SUPPRESS)  # only the first seed's labels of the sets, to this file
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if options.save is not None:
        labels = labels_of_sets(scutc.datasets.read_labelled(options.folder), SEEDS[:1])
        np.savez(options.save, **{name: first for name, (first,) in labels.items()})
        return
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
        agree = agreement(options.folder)
        parts += [
            "## Seeds and processors",
            f"ARI between the labels of two of the seeds 0 to {SEEDS[-1]}, for sets of at most {MAX_CELLS} cells; with "
            "seed 0 between those of this processor and those of an older kind, which rounds otherwise "
            f"({OLDER_PROCESSOR}'s code of OpenBLAS, and numpy without newer instructions); and of either to the "
            "truth.",
            markdown(agree.agg(["mean", "min"]).map("{:.3f}".format).rename_axis("over sets")),
            markdown(agree),
        ]
    text = "\n\n".join(parts) + "\n"
    (RESULTS / "labels.md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
