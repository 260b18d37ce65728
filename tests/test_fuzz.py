"""Matrices and parameters of all kinds, drawn at random: a sound result comes out, or an error that says something.

``pytest tests/test_fuzz.py -n0 --fuzz 2000`` tries so many other ones, and counts those that go wrong.
"""

from __future__ import annotations

import traceback
import warnings
from dataclasses import dataclass, field
from typing import Any

import anndata
import dask.array as da
import numpy as np
import pandas as pd
import pytest
from anndata import AnnData
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from scipy import sparse

import scutc
from conftest import snapshot
from scutc import UTC

N_CASES = 60
ERRORS = (ValueError, TypeError, NotImplementedError, KeyError)
# What scutc may remark on with such data.
REMARKS = (
    "A single feature has no",
    ".*no more reproducible than",
    ".*did not converge",
    "One cluster",
    ".*one cluster",
    ".*holds whole numbers",
    ".*holds nothing but 0 and 1",
    "Halves of the genes were not compared",
    "Clusters of fewer than 3 cells",
)
# Names that files cannot hold.
BAD_KEYS = ("a/b", "", ".", "_index")
# Every value is finite in all of these: the largest is a few times the scale.
SCALES = {"f2": (1.0, 1e-7, 1e3), "f4": (1.0, 1e-44, 1e-30, 1e37), "f8": (1.0, 5e-324, 1e-300, 1e-30, 1e30, 1e300)}
DTYPES = ("f2", "f4", "f8", ">f4", ">f8", "i1", "u1", "i4", "u8", "bool")


def in_groups(rng, n_cells, n_genes):
    rates = np.where(np.arange(n_genes) % 3 == np.arange(3)[:, None], 9.0, 1.0)
    return rng.poisson(rates[np.arange(n_cells) % 3]).astype(float)


def with_outlier(rng, n_cells, n_genes):
    X = in_groups(rng, n_cells, n_genes)
    X[rng.integers(n_cells)] *= 10.0 ** rng.integers(0, 3)
    return X


def with_constant_cells(rng, n_cells, n_genes):
    X = in_groups(rng, n_cells, n_genes)
    X[rng.random(n_cells) < 0.3] = rng.integers(0, 2)
    return X


KINDS = {
    "groups": in_groups,
    "noise": lambda rng, n_cells, n_genes: rng.normal(size=(n_cells, n_genes)),
    "sparse": lambda rng, n_cells, n_genes: rng.poisson(0.1, size=(n_cells, n_genes)).astype(float),
    "copies of two": lambda rng, n_cells, n_genes: rng.random((2, n_genes))[rng.integers(0, 2, n_cells)],
    "copies of one": lambda rng, n_cells, n_genes: np.tile(rng.random(n_genes), (n_cells, 1)),
    "a line": lambda rng, n_cells, n_genes: np.outer(rng.random(n_cells), rng.random(n_genes)),
    "an outlier": with_outlier,
    "constant cells": with_constant_cells,
    "zeros": lambda rng, n_cells, n_genes: np.zeros((n_cells, n_genes)),
}


def strided(X):
    wide = np.zeros((2 * X.shape[0], 3 * X.shape[1]), X.dtype)
    wide[::2, ::3] = X
    return wide[::2, ::3]


def read_only(X):
    X = X.copy()
    X.flags.writeable = False
    return X


def masked(X):
    return np.ma.masked_array(X, mask=np.arange(X.size).reshape(X.shape) == X.size // 2)


def native(X):
    """Of a type that scipy has."""
    return X.astype(np.float32 if X.dtype == np.float16 else X.dtype.newbyteorder("="))


def shuffled_csr(X):
    """Entries out of order, in two parts each, and nobody may write to them."""
    entries = sparse.coo_matrix(native(X).astype(np.float64))
    order = np.tile(np.random.default_rng(0).permutation(entries.nnz), 2)
    order = order[np.argsort(entries.row[order], kind="stable")]
    starts = np.searchsorted(entries.row[order], np.arange(X.shape[0] + 1))
    parts = entries.data[order] / 2, entries.col[order], starts
    for part in parts:
        part.flags.writeable = False
    return sparse.csr_matrix(parts, shape=X.shape)


LAYOUTS = {
    "C": np.ascontiguousarray,
    "Fortran": np.asfortranarray,
    "strided": strided,
    "backwards": lambda X: X[::-1, ::-1],
    "read-only": read_only,
    "masked": masked,
    "masked nowhere": lambda X: np.ma.masked_array(X),
    "csr_matrix": lambda X: sparse.csr_matrix(native(X)),
    "csr_array": lambda X: sparse.csr_array(native(X)),
    "csc_matrix": lambda X: sparse.csc_matrix(native(X)),
    "coo_matrix": lambda X: sparse.coo_matrix(native(X)),
    "shuffled csr": shuffled_csr,
    "dask": lambda X: da.from_array(X, chunks=(7, -1)),
    "dask csr": lambda X: da.from_array(native(X), chunks=(7, -1)).map_blocks(sparse.csr_matrix),
    "data frame": pd.DataFrame,
}
ONLY_FOR_UTC = ("coo_matrix", "data frame", "masked", "masked nowhere")


@dataclass
class Case:
    """A matrix and what to do with it."""

    n_cells: int
    n_genes: int
    kind: str
    dtype: str
    scale: int
    layout: str
    bad: float | None
    seed: int
    key: str
    mask: bool
    parameters: dict[str, Any] = field(default_factory=dict)

    def values(self) -> np.ndarray:
        X = KINDS[self.kind](np.random.default_rng(self.seed), self.n_cells, self.n_genes)
        dtype = np.dtype(self.dtype)
        if dtype.kind == "f":
            scales = SCALES[self.dtype.strip(">")]
            X = (X * scales[self.scale % len(scales)]).astype(dtype)
            if self.bad is not None:
                X[-1, -1] = self.bad
            return X
        return np.clip(np.round(X), 0, 100).astype(dtype)

    def is_bad(self, X: np.ndarray) -> bool:
        return self.layout == "masked" or not np.isfinite(X.astype(np.float64)).all()


@st.composite
def cases(draw) -> Case:
    def one_of(*values):
        return draw(st.sampled_from(values))

    n_cells = draw(st.integers(2, 60))
    n_clusters = one_of(None, 1, 2, 3, 3, draw(st.integers(1, n_cells)), n_cells, n_cells + 1)
    parameters = {
        "n_clusters": n_clusters,
        "orders": one_of((2, 3, 4), (2,), (3,), (4,), (2, 4)),
        "metric": one_of("auto", "correlation", "euclidean", "spearman"),
        "screen_genes": one_of(True, False),
        "n_splits": one_of("auto", 0, 1),
        "n_neighbors": one_of(15, 1, 3),
        "n_landmarks": one_of("auto", None, None, 2, 5, 20),
        "n_anchors": one_of("auto", None, 3),
        "n_pairs": one_of("auto", 3),
        "affinity": one_of("indecomposable", "indecomposable", "decomposable"),
        "cosine": one_of("absolute", "signed"),
        "effective_rank": one_of(16.0, 1.0, 1e3),
        "weights": one_of(None, {2: 1e-3, 4: 1e3}),
        "random_state": one_of(0, 1),
        "n_jobs": one_of(None, 2),
    }
    if n_cells <= 12 and n_clusters is not None:
        parameters["solver"] = one_of("spectral", "ascent", "admm")
        parameters["n_neighbors"] = 3
    return Case(
        n_cells=n_cells,
        n_genes=draw(st.one_of(st.integers(1, 12), st.integers(1, 400))),
        kind=one_of(*KINDS, "groups", "groups"),
        dtype=one_of(*DTYPES, "f4", "f8"),
        scale=draw(st.integers(0, 5)),
        layout=one_of(*LAYOUTS),
        bad=one_of(None, None, None, None, None, None, np.nan, np.inf),
        seed=draw(st.integers(0, 9)),
        key=one_of("utc", "utc", "a key", "ü", *BAD_KEYS),
        mask=one_of(False, False, False, True),
        parameters=parameters,
    )


def check_labels(labels: np.ndarray, embedding: np.ndarray, confidence: np.ndarray, n_clusters: int | None) -> None:
    sizes = np.bincount(labels)
    assert (np.diff(sizes) <= 0).all()
    assert sizes.min() > 0
    assert n_clusters is None or len(sizes) == n_clusters
    assert np.isfinite(embedding).all()
    assert embedding.shape == (len(labels), max(2, len(sizes)))
    assert ((confidence >= 0) & (confidence <= 1)).all()


def attempt(function):
    """What a function returns, or the error, which must be one of those that users are told."""
    try:
        return function()
    except np.linalg.LinAlgError:  # which is a ValueError
        raise
    except ERRORS as error:
        return error if str(error).strip("'\" ") else pytest.fail(f"{type(error).__name__} says nothing")


def check(case: Case, path) -> None:
    X = case.values()
    parameters, n_clusters = case.parameters, case.parameters["n_clusters"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for remark in REMARKS:
            warnings.filterwarnings("ignore", remark)
        model = attempt(lambda: UTC(**parameters).fit(LAYOUTS[case.layout](X)))
        again = attempt(lambda: UTC(**parameters).fit(LAYOUTS[case.layout](X)))
    assert type(model) is type(again)
    if isinstance(model, UTC):
        assert not case.is_bad(X)
        check_labels(model.labels_, model.embedding_, model.confidence_, n_clusters)
        np.testing.assert_array_equal(model.labels_, again.labels_)
        np.testing.assert_array_equal(model.embedding_, again.embedding_)
    else:
        assert str(model) == str(again)
        assert may_fail(case, X), model
    check_sparse_like_dense(case, X, model)
    if case.layout not in ONLY_FOR_UTC:
        check_tools(case, X, model, path)


def may_fail(case: Case, X: np.ndarray) -> bool:
    """Whether something is wrong with the matrix or the parameters."""
    n_clusters, n_landmarks = case.parameters["n_clusters"] or 1, case.parameters["n_landmarks"]
    few_landmarks = isinstance(n_landmarks, int) and n_landmarks < min(n_clusters, case.n_cells)
    if case.is_bad(X) or n_clusters > case.n_cells or few_landmarks:
        return True
    values = X.astype(np.float64)
    constant = np.ptp(values, axis=1) <= 1e-9 * np.abs(values).max(axis=1)
    undefined = case.parameters["metric"] != "euclidean" and constant.any()
    # The mean of cells around a landmark may be constant where these are not.
    return undefined or (case.parameters["metric"] != "euclidean" and isinstance(n_landmarks, int))


def check_sparse_like_dense(case: Case, X: np.ndarray, model) -> None:
    """Clear groups are the same wherever the values lie."""
    clear = case.kind == "groups" and case.n_genes >= 50 and case.n_cells >= 15 and X.dtype.kind != "b"
    if clear and isinstance(model, UTC) and case.parameters["n_clusters"] == 3 and case.layout != "backwards":
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            dense = UTC(**case.parameters).fit(native(X))
        np.testing.assert_array_equal(model.labels_, dense.labels_)


def check_tools(case: Case, X: np.ndarray, model, path) -> None:
    """``tl.utc`` and ``tl.transfer`` do the same, leave all as it was if they fail, and their results can be kept."""
    adata = AnnData(LAYOUTS[case.layout](X))
    adata.var_names = [f"gene{i}" for i in range(case.n_genes)]
    new = adata.copy()
    before = snapshot(adata)
    mask = np.arange(case.n_genes) % 2 == 0 if case.mask else None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for remark in REMARKS:
            warnings.filterwarnings("ignore", remark)
        error = attempt(lambda: scutc.tl.utc(adata, **case.parameters, mask_var=mask, key_added=case.key))
    if error is not None:
        assert snapshot(adata) == before
        assert case.mask or isinstance(model, ERRORS) or case.key in BAD_KEYS
        return
    assert snapshot(adata)["X"] == before["X"]
    labels = adata.obs[case.key].cat.codes.to_numpy()
    embedding, confidence = adata.obsm[f"X_{case.key}"], adata.obs[f"{case.key}_confidence"].to_numpy()
    check_labels(labels, embedding, confidence, case.parameters["n_clusters"])
    if not case.mask:
        np.testing.assert_array_equal(labels, model.labels_)
    if case.is_bad(X):  # in a gene that is masked, which the new cells must not have either
        return
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        scutc.tl.transfer(new, adata, case.key)
    assert set(new.obs[case.key].cat.categories) == set(adata.obs[case.key].cat.categories)
    assert np.isfinite(new.obsm[f"X_{case.key}"]).all()
    for written in (adata, new):
        kept = AnnData(obs=written.obs, var=written.var, obsm=dict(written.obsm), uns=dict(written.uns))
        kept.write_h5ad(path / "kept.h5ad")
        read = anndata.read_h5ad(path / "kept.h5ad")
        assert read.obs[case.key].tolist() == written.obs[case.key].tolist()


QUIETLY = {"deadline": None, "database": None, "suppress_health_check": list(HealthCheck)}


def test_anything_gives_a_sound_result_or_says_why_not(request, tmp_path):
    n_cases = request.config.getoption("--fuzz")
    if n_cases is None:
        fixed = settings(max_examples=N_CASES, derandomize=True, **QUIETLY)
        fixed(given(cases())(lambda case: check(case, tmp_path)))()
        return
    wrong = []

    @settings(max_examples=n_cases, phases=[Phase.generate], **QUIETLY)
    @given(cases())
    def try_one(case: Case) -> None:
        try:
            check(case, tmp_path)
        except Exception as error:  # all of them are to be counted
            where = traceback.extract_tb(error.__traceback__)[-1]
            wrong.append(f"{type(error).__name__} {str(error)[:200]} in {where.name}, {where.lineno}: {case}")

    try_one()
    if wrong:
        pytest.fail(f"{len(wrong)} of {n_cases} cases went wrong:\n" + "\n".join(wrong))
