"""What each error of the printed algorithm does, measured: the figures of docs/method.md.

Usage: python benchmarks/repairs.py

Needs no data: Syndata-1 and Syndata-2 are made. Writes repairs.md to benchmarks/results.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
from common import RESULTS, circumstances, column_form
from scipy import linalg
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score
from threadpoolctl import threadpool_limits

from scutc import UTC
from scutc.core.affinities import make_affinities
from scutc.core.normalization import normalize
from scutc.core.parallel import no_progress
from scutc.core.solvers.admm import SplitProblem
from scutc.core.solvers.ascent import ascend
from scutc.core.solvers.column_form import starting_columns
from scutc.datasets import syndata1, syndata2
from scutc.metrics import clustering_accuracy

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from scutc.core.solvers.column_form import ColumnForm

N_FEATURES = 200
N_CLUSTERS = 3


def zero_start(form: ColumnForm, start: NDArray[np.float64]) -> str:
    problem = SplitProblem(form, len(start))
    zero = np.zeros_like(start)
    lifted = problem.lift(zero)
    _, gradient = problem.lagrangian(zero, lifted, lifted, 1e-3)
    _, gradient_at_start = problem.lagrangian(start, problem.lift(start), lifted, 1e-3)
    return f"length of the gradient at 0: {linalg.norm(gradient):g}; at our start: {linalg.norm(gradient_at_start):.2f}"


def ascending_sign(form: ColumnForm, start: NDArray[np.float64]) -> str:
    problem = SplitProblem(form, len(start))
    lifted = problem.lift(start)
    none = np.zeros_like(lifted)
    value, gradient = problem.lagrangian(start, lifted, none, 3.0)
    printed, mended = (problem.lagrangian(start + s * 1e-3 * gradient, lifted, none, 3.0)[0] - value for s in (1, -1))
    return f"one step of 10⁻³ changes the function that is to be minimised by {printed:+.4f}; mended, by {mended:+.4f}"


def small_penalty(form: ColumnForm) -> str:
    largest = linalg.eigvalsh(form.tensors[4].unfolding.toarray())[-1]
    return f"smallest eigenvalue of μI − 2L₄ at μ = 10⁻³: {1e-3 - 2 * largest:.3f}; at μ = 3: {3 - 2 * largest:.3f}"


def not_convex(form: ColumnForm, start: NDArray[np.float64]) -> str:
    rng = np.random.default_rng(0)
    values = []
    for _ in range(10):
        rotated = start @ linalg.qr(rng.standard_normal((N_CLUSTERS, N_CLUSTERS)))[0]
        values.append(ascend(form, rotated, max_iter=5000, tol=1e-6, progress=no_progress)[1].objective[-1])
    distinct = len(np.unique(np.round(values, 4)))
    ends = f"{distinct} optima, from {min(values):.3f} to {max(values):.3f}"
    return f"from 10 rotations of one start, `ascent` ends at {ends}"


def flat_affinity(X: Any) -> str:
    spreads = []
    for sharpness in (1e-6, 3.0):
        _, geometry, settings = column_form(X, orders=(4,), sharpness=sharpness)
        contracted = make_affinities(geometry, settings)[4].contract()
        off = contracted[~np.eye(len(contracted), dtype=bool)]
        spreads.append(off.max() / off.min() - 1)
    return (
        f"largest entry of A₄ above the smallest: by {spreads[0]:.1e} of it at σ = 10⁻⁶, by {spreads[1]:.1f} at σ = 3"
    )


def readings() -> str:
    affinity = np.random.default_rng(0).random((8, 8))
    affinity = affinity + affinity.T
    degrees = affinity.sum(axis=1)
    unfolded, expected = (
        linalg.khatri_rao(affinity, affinity),
        linalg.khatri_rao(normalize(affinity), normalize(affinity)),
    )
    rows = np.kron(degrees, degrees)
    ours = unfolded / np.sqrt(rows)[:, None] / degrees
    # As printed for the indecomposable tensor: D₃₁ to the power −½ is said to be D₂ ⊗ D₂ itself.
    printed = unfolded * rows[:, None] / degrees
    errors = [np.abs(reading / expected - 1).max() for reading in (ours, printed)]
    return f"relative error in Theorem 3.2: {errors[0]:.0e} with our reading, {errors[1]:.0e} with one that is printed"


def same_assignment(form: ColumnForm, start: NDArray[np.float64]) -> str:
    columns, _ = ascend(form, start, max_iter=5000, tol=1e-6, progress=no_progress)
    of_product = linalg.eigh(columns @ columns.T)[1][:, -N_CLUSTERS:]
    labels = [KMeans(N_CLUSTERS, n_init=10, random_state=0).fit_predict(points) for points in (columns, of_product)]
    return f"ARI between k-means on V and k-means on the eigenvectors of V Vᵀ: {adjusted_rand_score(*labels):.2f}"


def signed_cosine() -> str:
    adata = syndata1()
    accuracies = {
        cosine: clustering_accuracy(
            adata.obs["label"], UTC(2, orders=(3,), metric="euclidean", cosine=cosine).fit_predict(adata.X)
        )
        for cosine in ("signed", "absolute")
    }
    return "accuracy of order 3 on Syndata-1: " + ", ".join(f"{name} {value:.2f}" for name, value in accuracies.items())


def never_dense(form: ColumnForm, n_cells: int) -> str:
    stored = form.tensors[4].unfolding.nnz
    return (
        f"{n_cells} cells: {stored / 1e6:.1f} million entries with 15 neighbours, {n_cells**4 / 1e6:.0f} million dense"
    )


def main() -> None:
    warnings.simplefilter("ignore")
    adata = syndata2(N_FEATURES)
    with threadpool_limits(1):
        form, geometry, settings = column_form(adata.X)
        start = starting_columns(geometry, settings.n_neighbors, form, N_CLUSTERS)
        # The dense eigensolver of the penalty's test wants fewer pairs.
        small, *_ = column_form(adata.X[::5])
        rows = [
            ("start at 0", zero_start(form, start)),
            ("plus sign in a minimisation", ascending_sign(form, start)),
            ("μ starts at 10⁻³", small_penalty(small)),
            ('"the problem is convex"', not_convex(form, start)),
            ("σ = 10⁻⁶", flat_affinity(adata.X)),
            ("degrees written in three ways", readings()),
            ("two ways to labels", same_assignment(form, start)),
            ("signed cosine", signed_cosine()),
            ("dense tensors", never_dense(form, adata.n_obs)),
        ]
    table = "\n".join(f"| {number} | {error} | {found} |" for number, (error, found) in enumerate(rows, start=1))
    text = "\n\n".join(
        [
            "# What the printed algorithm's errors do",
            circumstances("scutc", "numpy", "scipy", "scikit-learn"),
            f"On Syndata-2 with {N_FEATURES} features, if nothing else is said.",
            f"| # | as printed | measured |\n| --- | --- | --- |\n{table}\n",
        ]
    )
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "repairs.md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
