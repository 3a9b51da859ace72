"""The door of the command line, by `stablerule` or `python -m stablerule`.

It imports next to nothing before Ctrl-C has its answer: the rest of the program takes a moment to import, and an
interrupt in the middle of somebody's import can turn into any other error, or be lost.
"""

import sys


def run() -> None:
    """Run the command line; an interrupt ends it quietly at any moment, with exit code 130."""
    try:
        from stablerule.cli.interrupts import end_at_once  # noqa: PLC0415

        end_at_once()
        from stablerule.cli.main import run as run_commands  # noqa: PLC0415

        try:
            run_commands()
        finally:
            end_at_once()  # all is written: what is left is the end of the interpreter
    except KeyboardInterrupt:  # in the first milliseconds
        sys.exit(130)


if __name__ == "__main__":
    run()
