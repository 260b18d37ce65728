"""Uniform tensor clustering of single cells."""

from importlib.metadata import version

from . import baselines, datasets, metrics, pl, tl
from ._estimator import UTC

__all__ = ["UTC", "baselines", "datasets", "metrics", "pl", "tl"]
__version__ = version("scutc")
