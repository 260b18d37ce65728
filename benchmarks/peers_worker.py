"""Labels for quality.py by packages that need an environment of their own: SC3s, PhenoGraph and PARC.

That environment's Python runs it, so it imports nothing of scutc. Its first line says which methods are there, with
versions. Then it answers every line ``[method, file with principal components, k]`` with ``{"labels": […]}`` or
``{"error": "…"}``, all in JSON. One process does all, so that the slow imports are paid once and not timed.
"""

import json
import os
import sys
from importlib import import_module
from importlib.metadata import version

import numpy as np


def run_sc3s(sc3s, X, k):
    from anndata import AnnData

    adata = AnnData(np.zeros((len(X), 1)), obsm={"X_pca": X})
    sc3s.tl.consensus(adata, n_clusters=k, random_state=0)
    return adata.obs[f"sc3s_{k}"]


def run_phenograph(phenograph, X, k):
    """It finds the number of clusters itself; cells of clusters that it takes for too small share the label -1."""
    return phenograph.cluster(X, k=n_neighbours(X), n_jobs=1)[0]


def run_parc(parc, X, k):
    """It finds the number of clusters itself."""
    # Version 0.40 breaks where a cluster has more than 40 % of the cells: it reads this default as a global there.
    sys.modules[parc.PARC.__module__].small_pop = 10
    # Cells of small clusters look for another one for up to 15 seconds, in vain where all are small: one is enough.
    found = parc.PARC(X, knn=n_neighbours(X), num_threads=1, time_smallpop=1)
    found.run_PARC()
    return found.labels


def n_neighbours(X):
    """The default of PhenoGraph and PARC; half of the cells where it is more, since a complete graph tells nothing."""
    return min(30, len(X) // 2)


METHODS = {"SC3s": ("sc3s", run_sc3s), "PhenoGraph": ("phenograph", run_phenograph), "PARC": ("parc", run_parc)}


def main():
    # The packages print, so what they print goes elsewhere than the answers.
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    packages = {}
    for method, (name, _) in METHODS.items():
        try:
            packages[method] = import_module(name)
        except ImportError:
            continue  # The report says that it was not run.
    names = {method: METHODS[method][0] for method in packages}
    print(json.dumps({method: f"{name} {version(name)}" for method, name in names.items()}), file=answers)
    for line in sys.stdin:
        method, path, k = json.loads(line)
        try:
            labels = METHODS[method][1](packages[method], np.load(path), k)
            answer = {"labels": np.unique(labels, return_inverse=True)[1].tolist()}
        except Exception as error:  # quality.py says so, and goes on.
            answer = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), file=answers)


if __name__ == "__main__":
    main()
