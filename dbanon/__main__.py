"""`dbanon` and `python -m dbanon`: the command line, which Ctrl-C ends with one line even while it is loaded."""

import contextlib
import gc
import sys

INTERRUPTED = 130
"""Exit code after Ctrl-C, as shells have it."""


def main() -> None:
    """Run the command line.

    Modules are loaded without searching for garbage, which they do not contain, and are not searched at exit either.
    """
    try:
        gc.disable()
        from dbanon.cli import main as commands

        gc.freeze()
        gc.enable()
        commands(prog_name="dbanon")
    except KeyboardInterrupt:
        with contextlib.suppress(OSError):
            sys.stderr.write("Interrupted.\n")
        sys.exit(INTERRUPTED)
    finally:
        gc.freeze()


if __name__ == "__main__":
    main()
