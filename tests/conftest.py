from __future__ import annotations

import hashlib
import pickle
from collections.abc import Mapping

import dask.array as da
import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
import scanpy as sc
from anndata import AnnData
from scipy import sparse
from threadpoolctl import threadpool_limits

mpl.use("Agg")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--fuzz", type=int, default=None, help="number of random cases in test_fuzz.py")


@pytest.fixture(scope="session", autouse=True)
def _one_blas_thread():
    """Tests run in parallel, one process for each core: threads of BLAS would only wait for each other."""
    with threadpool_limits(limits=1):
        yield


def make_groups(sizes: tuple[int, ...] = (20, 15, 10), n_genes: int = 60, seed: int = 0) -> AnnData:
    """Log-normalised counts of groups of cells, each with genes of its own; ``obs["group"]`` is the truth."""
    rng = np.random.default_rng(seed)
    groups = np.repeat(np.arange(len(sizes)), sizes)
    rates = np.full((len(sizes), n_genes), 1.0)
    for group in range(len(sizes)):
        rates[group, group :: len(sizes)] = 6.0
    adata = AnnData(rng.poisson(rates[groups]).astype(np.float32))
    adata.obs["group"] = groups.astype(str)
    sc.pp.normalize_total(adata)
    sc.pp.log1p(adata)
    return adata


def snapshot(adata: AnnData) -> dict[str, object]:
    """All that a tool could have written to, to be compared before and after: any change is seen, and where it is."""
    if adata.isbacked:
        adata.file["obs"].file.flush()
    parts = ("X", "obs", "var", "obsm", "varm", "obsp", "varp", "uns")
    return {part: _frozen(getattr(adata, part)) for part in parts} | {
        # From anndata 0.13 on, X is the layer None.
        "layers": _frozen({name: layer for name, layer in adata.layers.items() if name is not None}),
        "raw": adata.raw and [_frozen(getattr(adata.raw, part)) for part in ("X", "var", "varm")],
        "file": adata.isbacked and _hash(adata.filename.read_bytes()),
        "view": adata.is_view,
    }


def _frozen(value: object) -> object:
    """Equal for two values only if their types and all that they hold are, whatever memory they lie in."""
    if isinstance(value, Mapping):
        return [(key, _frozen(item)) for key, item in value.items()]
    if isinstance(value, list | tuple):
        return type(value), [_frozen(item) for item in value]
    if isinstance(value, pd.DataFrame):
        return [_frozen(value.index), _frozen(value.columns), *(_frozen(column) for _, column in value.items())]
    if isinstance(value, pd.Series | pd.Index) and isinstance(value.dtype, pd.CategoricalDtype):
        categorical = pd.Categorical(value)
        return value.name, categorical.ordered, _frozen(categorical.categories), _frozen(categorical.codes)
    if isinstance(value, pd.Series | pd.Index):
        return value.name, str(value.dtype), _frozen(value.to_numpy())
    if isinstance(value, da.Array):
        blocks = [value.blocks[place] for place in np.ndindex(*value.numblocks)]
        return str(value.chunks), [_frozen(block.compute(scheduler="synchronous")) for block in blocks]
    if sparse.issparse(value):
        parts = (value.data, value.indices, value.indptr)
        kind = value.format, isinstance(value, sparse.sparray)
        return kind, value.shape, [_frozen(np.asarray(part)) for part in parts]
    if isinstance(value, np.ndarray):
        # Objects one by one: whether two of them are the same object in memory shows if they are pickled together.
        content = b"".join(map(pickle.dumps, value.ravel())) if value.dtype.hasobject else value.tobytes()
        return str(value.dtype), value.shape, _hash(content)
    if hasattr(value, "shape") and hasattr(value, "__getitem__") and not np.isscalar(value):  # in a file
        return _frozen(value[:])
    return _hash(pickle.dumps(value))


def _hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]


@pytest.fixture
def adata() -> AnnData:
    return make_groups()


def blobs(sizes=(40, 30, 20), n_directions=5, seed=0):
    """Points in groups of these sizes, and the group of each."""
    rng = np.random.default_rng(seed)
    truth = np.repeat(np.arange(len(sizes)), sizes)
    return rng.normal(size=(len(truth), n_directions)) + 6 * rng.normal(size=(len(sizes), n_directions))[truth], truth
