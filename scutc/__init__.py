"""Uniform tensor clustering of single cells."""

from importlib.metadata import version

from . import datasets, metrics, tl
from ._estimator import UTC

__all__ = ["UTC", "datasets", "metrics", "tl"]
__version__ = version("scutc")
