"""The ``scutc`` command and ``python -m scutc``: what happens when it is stopped, from the first moment on."""

from __future__ import annotations

import signal
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

# A signal that stops the command, and what it then says. The exit code is 128 and the signal's number, as in a shell.
STOPPED_BY = {signal.SIGINT: "interrupted", signal.SIGTERM: "terminated"}


class Stopped(KeyboardInterrupt):
    """Raised by a signal. Of KeyboardInterrupt itself Python keeps in mind, in places, to end by the signal."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code."""
    received: list[int] = []

    def stop(number: int, frame: object) -> None:
        received.append(number)
        for each in heeded:  # lest a second one stop what puts everything back after the first
            signal.signal(each, signal.SIG_IGN)
        raise Stopped

    # A shell has jobs in the background ignore Ctrl-C.
    heeded = [number for number in STOPPED_BY if signal.getsignal(number) is not signal.SIG_IGN]
    before = {number: signal.signal(number, stop) for number in heeded}
    try:
        # Here, because this takes seconds.
        from ._cli import main as run

        code = run(arguments)
        if code == 0 or not received:
            return code
    except BaseException:
        # Not always a KeyboardInterrupt: what is interrupted in C may fail with an error of its own.
        if not received:
            raise
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    stopped_by = signal.Signals(received[0])
    print(f"scutc: {STOPPED_BY[stopped_by]}", file=sys.stderr)
    return 128 + stopped_by


if __name__ == "__main__":
    raise SystemExit(main())
