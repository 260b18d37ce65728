"""What the comparisons share: the methods of the paper, preparation, measurement, Markdown and the machine."""

from __future__ import annotations

import ast
import hashlib
import os
import platform
import time
from datetime import date
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import scanpy as sc

import scutc
from scutc.baselines import CAN, CAVE, IPS2, PPS, SpectralClustering
from scutc.core.geometry import Geometry
from scutc.core.solvers.column_form import ColumnForm

if TYPE_CHECKING:
    from collections.abc import Callable

    from anndata import AnnData

    from scutc.core.settings import Settings

RESULTS = Path(__file__).parent / "results"
SCORES = list(scutc.metrics.METRICS)
N_VARIABLE = 2000
RIVALS = {"SC": SpectralClustering, "CAN": CAN, "CAVE": CAVE, "PPS": PPS, "IPS2": IPS2}

# Readers must know it before they compare.
DISCLOSURE = (
    "UTC's defaults of version 0.1.0 were chosen on 26 labelled data sets. For 0.2.0 its rules and constants were "
    "looked at on 40, these and 14 newer ones, most without leaving a set out. So none of the 40 is untouched. The "
    "rivals were not fitted to them, except for the number of neighbours of PPS above 140 cells: expect UTC's lead to "
    "be smaller on other data. Differences in mean ARI below 0.02 are noise."
)


def prepare(adata: AnnData, *, all_genes: bool = False) -> AnnData:
    """The same for every method: log-normalised, 2 000 most variable genes; images and negative values as they are."""
    values = adata.uns["values"]
    if values == "pixels" or adata.X.min() < 0:
        return adata
    sc.pp.filter_genes(adata, min_cells=3)
    if not values.startswith("log"):
        sc.pp.normalize_total(adata, target_sum=1e4 if values.startswith("linear") else None)
        sc.pp.log1p(adata)
    return adata if all_genes else with_variable_genes(adata)


def with_variable_genes(adata: AnnData) -> AnnData:
    """With its 2 000 most variable genes; adata itself, if it has no more."""
    if adata.n_vars <= N_VARIABLE:
        return adata
    sc.pp.highly_variable_genes(adata, n_top_genes=N_VARIABLE, flavor="seurat")
    return adata[:, adata.var["highly_variable"]].copy()


def column_form(X: Any, **parameters: Any) -> tuple[ColumnForm, Geometry, Settings]:
    """The objective of the paper's model with scutc's defaults, or other parameters, and what it is made of."""
    settings = scutc.UTC(n_anchors=None, n_pairs=None, **parameters)._settings(X.shape[1])
    geometry = Geometry.of(X, settings.metric)
    return ColumnForm.of(geometry, settings), geometry, settings


def measure(adata: AnnData, cluster: Callable[[AnnData], Any]) -> dict[str, float]:
    """Number of clusters found, the five scores against ``obs["label"]``, and the time."""
    start = time.perf_counter()
    labels = cluster(adata)
    seconds = time.perf_counter() - start
    adata.obs["found"] = pd.Categorical(np.asarray(labels))
    scores = scutc.metrics.score(adata, "found", "label").round(4)
    return {"clusters": adata.obs["found"].nunique(), **scores, "seconds": round(seconds, 3)}


def markdown(table: pd.DataFrame) -> str:
    """A table whose index is the first column; two decimals, a dash for what was not measured."""
    table = table.reset_index()
    rows = [[_cell(value) for value in row] for row in table.itertuples(index=False)]
    lines = [[str(name) for name in table.columns], ["---"] * table.shape[1], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return "–" if np.isnan(value) else f"{value:.2f}"
    return str(value)


def circumstances(*packages: str) -> str:
    """The date, the versions, the machine and the code, for the head of a report."""
    return f"Measured on {date.today()} with {environment(*packages)}."


def environment(*packages: str) -> str:
    """What results depend on: the versions, the machine and the code."""
    versions = ", ".join(f"{name} {version(name)}" for name in packages)
    return f"Python {platform.python_version()}, {versions}; {os.cpu_count()} cores, {_processor()}; code {_code()}"


def _code() -> str:
    """A hash of the code that decides labels; the programs that ask for them and report do not."""
    package, here = Path(scutc.__file__).parent, Path(__file__).parent
    files = [
        *sorted((package / "core").rglob("*.py")),
        *sorted((package / "baselines").rglob("*.py")),
        *(package / name for name in ("_estimator.py", "_validation.py", "_parameters.py", "metrics.py")),
        *(here / name for name in ("common.py", "methods.py", "peers_worker.py", "tasks.py")),
    ]
    # Without comments and line breaks, which decide nothing.
    source = "".join(ast.dump(ast.parse(file.read_text())) for file in files)
    return hashlib.sha256(source.encode()).hexdigest()[:8]


def _processor() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    lines = cpuinfo.read_text().splitlines() if cpuinfo.exists() else []
    models = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return models[0] if models else platform.processor() or platform.machine()
