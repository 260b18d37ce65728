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
    from collections.abc import Iterable

    from numpy.typing import NDArray

SEEDS = range(6)
# Larger sets would take most of the time.
MAX_CELLS = 1000
# A kind of processor before fused multiplication and addition: products of matrices are rounded otherwise. Its code
# runs on all of Intel's and AMD's.
OLDER_PROCESSOR = "Nehalem"


def labels_of_sets(folder: str) -> dict[str, list[NDArray[np.intp]]]:
    """Labels by each seed, for each whole set that is not too large."""
    sets = {name: adata for name, adata in scutc.datasets.read_labelled(folder).items() if adata.n_obs <= MAX_CELLS}
    found = {}
    for name in tqdm(sets, unit="set"):
        adata = prepare(sets[name])
        k = adata.obs["label"].nunique()
        found[name] = [scutc.UTC(k, random_state=seed).fit_predict(adata.X) for seed in SEEDS]
    return found


def labels_on_older_processor(folder: str) -> dict[str, list[NDArray[np.intp]]]:
    """The same, rounded as an older processor would, in a process of its own."""
    with tempfile.TemporaryDirectory() as temporary:
        path = Path(temporary) / "labels.npz"
        environment = os.environ | {"OPENBLAS_CORETYPE": OLDER_PROCESSOR}
        subprocess.run([sys.executable, __file__, folder, "--save", path], check=True, env=environment)
        with np.load(path) as labels:
            return {name: list(labels[name]) for name in labels}


def agreement(folder: str) -> pd.DataFrame:
    """Mean ARI between the labels of any two seeds, and between those of two kinds of processors with one seed."""
    here, older = labels_of_sets(folder), labels_on_older_processor(folder)
    return pd.DataFrame(
        {
            "between seeds": {name: _mean_ari(combinations(labels, 2)) for name, labels in here.items()},
            "between processors": {name: _mean_ari(zip(here[name], older[name], strict=True)) for name in here},
        }
    ).rename_axis("data")


def _mean_ari(pairs: Iterable[tuple[NDArray[np.intp], NDArray[np.intp]]]) -> float:
    return float(np.mean([adjusted_rand_score(*pair) for pair in pairs]))


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
    parser.add_argument("--save", metavar="FILE", help="only write the labels of the sets to this .npz file")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if options.save is not None:
        np.savez(options.save, **labels_of_sets(options.folder))
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
            f"Sets of at most {MAX_CELLS} cells, seeds 0 to {SEEDS[-1]}: ARI between the labels of two seeds, and "
            f"between those of this processor and of OpenBLAS's code for an older kind ({OLDER_PROCESSOR}), which "
            "rounds otherwise, with the same seed.",
            markdown(agree.agg(["mean", "min"]).map("{:.3f}".format).rename_axis("over sets")),
            markdown(agree),
        ]
    text = "\n\n".join(parts) + "\n"
    (RESULTS / "labels.md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
