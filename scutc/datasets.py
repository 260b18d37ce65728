"""The synthetic data of the paper, and labelled data from a folder."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from anndata import AnnData, read_h5ad
from sklearn.utils import check_random_state

from ._validation import check_nonnegative_number, check_positive_integer, is_integer

if TYPE_CHECKING:
    import os

    from numpy.typing import NDArray

__all__ = ["read_labelled", "syndata1", "syndata2"]

N_SIGNAL_FEATURES = 10


def syndata1(n: int = 40, noise: float = 0.0, *, random_state: int | np.random.RandomState | None = 0) -> AnnData:
    """Syndata-1 of the paper: two groups on two straight lines that cross at a right angle.

    Pairs of samples cannot tell the groups: near the crossing, the nearest samples are on the other line. Angles can.
    The samples of a line are evenly spaced, the outermost at a distance of 1 from the crossing, which lies halfway
    between two samples of each line, so that no sample is on both. Use ``metric="euclidean"``: with two features every
    correlation is +1 or −1.

    Parameters
    ----------
    n
        Number of samples, at least 4: half of them on each line, and the odd one on the first. The paper has 40.
    noise
        Standard deviation of what is added to every coordinate; none in the paper.
    random_state
        Seed of the noise.

    Returns
    -------
    Samples × 2, with the line in ``obs["label"]``: ``"horizontal"`` or ``"vertical"``.

    Examples
    --------
    >>> import scutc
    >>> adata = scutc.datasets.syndata1()
    >>> adata.shape
    (40, 2)
    >>> scutc.tl.utc(adata, n_clusters=2, metric="euclidean")
    >>> scutc.metrics.clustering_accuracy(adata.obs["label"], adata.obs["utc"])
    1.0
    """
    check_positive_integer("n", n)
    check_nonnegative_number("noise", noise)
    if n < 4:
        msg = f"n={n}, but two crossing lines need at least 4 samples."
        raise ValueError(msg)
    horizontal, vertical = _beside_zero(n - n // 2), _beside_zero(n // 2)
    X = np.zeros((n, 2))
    X[: len(horizontal), 0] = horizontal
    X[len(horizontal) :, 1] = vertical
    X += check_random_state(random_state).normal(scale=noise, size=X.shape)
    return _labelled(X, ["horizontal", "vertical"], [len(horizontal), len(vertical)])


def _beside_zero(n: int) -> NDArray[np.float64]:
    """Evenly spaced numbers up to 1, as many on either side of 0 as an odd number of them allows, none of them 0."""
    positions = np.arange(n) - n // 2 + 0.5
    return positions / positions[-1]


def syndata2(
    n_features: int = 10_000,
    *,
    group_sizes: Sequence[int] = (40, 35, 30),
    mean: float = 2.0,
    sd: float = 0.5,
    random_state: int | np.random.RandomState | None = 0,
) -> AnnData:
    """Syndata-2 of the paper: three orthogonal groups, hidden under more and more features of noise.

    The paper gives the groups' number, sizes (30 to 40), mean (2) and standard deviation (0.5), says that they are
    orthogonal and that the dimension grows from 10 to 10 000, but not how. Here:

    - The first 10 features are signal, split among the groups: 4, 3 and 3 of them for three groups. In the features of
      its own group a sample is drawn from N(mean, sd²), in those of the others it is exactly 0, so that samples of
      different groups are orthogonal.
    - Every further feature is noise: N(0, sd²) for all samples, whatever their group.

    The squared distance between two groups' centres stays at about 27, while that between two samples of one group
    grows by 0.5 with every feature, to about 5000 with a standard deviation of 70 at 10 000 features.

    Parameters
    ----------
    n_features
        Number of features, at least 10.
    group_sizes
        Number of samples in each group, for 1 to 10 groups.
    mean
        Mean of the samples in the features of their own group, not negative.
    sd
        Standard deviation, of the signal as of the noise.
    random_state
        Seed of all values. Data with fewer features are the first features of data with more.

    Returns
    -------
    Samples × ``n_features``, with the group in ``obs["label"]``, ``"A"``, ``"B"``, …, and in ``var["signal"]`` whether
    a feature is signal or noise.

    Examples
    --------
    >>> import scutc
    >>> adata = scutc.datasets.syndata2(n_features=100)
    >>> adata.shape
    (105, 100)
    >>> adata.obs["label"].value_counts().to_dict()
    {'A': 40, 'B': 35, 'C': 30}
    >>> int(adata.var["signal"].sum())
    10
    """
    check_positive_integer("n_features", n_features)
    check_nonnegative_number("mean", mean)
    check_nonnegative_number("sd", sd)
    if n_features < N_SIGNAL_FEATURES:
        msg = f"n_features={n_features}, but {N_SIGNAL_FEATURES} of them are signal: give at least that many."
        raise ValueError(msg)
    sizes = list(group_sizes) if isinstance(group_sizes, Iterable) else []
    if not 1 <= len(sizes) <= N_SIGNAL_FEATURES or not all(is_integer(size) and size >= 1 for size in sizes):
        msg = f"group_sizes={group_sizes!r} must be a list of 1 to {N_SIGNAL_FEATURES} positive integers."
        raise ValueError(msg)
    groups = np.repeat(np.arange(len(sizes)), sizes)
    owners = np.sort(np.arange(N_SIGNAL_FEATURES) % len(sizes))
    # Drawn feature by feature, so that more features do not change the first ones.
    X = check_random_state(random_state).normal(scale=sd, size=(n_features, len(groups))).T
    signal = X[:, :N_SIGNAL_FEATURES]
    signal += mean
    signal[groups[:, None] != owners] = 0.0
    adata = _labelled(np.ascontiguousarray(X), [chr(ord("A") + group) for group in range(len(sizes))], sizes)
    adata.var["signal"] = np.arange(n_features) < N_SIGNAL_FEATURES
    return adata


def _labelled(X: NDArray[np.float64], names: Sequence[str], sizes: Sequence[int]) -> AnnData:
    labels = pd.Categorical.from_codes(np.repeat(np.arange(len(names)), sizes), categories=names)
    obs = pd.DataFrame({"label": labels}, index=[f"sample_{i}" for i in range(X.shape[0])])
    return AnnData(X, obs=obs, var=pd.DataFrame(index=[f"feature_{j}" for j in range(X.shape[1])]))


def read_labelled(folder: str | os.PathLike[str]) -> Mapping[str, AnnData]:
    """The labelled ``.h5ad`` files of a folder, by name.

    Parameters
    ----------
    folder
        A folder with ``.h5ad`` files whose ``obs["label"]`` is the truth, for every sample. Folders in it are not
        searched, whatever their name.

    Returns
    -------
    A mapping from the files' names, without ``.h5ad`` and in alphabetical order, to AnnData. A file is read when it is
    asked for, and again when it is asked for again, so no more than one has to fit in memory.

    Examples
    --------
    >>> import tempfile
    >>> import scutc
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     scutc.datasets.syndata1().write_h5ad(f"{folder}/lines.h5ad")
    ...     for name, adata in scutc.datasets.read_labelled(folder).items():
    ...         print(name, adata.shape, adata.obs["label"].nunique())
    lines (40, 2) 2
    """
    folder = Path(folder)
    if not folder.is_dir():
        msg = f"There is no folder {folder}."
        raise FileNotFoundError(msg)
    paths = sorted(path for path in folder.glob("*.h5ad") if path.is_file())
    if not paths:
        msg = f"There is no .h5ad file in {folder}."
        raise FileNotFoundError(msg)
    return _LabelledFiles(paths)


class _LabelledFiles(Mapping[str, AnnData]):
    """Reads a file when it is asked for."""

    def __init__(self, paths: Sequence[Path]) -> None:
        self._paths = {path.stem: path for path in paths}

    def __getitem__(self, name: str) -> AnnData:
        path = self._paths[name]
        adata = read_h5ad(path)
        if "label" not in adata.obs:
            # Not a KeyError, which Mapping.get takes for "no such file".
            columns = ", ".join(map(repr, adata.obs)) or "none"
            msg = f"{path} has no obs['label'], the truth. Its columns: {columns}."
            raise ValueError(msg)
        n_missing = int(adata.obs["label"].isna().sum())
        if n_missing:
            msg = f"{path} has {n_missing} of {adata.n_obs} labels missing in obs['label']: leave these samples out."
            raise ValueError(msg)
        return adata

    def __contains__(self, name: object) -> bool:
        # Mapping's own would read the file.
        return name in self._paths

    def __iter__(self) -> Iterator[str]:
        return iter(self._paths)

    def __len__(self) -> int:
        return len(self._paths)

    def __repr__(self) -> str:
        return f"labelled data: {', '.join(self._paths)}"
