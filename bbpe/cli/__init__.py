"""The command line, `bbpe` or `python -m bbpe`.

Results go to stdout, progress and errors to stderr.  Exit status: 0 done, 1 an error (one line), 2 wrong usage
(one line, and one on where to look), 130 interrupted (a line on what is left), 141 the reader of stdout has gone.
"""

from __future__ import annotations

import os
import sys
import time
from argparse import Namespace
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path

import bbpe
from bbpe.errors import BBPEError
from bbpe.report.terminal import error_line

from .parsers import Parser, add_commands, is_usage

#: The commands and their summaries in groups, in the order of the help; each is a module of this folder.
GROUPS = {
    "Train": {
        "train": "Train a tokenizer on text files.",
        "count": "Count the pretokens of text files, to train from them later.",
        "counts": "Add up saved counts, or show what they hold.",
        "extend": "Learn more tokens on top of a tokenizer.",
        "prune": "Remove tokens from a tokenizer.",
    },
    "Use": {
        "encode": "Encode text to ids.",
        "decode": "Decode ids to text.",
        "tokens": "Count the tokens of texts, or cut texts to a number of tokens.",
        "show": "Show the tokens of a text in colour.",
        "view": "Write a page that shows the tokens of files.",
        "serve": "Open a playground in the browser, on this machine only.",
    },
    "Judge": {
        "lint": "Find what is wrong with a vocabulary.",
        "eval": "Measure tokenizers on text: tokens, fertility, cost.",
        "compare": "Show how two tokenizers differ.",
        "inspect": "Show what a tokenizer file holds.",
        "bench": "Time a tokenizer on your text, beside other libraries.",
    },
    "Data": {
        "shard": "Encode a corpus to files that training reads.",
        "shards": "Watch, verify, merge, convert or show shards.",
    },
    "Files": {
        "convert": "Convert a tokenizer to another format.",
        "fetch": "Download a published vocabulary by its name.",
    },
    "Shell": {
        "completion": "Write a script that completes commands, options and names in a shell.",
        "demo": "Train on Python's own sources, save, load, encode and check.",
    },
}
COMMANDS = {name: summary for commands in GROUPS.values() for name, summary in commands.items()}
_DESCRIPTION = (
    "Train tokenizers (BPE, WordPiece, Unigram), encode with published ones, judge them, and write shards for training."
)
#: The arguments of commands that are files or folders to write.
_OUTPUTS = ("output", "target", "map", "log_merges", "numpy", "html", "plot")
#: Errors that the user gets as one line; others are faults of the program.
_REPORTED = (BBPEError, ValueError, OverflowError, ImportError, OSError, MemoryError)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status; `arguments` defaults to those of the process."""
    args, began = Namespace(), time.time()
    try:
        return _run(args, arguments)
    except BrokenPipeError:
        status = 141
    except KeyboardInterrupt:
        status = _interrupted(args, began)
    except Exception as error:
        if isinstance(error.__cause__, KeyboardInterrupt):
            # Python 3.11 wraps in a RuntimeError whatever is raised while a class names its fields
            status = _interrupted(args, began)
        else:
            words = sys.argv[1:] if arguments is None else arguments
            status = _report(error, getattr(args, "parser", None), words)
    _leave_output()
    return status


def _run(args: Namespace, arguments: Sequence[str] | None) -> int:
    parser = make_parser()
    parser.parse_args(arguments, args)
    if "run" not in args:
        parser.print_help(sys.stderr)
        parser.exit(2)
    status: int = args.run(args)
    import_module(".streams", __name__).flush()
    return status


def make_parser() -> Parser:
    """Return the parser of the program; that of a command gets its arguments when it parses."""
    parser = Parser(prog="bbpe", description=_DESCRIPTION)
    parser.add_argument(
        "-V", "--version", action="version", version=f"bbpe {bbpe.__version__}", help="Show the version and exit."
    )
    add_commands(parser, __name__, GROUPS)
    return parser


def _interrupted(args: Namespace, began: float) -> int:
    """Say what a command that was stopped leaves, and return the exit status."""
    outputs = [path for name in _OUTPUTS if isinstance(path := getattr(args, name, None), str)]
    written = [path for path in outputs if _changed(path, began)]
    kept = getattr(args, "kept", None)
    if kept is None and getattr(args, "checkpoint", None) is not None:
        kept = f"the state in {args.checkpoint} is kept: run the same command again to go on"
    if kept is None and (outputs or "run" not in args):
        kept = f"{' and '.join(written)} was written" if written else "nothing was written"
    # a server and a watch end in no other way
    if kept != "" and sys.stderr is not None:
        with suppress(OSError):
            sys.stderr.write(f"bbpe: interrupted{'' if kept is None else f'; {kept}'}\n")
    return 130


def _changed(path: str, began: float) -> bool:
    try:
        return Path(path).stat().st_mtime >= began
    except OSError:
        return False


def _leave_output() -> None:
    """Hand on what was written, or let it go: the interpreter would complain about it on its way out."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _report(error: Exception, parser: Parser | None, arguments: Sequence[str]) -> int:
    """Write what an error says, with options as the command has them, and return the exit status; or raise it."""
    said = _in_one_line(error)
    line = said if parser is None else parser.spelled(said, arguments)
    wrong_usage = parser is not None and is_usage(error, named=line != said, line=line)
    if not wrong_usage and not isinstance(error, _REPORTED):
        raise error
    if sys.stderr is not None:
        with suppress(OSError):
            sys.stderr.write(error_line(f"bbpe: error: {line}") + "\n")
            if parser is not None and wrong_usage:
                sys.stderr.write(parser.look)
    return 2 if wrong_usage else 1


def _in_one_line(error: Exception) -> str:
    if isinstance(error, OSError) and error.filename is not None and error.strerror:
        return f"{error.filename}: {error.strerror}"
    words = " ".join(str(error).split())
    return words or ("there is not enough memory" if isinstance(error, MemoryError) else type(error).__name__)
