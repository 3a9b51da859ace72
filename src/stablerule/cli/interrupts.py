"""What Ctrl-C does: it ends the program at once while there is nothing to lose, and interrupts the work afterwards."""

import os
import signal
import sys
from types import FrameType

INTERRUPTED = 130


def end_at_once() -> None:
    """From now on Ctrl-C ends the process quietly, without a look at what it is doing: it imports, or it is done.

    A process that ignores Ctrl-C, as those in the background of a shell do, goes on to ignore it.
    """
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _end_interrupted_command)


def interrupt_work() -> None:
    """From now on Ctrl-C raises KeyboardInterrupt, so that the work can keep what it has and clean up."""
    if signal.getsignal(signal.SIGINT) is _end_interrupted_command:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def is_interrupt(error: BaseException | None) -> bool:
    """Tell whether Ctrl-C is behind an error: Python 3.11 and some imports wrap it in an error of another kind."""
    while error is not None:
        if isinstance(error, KeyboardInterrupt):
            return True
        error = error.__cause__
    return False


def _end_interrupted_command(signal_number: int, frame: FrameType | None) -> None:
    sys.stderr.write("Interrupted.\n")
    sys.stderr.flush()
    os._exit(INTERRUPTED)
