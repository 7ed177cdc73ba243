"""The command line, `bbpe` or `python -m bbpe`.

Results go to stdout, progress and errors to stderr.  Exit status: 0 done, 1 an error, told in one line, 2 wrong
usage, 130 interrupted, 141 the reader of stdout has gone.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module

import bbpe
from bbpe.errors import BBPEError

#: The subcommands, in the order of the help text; each is a module beside this one.
COMMANDS = (
    "demo", "train", "count", "counts", "extend", "prune", "encode", "decode", "convert", "inspect", "fetch", "bench",
)  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status; `arguments` defaults to those of the process."""
    try:
        return _run(arguments)
    except BrokenPipeError:
        status = 141
    except KeyboardInterrupt:
        status = 130
    except (BBPEError, ValueError, OverflowError, ImportError, OSError, MemoryError) as error:
        status = 1
        if sys.stderr is not None:
            with suppress(OSError):
                sys.stderr.write(f"bbpe: error: {_in_one_line(error)}\n")
    _leave_output()
    return status


def _run(arguments: Sequence[str] | None) -> int:
    # here, where Ctrl-C is heard: importing takes most of the time of a short command
    parser = _parser()
    args = parser.parse_args(arguments)
    if "run" not in args:
        parser.print_help(sys.stderr)
        parser.exit(2)
    status: int = args.run(args)
    import_module(".streams", __name__).flush()
    return status


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="bbpe", description="Byte-level BPE: train, encode, decode.")
    parser.add_argument("--version", action="version", version=f"bbpe {bbpe.__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")
    for name in COMMANDS:
        command = import_module(f".{name}", __name__).COMMAND
        child = commands.add_parser(command.name, help=command.summary, description=command.summary)
        command.add_arguments(child)
        child.set_defaults(run=command.run)
    return parser


def _leave_output() -> None:
    """Hand on what was written, or let it go: the interpreter would complain about it on its way out."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _in_one_line(error: Exception) -> str:
    if isinstance(error, OSError) and error.filename is not None and error.strerror:
        return f"{error.filename}: {error.strerror}"
    words = " ".join(str(error).split())
    return words or ("there is not enough memory" if isinstance(error, MemoryError) else type(error).__name__)
