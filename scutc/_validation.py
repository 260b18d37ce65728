"""Checks of what users pass in, for UTC and for the baselines: errors that name the value and the remedy."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from .core.blocks import check_row_chunks, is_dask


def is_integer(value: Any) -> bool:
    """Whether it is a whole number by type, and no truth value."""
    return isinstance(value, Integral) and not isinstance(value, bool | np.bool_)


def check_choice(name: str, value: Any, valid: tuple[str, ...]) -> None:
    """Raise unless a parameter has one of its valid values."""
    if value not in valid:
        msg = f"{name}={value!r} is unknown. Valid: {', '.join(map(repr, valid))}."
        raise ValueError(msg)


def check_positive_integer(name: str, value: Any, *others: str | None) -> None:
    """Raise unless it is a positive integer or one of the other values that are allowed."""
    if any(value is other or (isinstance(value, str) and value == other) for other in others):
        return
    if not is_integer(value) or value < 1:
        valid = " or ".join(["a positive integer", *map(repr, others)])
        msg = f"{name}={value!r} is not {valid}."
        raise ValueError(msg)


def check_positive_number(name: str, value: Any) -> None:
    """Raise unless it is a finite positive number."""
    if not _is_finite_number(value) or value <= 0:
        msg = f"{name}={value!r} is not a positive number."
        raise ValueError(msg)


def check_share(name: str, value: Any) -> None:
    """Raise unless it is a number above 0 and at most 1."""
    if not _is_finite_number(value) or not 0 < value <= 1:
        msg = f"{name}={value!r} is not a number above 0 and at most 1."
        raise ValueError(msg)


def check_nonnegative_number(name: str, value: Any) -> None:
    """Raise unless it is a finite number, 0 or more."""
    if not _is_finite_number(value) or value < 0:
        msg = f"{name}={value!r} is not a number of 0 or more."
        raise ValueError(msg)


def _is_finite_number(value: Any) -> bool:
    # A truth value is a number to Python, and a mistake as a parameter.
    return isinstance(value, Real) and not isinstance(value, bool) and abs(float(value)) < np.inf


def check_n_jobs(n_jobs: Any) -> None:
    """Raise on a number of threads that is none."""
    if n_jobs == 0:
        msg = "n_jobs=0 is no number of threads. Use 1, or -1 for all cores."
        raise ValueError(msg)


def check_mapping(name: str, value: Any) -> None:
    """Raise unless it is a dictionary or nothing."""
    if value is not None and not isinstance(value, Mapping):
        msg = f"{name}={value!r} is not a dictionary."
        raise TypeError(msg)


def check_seed(random_state: Any) -> None:
    """Raise on an integer that cannot be a seed."""
    if is_integer(random_state) and not 0 <= random_state < 2**32:
        msg = f"random_state={random_state!r} is not a seed: an integer from 0 to 2**32 - 1 is."
        raise ValueError(msg)


def draw_seed(random_state: Any) -> int:
    """The seed itself, or one that is drawn from a generator."""
    if is_integer(random_state):
        return int(random_state)
    return int(check_random_state(random_state).randint(np.iinfo(np.int32).max))


def check_n_clusters(n_clusters: Any, n_samples: int, n_landmarks: int | None = None) -> None:
    """Raise unless so many samples, by so many landmarks if there are any, can form so many clusters."""
    check_positive_integer("n_clusters", n_clusters)
    if n_clusters > n_samples:
        msg = f"n_clusters={n_clusters} is more than there are cells (n_samples={n_samples}): ask for fewer clusters."
        raise ValueError(msg)
    if n_landmarks is not None and n_clusters > n_landmarks:
        msg = (
            f"n_landmarks={n_landmarks} is fewer than n_clusters={n_clusters}: set it to many more (2000 are taken by "
            "default above 4000 cells), or to None."
        )
        raise ValueError(msg)


def check_out_of_memory(X: Any, min_samples: int = 1) -> None:
    """Raise unless a Dask or backed array can be read by rows and has so many of them."""
    if len(X.shape) != 2:
        msg = f"Expected 2D array, got one of shape {X.shape}: cells × genes."
        raise ValueError(msg)
    if is_dask(X):
        check_row_chunks(X)
    if getattr(X, "format", None) == "csc":
        msg = "The matrix lies in its file by genes (CSC), but cells are read: load it, or write it as CSR."
        raise NotImplementedError(msg)
    if X.dtype.kind not in "biuf":
        msg = f"The matrix holds {X.dtype}, not numbers."
        raise ValueError(msg)
    if X.shape[0] < min_samples:
        msg = f"Found array with {X.shape[0]} sample(s), but a minimum of {min_samples} is required."
        raise ValueError(msg)


def usable_metric(metric: str, n_features: int) -> str:
    """The metric, or the Euclidean one with a warning where there is but one feature."""
    if metric == "correlation" and n_features == 1:
        msg = "A single feature has no correlation: using metric='euclidean'."
        warnings.warn(msg, UserWarning, stacklevel=3)
        return "euclidean"
    return metric
