"""Checks of what users pass in: errors that name the value and the remedy.

A check that a parameter declares is called with the parameter's name and value; what it allows can be read from it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.utils import check_random_state


def is_integer(value: Any) -> bool:
    """Whether it is a whole number by type, and no truth value."""
    return isinstance(value, Integral) and not isinstance(value, bool | np.bool_)


def _is_finite_number(value: Any) -> bool:
    # A truth value is a number to Python, and a mistake as a parameter.
    return isinstance(value, Real) and not isinstance(value, bool) and abs(float(value)) < np.inf


@dataclass(frozen=True)
class OneOf:
    """One of a few words."""

    valid: tuple[str, ...]

    def __call__(self, name: str, value: Any) -> None:
        """Raise unless it is."""
        if value not in self.valid:
            msg = f"{name}={value!r} is unknown. Valid: {', '.join(map(repr, self.valid))}."
            raise ValueError(msg)


@dataclass(frozen=True)
class TrueOrFalse:
    """A truth value."""

    def __call__(self, name: str, value: Any) -> None:
        """Raise unless it is."""
        if not isinstance(value, bool | np.bool_):
            msg = f"{name}={value!r} is neither True nor False."
            raise ValueError(msg)


@dataclass(frozen=True)
class PositiveInteger:
    """A whole number above 0, or one of the other values that are allowed."""

    others: tuple[str | int | None, ...] = ()

    def __call__(self, name: str, value: Any) -> None:
        """Raise unless it is."""
        if any(value is other or (isinstance(value, str) and value == other) for other in self.others):
            return
        if not is_integer(value) or (value < 1 and value not in self.others):
            valid = " or ".join(["a positive integer", *map(repr, self.others)])
            msg = f"{name}={value!r} is not {valid}."
            raise ValueError(msg)


@dataclass(frozen=True)
class NumberOfLandmarks(PositiveInteger):
    """A number of landmarks, which have neighbours among themselves."""

    def __call__(self, name: str, value: Any) -> None:
        """Raise unless it is."""
        super().__call__(name, value)
        if value == 1:
            msg = f"{name}=1 has no neighbours to be compared with: take at least 2, better many more."
            raise ValueError(msg)


@dataclass(frozen=True)
class PositiveNumber:
    """A finite number above 0."""

    def __call__(self, name: str, value: Any) -> None:
        """Raise unless it is."""
        if not _is_finite_number(value) or value <= 0:
            msg = f"{name}={value!r} is not a positive number."
            raise ValueError(msg)


@dataclass(frozen=True)
class SubsetOf:
    """One or more of some whole numbers."""

    valid: tuple[int, ...]

    def __call__(self, name: str, value: Any) -> None:
        """Raise unless it is."""
        given = [value] if isinstance(value, Iterator) or not np.iterable(value) else list(value)
        if not given or not all(is_integer(each) and each in self.valid for each in given):
            msg = f"{name}={value!r} is not a non-empty subset of {self.valid}."
            raise ValueError(msg)


@dataclass(frozen=True)
class Weights:
    """A dictionary from some whole numbers to weights, or nothing."""

    valid: tuple[int, ...]

    def __call__(self, name: str, value: Any) -> None:
        """Raise unless it is."""
        check_mapping(name, value)
        for order, weight in (value or {}).items():
            if not is_integer(order) or order not in self.valid:
                msg = f"{name} names order {order!r}. Valid: {', '.join(map(repr, self.valid))}."
                raise ValueError(msg)
            check_positive_number(f"{name}[{order}]", weight)


check_positive_integer = PositiveInteger()
check_positive_number = PositiveNumber()


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


def check_n_jobs(name: str, value: Any) -> None:
    """Raise on a number of threads that is none."""
    if value is not None and (not is_integer(value) or value == 0):
        msg = f"{name}={value!r} is no number of threads. Use 1 or more, or -1 for all cores."
        raise ValueError(msg)


def check_mapping(name: str, value: Any) -> None:
    """Raise unless it is a dictionary or nothing."""
    if value is not None and not isinstance(value, Mapping):
        msg = f"{name}={value!r} is not a dictionary."
        raise TypeError(msg)


@dataclass(frozen=True)
class FunctionOrNone:
    """A function, or nothing; ``kind`` says of what kind."""

    kind: str

    def __call__(self, name: str, value: Any) -> None:
        """Raise unless it is."""
        if value is not None and not callable(value):
            msg = f"{name}={value!r} is not a function that {self.kind}."
            raise ValueError(msg)


def check_seed(name: str, value: Any) -> None:
    """Raise on what is neither a seed nor a generator, nor nothing."""
    if value is None or value is np.random or isinstance(value, np.random.RandomState | np.random.Generator):
        return
    if not is_integer(value) or not 0 <= value < 2**32:
        msg = f"{name}={value!r} is not a seed: an integer from 0 to 2**32 - 1 is, or a generator of numpy."
        raise ValueError(msg)


def draw_seed(random_state: Any) -> int:
    """The seed itself, or one that is drawn from a generator."""
    if is_integer(random_state):
        return int(random_state)
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(np.iinfo(np.int32).max))
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
