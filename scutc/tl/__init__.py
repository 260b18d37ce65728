"""Tools: functions that compute something on an AnnData and write it there."""

from ._transfer import transfer
from ._utc import utc

__all__ = ["transfer", "utc"]
