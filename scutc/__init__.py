"""Uniform tensor clustering of single cells."""

from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from . import pl, tl
from ._estimator import UTC

if TYPE_CHECKING:
    from . import baselines, datasets, metrics

__all__ = ["UTC", "baselines", "datasets", "metrics", "pl", "tl"]
__version__ = version("scutc")


def __getattr__(name: str) -> Any:
    """Import what not everybody needs when it is asked for."""
    if name in __all__:
        return import_module(f"{__name__}.{name}")
    msg = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(msg)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
