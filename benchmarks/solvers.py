"""The three solvers from one start: objective, time and agreement with known labels; and the cost of a gradient.

Usage: python benchmarks/solvers.py FOLDER    (or the folder in the variable SCUTC_DATA; needs the extra ``benchmark``)

Runs every labelled .h5ad file of the folder with at most 300 cells and writes solvers.md and solvers.csv to
benchmarks/results. Without a folder only the cost of a gradient is measured.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from common import RESULTS, circumstances, column_form, markdown, prepare
from sklearn.metrics import adjusted_rand_score
from threadpoolctl import threadpool_limits
from tqdm import tqdm

import scutc
from scutc.core.affinities import AFFINITIES
from scutc.core.solvers import SOLVERS
from scutc.core.solvers.column_form import polar, starting_columns

if TYPE_CHECKING:
    from anndata import AnnData

MAX_CELLS = 300
ITERATING = [solver for solver in SOLVERS if solver != "spectral"]
GRADIENT = {"n_cells": 1000, "n_neighbors": 10, "n_columns": 5}


def run(name: str, adata: AnnData, affinity: str) -> list[dict[str, Any]]:
    truth = adata.obs["label"]
    k = truth.nunique()
    common = {"data": name, "cells": adata.n_obs, "k": k, "affinity": affinity}
    with threadpool_limits(1):
        form, geometry, settings = column_form(adata.X, affinity=affinity)
        start = form.evaluate(starting_columns(geometry, settings.n_neighbors, form, max(2, k)))[0]
    rows = []
    for solver in SOLVERS:
        model = scutc.UTC(k, solver=solver, affinity=affinity)
        began = time.perf_counter()
        model.fit(adata.X)
        seconds = time.perf_counter() - began
        # The spectral solver's columns are lengthened by their eigenvalues: its subspace is what can be compared.
        columns = polar(model.embedding_) if solver == "spectral" else model.embedding_
        rows.append(
            {
                **common,
                "solver": solver,
                "objective at the start": start,
                "objective": form.evaluate(columns)[0],
                "iterations": model.n_iter_,
                "converged": model.converged_,
                "seconds": seconds,
                "ARI": adjusted_rand_score(truth, model.labels_),
            }
        )
    return rows


def gradient_cost() -> dict[str, float]:
    """Time of one gradient of the full objective, and the memory of the process that made it."""
    n_cells, n_neighbors, n_columns = GRADIENT.values()
    X = np.random.default_rng(0).random((n_cells, 50))
    before = time.perf_counter()
    form, *_ = column_form(X, n_neighbors=n_neighbors)
    columns = polar(np.random.default_rng(1).standard_normal((n_cells, n_columns)))
    built = time.perf_counter()
    form.evaluate(columns)
    done = time.perf_counter()
    again = time.perf_counter()
    form.evaluate(columns)
    return {
        "entries": form.tensors[3].unfolding.nnz + form.tensors[4].unfolding.nnz,
        "building": built - before,
        "first gradient": done - built,
        "gradient": time.perf_counter() - again,
        "GB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2,
    }


def report(table: pd.DataFrame, cost: dict[str, float]) -> str:
    parts = [
        "# The three solvers",
        circumstances("scutc", "numpy", "scipy", "scikit-learn"),
        "## One gradient",
        f"{GRADIENT['n_cells']} cells, {GRADIENT['n_neighbors']} neighbours, {GRADIENT['n_columns']} columns, orders "
        f"2, 3 and 4, one thread: the tensors hold {cost['entries'] / 1e6:.1f} million entries and take "
        f"{cost['building']:.1f} s to build; a gradient takes {cost['gradient']:.2f} s, the first one, which sets up "
        f"sums over pairs, {cost['first gradient']:.2f} s. Peak memory of the process, Python and packages included: "
        f"{cost['GB']:.2f} GB.",
    ]
    for affinity, rows in table.groupby("affinity", sort=False) if len(table) else ():
        wide = rows.pivot_table(index=["data", "cells", "k"], columns="solver", aggfunc="first")
        objective, ari, seconds = wide["objective"], wide["ARI"], wide["seconds"]
        shown = wide["objective at the start"][["ascent"]].set_axis(["f, start"], axis=1)
        for name, values in (("f", objective), ("ARI", ari), ("s", seconds)):
            shown = shown.join(values[list(SOLVERS)].add_prefix(f"{name}, "))
        summary = pd.DataFrame(
            {"mean ARI": ari.mean().map("{:.3f}".format), "median seconds": seconds.median().map("{:.1f}".format)}
        )
        above = {name: int((objective[name] > objective["admm"]).sum()) for name in ITERATING}
        unconverged = {name: int((~wide["converged"][name].astype(bool)).sum()) for name in ITERATING}
        summary = summary.assign(**{"sets with f above that of admm": above, "not converged": unconverged})
        summary = summary.astype(dict.fromkeys(list(summary)[2:], "Int64")).astype(str).replace("<NA>", "–")
        parts += [
            f"## {str(affinity).capitalize()} tensors",
            f"{len(wide)} data sets with at most {MAX_CELLS} cells; all solvers start at the leading eigenvectors of "
            "L₂, have scutc's defaults and get the true number of clusters. f: the objective of the column form, of "
            "the spectral solver's subspace too, which does not maximise it.",
            markdown(summary.loc[list(SOLVERS)].rename_axis("solver")),
            markdown(shown.reset_index(["cells", "k"])),
        ]
    return "\n\n".join(parts) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description="Compare the solvers from the same start.")
    parser.add_argument("folder", nargs="?", default=os.environ.get("SCUTC_DATA"), help="default: $SCUTC_DATA")
    parser.add_argument("--output", type=Path, default=RESULTS, metavar="FOLDER", help="default: benchmarks/results")
    parser.add_argument("--gradient", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if options.gradient:
        with threadpool_limits(1):
            print(json.dumps(gradient_cost()))
        return
    # In a process of its own, whose memory is this and nothing else.
    done = subprocess.run([sys.executable, __file__, "--gradient"], check=True, capture_output=True, text=True)
    cost = json.loads(done.stdout)
    rows = []
    sets = scutc.datasets.read_labelled(options.folder) if options.folder else {}
    for name in tqdm(sets, unit="set"):
        adata = sets[name]
        if adata.n_obs <= MAX_CELLS:
            adata = prepare(adata)
            for affinity in AFFINITIES:
                rows += run(name, adata, affinity)
    table = pd.DataFrame(rows)
    options.output.mkdir(parents=True, exist_ok=True)
    if len(table):
        table.round(4).to_csv(options.output / "solvers.csv", index=False)
    text = report(table, cost)
    (options.output / "solvers.md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
