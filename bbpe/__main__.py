"""Run the command line, as `bbpe` or `python -m bbpe`.

While the command line is imported, and after it has ended, Ctrl-C ends the process by the signal, which a shell shows
as 130: nobody would catch an exception.
"""

import _signal  # type: ignore[import-not-found]
import sys


def main() -> int:
    """Run the command line of this process and return its exit status."""
    # a shell's background jobs ignore the signal
    is_interruptible = _signal.getsignal(_signal.SIGINT) in (_signal.default_int_handler, _signal.SIG_DFL)
    if is_interruptible:
        _signal.signal(_signal.SIGINT, _signal.SIG_DFL)
    from .cli import main as run

    try:
        try:
            if is_interruptible:
                _signal.signal(_signal.SIGINT, _signal.default_int_handler)
            return run()
        finally:
            if is_interruptible:
                _signal.signal(_signal.SIGINT, _signal.SIG_DFL)
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
