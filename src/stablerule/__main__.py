"""The entry point of the command line, for `stablerule` and `python -m stablerule`.

It imports almost nothing before Ctrl-C is handled. The rest of the program takes a moment to import, and an interrupt
in the middle of an import can turn into another error or be lost.
"""

import sys


def run() -> None:
    """Run the command line; Ctrl-C ends it without a traceback at any moment, with exit code 130."""
    try:
        from stablerule.cli.interrupts import end_at_once  # noqa: PLC0415

        end_at_once()
        from stablerule.cli.main import run as run_commands  # noqa: PLC0415

        try:
            run_commands()
        finally:
            end_at_once()  # all output is written; only the interpreter's shutdown remains
    except KeyboardInterrupt:  # in the first milliseconds
        sys.exit(130)


if __name__ == "__main__":
    run()
