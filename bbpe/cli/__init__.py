"""The command line, `bbpe` or `python -m bbpe`.

Results go to stdout, progress and errors to stderr.  Exit status: 0 done, 1 an error, told in one line, 2 wrong
usage, 130 interrupted, 141 the reader of stdout has gone.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from bbpe.errors import BBPEError

from . import bench, convert, count, counts, decode, demo, encode, extend, fetch, inspect, prune, train

#: The subcommands, in the order of the help text.
COMMANDS = (
    demo.COMMAND,
    train.COMMAND,
    count.COMMAND,
    counts.COMMAND,
    extend.COMMAND,
    prune.COMMAND,
    encode.COMMAND,
    decode.COMMAND,
    convert.COMMAND,
    inspect.COMMAND,
    fetch.COMMAND,
    bench.COMMAND,
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status; `arguments` defaults to those of the process."""
    args = _parser().parse_args(arguments)
    try:
        status: int = args.run(args)
        sys.stdout.flush()
    except BrokenPipeError:
        # what is still buffered has no reader; without this the interpreter complains about it on its way out
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except KeyboardInterrupt:
        return 130
    except (BBPEError, ValueError, OverflowError, ImportError, OSError) as error:
        sys.stderr.write(f"bbpe: error: {_in_one_line(error)}\n")
        return 1
    return status


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="bbpe", description="Byte-level BPE: train, encode, decode.")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for command in COMMANDS:
        child = commands.add_parser(command.name, help=command.summary, description=command.summary)
        command.add_arguments(child)
        child.set_defaults(run=command.run)
    return parser


def _in_one_line(error: Exception) -> str:
    if isinstance(error, OSError) and error.filename is not None and error.strerror:
        return f"{error.filename}: {error.strerror}"
    return " ".join(str(error).split()) or type(error).__name__
