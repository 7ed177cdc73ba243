"""Run the command line, as `bbpe` or `python -m bbpe`.

While the command line is imported, and after the command has ended, Ctrl-C ends the process by the signal, which a
shell shows as status 130: at these times nothing would catch an exception.  On Windows, Ctrl-Break does the same.
While the command runs, Ctrl-C raises KeyboardInterrupt.  If Python drops that exception, the interrupt is sent again.
"""

import _signal  # type: ignore[import-not-found]
import _thread
import sys
import time

#: Seconds until an interrupt is sent again: at once it could come just before the main thread begins to wait.
_PAUSE = 0.05
_KEYS = [getattr(_signal, name) for name in ("SIGINT", "SIGBREAK") if hasattr(_signal, name)]


def main() -> int:
    """Run the command line of this process and return its exit status."""
    # a shell's background jobs ignore the signal
    heard = [key for key in _KEYS if _signal.getsignal(key) in (_signal.default_int_handler, _signal.SIG_DFL)]
    _handle(heard, _signal.SIG_DFL)
    from .cli import main as run

    before, main_thread = sys.unraisablehook, _thread.get_ident()

    def report(dropped: "sys.UnraisableHookArgs") -> None:
        """Report an exception that Python has dropped, as in `__del__`; send an interrupt again instead."""
        if isinstance(dropped.exc_value, KeyboardInterrupt):
            _thread.start_new_thread(_interrupt, (main_thread,))
        else:
            before(dropped)

    try:
        try:
            sys.unraisablehook = report
            _handle(heard, _signal.default_int_handler)
            return run()
        finally:
            _handle(heard, _signal.SIG_DFL)
            sys.unraisablehook = before
    except KeyboardInterrupt:
        return 130


def _interrupt(thread: int) -> None:
    """Send an interrupt to a thread after a pause."""
    time.sleep(_PAUSE)
    if hasattr(_signal, "pthread_kill"):  # it also ends what the thread waits for, as a key does
        _signal.pthread_kill(thread, _signal.SIGINT)
    else:
        _signal.raise_signal(_signal.SIGINT)


def _handle(signals: list[int], handler: object) -> None:
    for each in signals:
        _signal.signal(each, handler)


if __name__ == "__main__":
    sys.exit(main())
