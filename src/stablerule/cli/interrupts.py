"""What Ctrl-C does: end the program at once while there is nothing to save, interrupt the work afterwards."""

import os
import signal
import sys
from types import FrameType

INTERRUPTED = 130


def end_at_once() -> None:
    """Let Ctrl-C end the process at once and without a traceback: for use while it only imports, or after its work.

    A process that ignores Ctrl-C, as background jobs of a shell do, still ignores it.
    """
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _end_interrupted_command)


def interrupt_work() -> None:
    """Let Ctrl-C raise KeyboardInterrupt, so that the work can save its results and clean up."""
    if signal.getsignal(signal.SIGINT) is _end_interrupted_command:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def is_interrupt(error: BaseException | None) -> bool:
    """Return whether Ctrl-C caused an error: Python 3.11 and some imports wrap it in another kind of error."""
    while error is not None:
        if isinstance(error, KeyboardInterrupt):
            return True
        error = error.__cause__
    return False


def _end_interrupted_command(signal_number: int, frame: FrameType | None) -> None:
    sys.stderr.write("Interrupted.\n")
    sys.stderr.flush()
    os._exit(INTERRUPTED)
