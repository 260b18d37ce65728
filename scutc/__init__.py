"""Uniform tensor clustering of single cells."""

from importlib.metadata import version

from . import baselines, tl
from ._estimator import UTC

__all__ = ["UTC", "baselines", "tl"]
__version__ = version("scutc")
