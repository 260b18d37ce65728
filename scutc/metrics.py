"""How well clusters agree with known classes: the five scores of the paper.

All of them ignore what clusters are called and take any number of them. Labels are compared by position: the index of
a pandas Series plays no part.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from anndata import AnnData
from scipy.optimize import linear_sum_assignment
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score
from sklearn.metrics.cluster import contingency_matrix, pair_confusion_matrix

from ._anndata import read_obs

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["adjusted_rand", "clustering_accuracy", "nmi", "pairwise_f_score", "purity", "score"]


def clustering_accuracy(truth: ArrayLike, labels: ArrayLike) -> float:
    """Share of samples that are labelled right, when clusters are named after classes in the best way (ACC).

    Each cluster gets at most one class and each class at most one cluster (the Hungarian method), so that with more
    clusters than classes some clusters are all wrong.

    Parameters
    ----------
    truth
        Known class of each sample.
    labels
        Cluster of each sample.

    Examples
    --------
    >>> from scutc.metrics import clustering_accuracy
    >>> clustering_accuracy(["B", "B", "B", "T", "T"], [1, 1, 0, 0, 0])
    0.8
    """
    counts = contingency_matrix(*_check_labels(truth, labels))
    return float(counts[linear_sum_assignment(counts, maximize=True)].sum() / counts.sum())


def adjusted_rand(truth: ArrayLike, labels: ArrayLike) -> float:
    """Agreement on which pairs of samples belong together, less what chance would give (ARI).

    Scikit-learn's ``adjusted_rand_score``: 1 for the same partition, about 0 for a random one, below 0 for a worse.

    Parameters
    ----------
    truth
        Known class of each sample.
    labels
        Cluster of each sample.

    Examples
    --------
    >>> from scutc.metrics import adjusted_rand
    >>> adjusted_rand(["B", "B", "T", "T"], [1, 1, 0, 0])
    1.0
    """
    return float(adjusted_rand_score(*_check_labels(truth, labels)))


def pairwise_f_score(truth: ArrayLike, labels: ArrayLike) -> float:
    """F₁ over pairs of samples: is a pair of one cluster a pair of one class, and the other way round (F-score).

    The harmonic mean of precision (the share of pairs within clusters that are within a class) and recall (the share
    of pairs within classes that are within a cluster). Unlike the ARI it is well above 0 for random labels. Where every
    sample is a class and a cluster of its own it is 1.

    Parameters
    ----------
    truth
        Known class of each sample.
    labels
        Cluster of each sample.

    Examples
    --------
    One pair is together in both, one only in the classes, two only in the clusters.

    >>> from scutc.metrics import pairwise_f_score
    >>> pairwise_f_score(["B", "B", "T", "T"], [0, 0, 0, 1])
    0.4
    """
    (_, only_labels), (only_truth, both) = pair_confusion_matrix(*_check_labels(truth, labels))
    pairs = 2 * both + only_truth + only_labels
    return float(2 * both / pairs) if pairs else 1.0


def nmi(truth: ArrayLike, labels: ArrayLike) -> float:
    """Mutual information of classes and clusters, divided by the arithmetic mean of their entropies (NMI).

    Scikit-learn's ``normalized_mutual_info_score`` with its default. The paper does not say which normalisation it
    used; with the geometric mean or the maximum the values differ where classes and clusters differ in entropy.

    Parameters
    ----------
    truth
        Known class of each sample.
    labels
        Cluster of each sample.

    Examples
    --------
    >>> from scutc.metrics import nmi
    >>> nmi(["B", "B", "T", "T"], [1, 1, 0, 0])
    1.0
    """
    return float(normalized_mutual_info_score(*_check_labels(truth, labels), average_method="arithmetic"))


def purity(truth: ArrayLike, labels: ArrayLike) -> float:
    """Share of samples that belong to the commonest class of their cluster.

    Grows with the number of clusters, to 1 where every sample is a cluster of its own: compare it at equal numbers.

    Parameters
    ----------
    truth
        Known class of each sample.
    labels
        Cluster of each sample.

    Examples
    --------
    >>> from scutc.metrics import purity
    >>> purity(["B", "B", "B", "T", "T"], [0, 0, 1, 1, 2])
    0.8
    """
    counts = contingency_matrix(*_check_labels(truth, labels))
    return float(counts.max(axis=0).sum() / counts.sum())


METRICS = {
    "ACC": clustering_accuracy,
    "ARI": adjusted_rand,
    "F-score": pairwise_f_score,
    "NMI": nmi,
    "purity": purity,
}


def score(adata: AnnData, key: str, truth_key: str) -> pd.Series:
    """All five scores of clusters against known classes.

    Parameters
    ----------
    adata
        Annotated data matrix.
    key
        Column of ``adata.obs`` with the clusters, for example ``"utc"``.
    truth_key
        Column of ``adata.obs`` with the known classes, for example ``"cell_type"``.

    Returns
    -------
    A Series named ``key`` with the index ``ACC``, ``ARI``, ``F-score``, ``NMI`` and ``purity``.

    Examples
    --------
    >>> import scutc
    >>> adata = scutc.datasets.syndata1()
    >>> scutc.tl.utc(adata, n_clusters=2, metric="euclidean")
    >>> scutc.metrics.score(adata, "utc", "label")
    ACC        1.0
    ARI        1.0
    F-score    1.0
    NMI        1.0
    purity     1.0
    Name: utc, dtype: float64
    """
    if not isinstance(adata, AnnData):
        msg = f"adata is a {type(adata).__name__}, not an AnnData. For plain labels use the functions of scutc.metrics."
        raise TypeError(msg)
    for name, column in (("key", key), ("truth_key", truth_key)):
        if np.ndim(column) > 0:
            msg = (
                f"{name} is a {type(column).__name__}, not the name of a column of adata.obs. For labels themselves "
                "use the functions of scutc.metrics, such as scutc.metrics.adjusted_rand(truth, labels)."
            )
            raise TypeError(msg)
    truth, labels = _check_labels(
        read_obs(adata, truth_key, "truth_key"),
        read_obs(adata, key, "key"),
        names=(f"adata.obs[{truth_key!r}]", f"adata.obs[{key!r}]"),
    )
    return pd.Series({name: metric(truth, labels) for name, metric in METRICS.items()}, name=key)


def _check_labels(
    truth: Any, labels: Any, names: tuple[str, str] = ("truth", "labels")
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Both as integers 0, 1, …; raise where they cannot be compared."""
    codes = [_encode(values, name) for values, name in zip((truth, labels), names, strict=True)]
    n_truth, n_labels = map(len, codes)
    if n_truth != n_labels:
        msg = f"truth has {n_truth} samples, labels has {n_labels}: give one of each per sample."
        raise ValueError(msg)
    if n_truth == 0:
        msg = "truth and labels are empty: there is nothing to compare."
        raise ValueError(msg)
    missing = [int((values < 0).sum()) for values in codes]
    if any(missing):
        counts = [f"{count} of {n_truth} in {name}" for count, name in zip(missing, names, strict=True) if count]
        msg = f"Labels are missing: {' and '.join(counts)}. Leave these samples out of both first."
        raise ValueError(msg)
    return codes[0], codes[1]


def _encode(values: Any, name: str) -> NDArray[np.intp]:
    if np.ndim(values) != 1:
        msg = f"{name} must be a sequence with one label per sample, not {np.ndim(values)}-dimensional."
        raise ValueError(msg)
    if isinstance(values, np.ma.MaskedArray):
        codes = pd.factorize(values.data)[0]
        codes[np.ma.getmaskarray(values)] = -1  # masked is missing
        return codes
    # The dtype object keeps a list such as [0, None] or ["a", nan] from being turned into other labels.
    labels = values if hasattr(values, "dtype") else pd.Series(list(values), dtype=object)
    return pd.factorize(labels)[0]
