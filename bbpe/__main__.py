"""Run the command line, as `bbpe` or `python -m bbpe`.

While the command line is imported, and after it has ended, Ctrl-C ends the process by the signal, which a shell shows
as 130: nobody would catch an exception.  Ctrl-Break, which Windows has besides, does the same.  While
the command runs, Ctrl-C raises KeyboardInterrupt, and raises it again if Python has dropped the exception.
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
        """Report an exception that nobody can catch, as in `__del__`; have another thread send an interrupt again."""
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
