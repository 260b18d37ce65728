"""Tools: functions that compute something on an AnnData and write it there."""

from ._utc import utc

__all__ = ["utc"]
