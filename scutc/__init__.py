"""Uniform tensor clustering of single cells."""

from importlib.metadata import version

from . import tl
from ._estimator import UTC

__all__ = ["UTC", "tl"]
__version__ = version("scutc")
