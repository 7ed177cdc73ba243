"""`bbpe completion`: a script by which a shell completes commands, options, files and names of tokenizers."""

from __future__ import annotations

from argparse import Action, ArgumentParser, Namespace
from collections.abc import Iterator
from typing import Any

from . import make_parser
from .command import Command
from .streams import write

_SHELLS = ("bash", "zsh", "fish")
_NAMES = "_bbpe_tokenizers"
#: What defines a function that prints the names and files that begin with its argument, by shell.
_PREAMBLES = {
    "bash": f'{_NAMES}() {{\n  compgen -f -- "$1"\n  compgen -W "{{names}}" -- "$1"\n}}\n',
    "zsh": f"{_NAMES}() {{\n  _alternative 'names:name:({{names}})' 'files:file:_files'\n}}\n",
    "fish": f"function {_NAMES}\n  __fish_complete_path (commandline -ct)\n  printf '%s\\n' {{names}}\nend\n",
}
_FILES = {"FILE", "PATH", "CORPUS", "FOLDER", "DIR", "B", "OUT.html", "OUT.npy", "OUT.svg"}
#: Arguments that are tokenizers and are not called `tokenizer`.
_TOKENIZERS = {("compare", "left"), ("compare", "right"), ("convert", "source"), ("inspect", "file"), ("fetch", "name")}


def _add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("shell", choices=_SHELLS, metavar="SHELL", help="The shell: bash, zsh or fish.")


def _run(args: Namespace) -> int:
    try:
        import shtab
    except ImportError as error:
        raise ImportError("completion needs shtab; install it with: pip install 'bbpe[cli]'") from error
    from bbpe.published.names import MODELS
    from bbpe.published.table import ALIASES, PUBLISHED

    names = " ".join(sorted({*PUBLISHED, *ALIASES, *MODELS}))
    preambles = {shell: text.replace("{names}", names) for shell, text in _PREAMBLES.items()}
    complete: Any = shtab.complete  # whose annotations name fewer types than it takes
    write(complete(_marked(shtab.FILE), args.shell, preamble=preambles).encode())
    return 0


def _marked(files: Any) -> ArgumentParser:
    """Return the parser of the program with the arguments of all commands, each marked with what completes it."""
    parser = make_parser()
    names = {"bash": _NAMES, "zsh": _NAMES, "fish": f"({_NAMES})"}
    for command, inner in _commands_of(parser).items():
        inner.complete()
        for action in _actions(inner):
            is_tokenizer = action.dest == "tokenizer" or (command, action.dest) in _TOKENIZERS
            if is_tokenizer or action.metavar in _FILES:
                action.complete = names if is_tokenizer else files  # type: ignore[attr-defined]
    return parser


def _commands_of(parser: ArgumentParser) -> dict[str, Any]:
    return next((dict(action.choices) for action in parser._actions if isinstance(action.choices, dict)), {})


def _actions(parser: ArgumentParser) -> Iterator[Action]:
    """Yield the arguments of a command and of its own commands."""
    yield from parser._actions
    for inner in _commands_of(parser).values():
        yield from _actions(inner)


COMMAND = Command(_add_arguments, _run)
