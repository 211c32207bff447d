"""`dbanon` and `python -m dbanon`: the command line, which Ctrl-C ends with one line even while it is loaded."""

import contextlib
import sys

INTERRUPTED = 130
"""Exit code after Ctrl-C, as shells have it."""


def main() -> None:
    """Run the command line."""
    try:
        from dbanon.cli import main as commands

        commands(prog_name="dbanon")
    except KeyboardInterrupt:
        with contextlib.suppress(OSError):
            sys.stderr.write("Interrupted.\n")
        sys.exit(INTERRUPTED)


if __name__ == "__main__":
    main()
