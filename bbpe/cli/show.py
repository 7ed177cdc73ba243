"""`bbpe show`: the tokens of a text, in colour."""

from __future__ import annotations

import shlex
from argparse import ArgumentParser, Namespace
from pathlib import Path

from bbpe.report.terminal import line_columns, shown
from bbpe.text import shortened

from .command import Command, add_special, add_tokenizer, tokenizers_of
from .parsers import UsageError
from .streams import STDIN, add_color, add_json, in_colour, note, say, say_json, stdin


def _add_arguments(parser: ArgumentParser) -> None:
    what = "The text; - is standard input. [default: -]"
    parser.add_argument("text", nargs="?", default=STDIN, metavar="TEXT", help=what)
    add_tokenizer(parser, several=True)
    add_special(parser)
    parser.add_argument("--ids", action="store_true", help="Show the ids too.")
    parser.add_argument("--trace", action="store_true", help="Show how the tokens are made, step by step.")
    add_color(parser)
    add_json(parser)


def _run(args: Namespace) -> int:
    from bbpe.report.view import boxes

    _check(args)
    text = stdin().read() if args.text == STDIN else args.text.encode("utf-8", "surrogateescape")
    if _is_file(args.text):
        name = shlex.quote(args.text)
        note(f"{name} is shown as a text, and there is a file of this name; for its contents write < {name}")
    toks = tokenizers_of(args)
    allowed = "all" if args.special else ()
    if args.trace:
        for name, tok in toks.items():
            made = tok.trace(text, allowed_special=allowed)
            say_json({"name": name, **made.as_dict()}) if args.json else say(f"{shortened(name)}\n{made}")
        return 0
    found = boxes(text, toks, allowed_special=allowed)
    if args.json:
        for each in found:
            say_json({"name": each.name, "ids": each.ids, "tokens": [token.hex() for token in each.tokens],
                      "spans": each.spans})  # fmt: skip
        return 0
    say(shown(found, colour=in_colour(args), with_ids=args.ids, most=line_columns()))
    return 0


def _check(args: Namespace) -> None:
    """Refuse options that would change nothing."""
    for option in ("json", "trace"):
        if args.ids and getattr(args, option):
            raise UsageError(f"--ids does not go with --{option}, which has the ids; expected it without")


def _is_file(text: str) -> bool:
    try:
        return text != STDIN and Path(text).is_file()
    except (OSError, ValueError):  # too long for a name, or with a byte 0
        return False


COMMAND = Command(_add_arguments, _run)
