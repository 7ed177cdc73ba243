"""The command line, `bbpe` or `python -m bbpe`.

Results go to stdout, progress and errors to stderr.  Exit status: 0 done, 1 an error, told in one line, 2 wrong
usage, 130 interrupted, 141 the reader of stdout has gone.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress
from importlib import import_module
from typing import Any

import bbpe
from bbpe.errors import BBPEError

#: The subcommands and their summaries, in the order of the help text; each is a module of this folder.
COMMANDS = {
    "demo": "Train on Python's own sources, save, load, encode and check.",
    "train": "Train a tokenizer on text files.",
    "count": "Count the pretokens of text files.",
    "counts": "Add up saved counts, or show what they hold.",
    "extend": "Learn more tokens on top of a tokenizer.",
    "prune": "Take tokens away from a tokenizer.",
    "tokens": "Count the tokens of texts, or cut texts to a number of tokens.",
    "encode": "Encode text to ids.",
    "decode": "Decode ids to text.",
    "shard": "Encode a corpus into files that training reads.",
    "shards": "Verify, merge or show such files.",
    "convert": "Convert a tokenizer to another format.",
    "inspect": "Show what a tokenizer file holds.",
    "lint": "Find what is wrong with a vocabulary.",
    "eval": "Measure tokenizers on text: tokens, fertility, cost.",
    "compare": "Show how two tokenizers differ.",
    "view": "Write a page that shows the tokens of a file.",
    "show": "Show the tokens of a text in colour.",
    "serve": "Open a playground for the browser, on this machine alone.",
    "fetch": "Download a published vocabulary by its name.",
    "bench": "Time a tokenizer on a text of yours, beside other libraries.",
    "completion": "Write a script that completes commands, options and names in a shell.",
}


class _CommandParser(argparse.ArgumentParser):
    """The parser of a subcommand, whose module is imported only if the command line names it."""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        command = import_module(f".{self.prog.split()[-1]}", __name__).COMMAND
        command.add_arguments(self)
        self.set_defaults(run=command.run)
        found, unknown = super().parse_known_args(args, namespace)
        if unknown:
            hint = _did_you_mean(unknown[0].partition("=")[0], self._option_string_actions)
            self.error(f"unknown argument {unknown[0]!r}{hint}")
        return found, unknown

    def add_subparsers(self, **options: Any) -> Any:
        return super().add_subparsers(parser_class=argparse.ArgumentParser, **options)


class _Parser(argparse.ArgumentParser):
    """The parser of the program, which suggests the commands that are like an unknown one."""

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is not None and value not in action.choices:
            hint, expected = _did_you_mean(str(value), COMMANDS), ", ".join(COMMANDS)
            raise argparse.ArgumentError(None, f"unknown command {value!r}{hint}; expected one of {expected}")


def _did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return a hint with the known words that are like a word, empty if there are none."""
    from difflib import get_close_matches

    near = get_close_matches(word, list(known), n=2)
    return f" (did you mean {' or '.join(map(repr, near))}?)" if near else ""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status; `arguments` defaults to those of the process."""
    try:
        return _run(arguments)
    except BrokenPipeError:
        status = 141
    except KeyboardInterrupt:
        status = 130
    except Exception as error:
        if isinstance(error.__cause__, KeyboardInterrupt):
            # Python 3.11 wraps in a RuntimeError whatever is raised while a class names its fields
            status = 130
        elif isinstance(error, (BBPEError, ValueError, OverflowError, ImportError, OSError, MemoryError)):
            status = 1
            _report(error)
        else:
            raise
    _leave_output()
    return status


def _run(arguments: Sequence[str] | None) -> int:
    parser = make_parser()
    args = parser.parse_args(arguments)
    if "run" not in args:
        parser.print_help(sys.stderr)
        parser.exit(2)
    status: int = args.run(args)
    import_module(".streams", __name__).flush()
    return status


def make_parser() -> argparse.ArgumentParser:
    """Return the parser of the program; that of a command gets its arguments when it parses."""
    parser = _Parser(prog="bbpe", description="Byte-level BPE: train, encode, decode.")
    parser.add_argument("--version", action="version", version=f"bbpe {bbpe.__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", parser_class=_CommandParser)
    for name, summary in COMMANDS.items():
        commands.add_parser(name, help=summary, description=summary)
    return parser


def _leave_output() -> None:
    """Hand on what was written, or let it go: the interpreter would complain about it on its way out."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _report(error: Exception) -> None:
    if sys.stderr is not None:
        with suppress(OSError):
            sys.stderr.write(f"bbpe: error: {_in_one_line(error)}\n")


def _in_one_line(error: Exception) -> str:
    if isinstance(error, OSError) and error.filename is not None and error.strerror:
        return f"{error.filename}: {error.strerror}"
    words = " ".join(str(error).split())
    return words or ("there is not enough memory" if isinstance(error, MemoryError) else type(error).__name__)
