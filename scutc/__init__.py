"""Uniform tensor clustering of single cells."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import baselines, datasets, metrics, pl, tl
    from ._estimator import UTC

__all__ = ["UTC", "baselines", "datasets", "metrics", "pl", "tl"]


def __getattr__(name: str) -> Any:
    """Import what is asked for when it is: numpy and scikit-learn take seconds, in which the command can be stopped."""
    if name == "UTC":
        return import_module(f"{__name__}._estimator").UTC
    if name in __all__:
        return import_module(f"{__name__}.{name}")
    if name == "__version__":
        return import_module("importlib.metadata").version(__name__)
    msg = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(msg)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, "__version__"})
