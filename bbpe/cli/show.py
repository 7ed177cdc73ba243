"""`bbpe show`: the tokens of a text, in colour."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace

from bbpe.report.terminal import line_columns, shown
from bbpe.text import shortened

from .command import Command
from .streams import STDIN, say, say_json, shows_colour, stdin
from .view import add_tokenizers, tokenizers_of


def _add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("text", nargs="?", default=STDIN, metavar="TEXT", help="(default, and -: standard input)")
    add_tokenizers(parser)
    parser.add_argument("--ids", action="store_true", help="write the ids too")
    parser.add_argument("--trace", action="store_true", help="show how the tokens are made, step by step")
    parser.add_argument("--color", choices=("auto", "always", "never"), default="auto", help="(default: auto)")
    parser.add_argument("--json", action="store_true", help="write one JSON object for each tokenizer")


def _run(args: Namespace) -> int:
    from bbpe.report.view import boxes

    text = stdin().read() if args.text == STDIN else args.text.encode("utf-8", "surrogateescape")
    toks = tokenizers_of(args)
    allowed = "all" if args.special else ()
    if args.trace:
        for name, tok in toks.items():
            say(f"{shortened(name)}\n{tok.trace(text, allowed_special=allowed)}")
        return 0
    found = boxes(text, toks, allowed_special=allowed)
    if args.json:
        for each in found:
            say_json({"name": each.name, "ids": each.ids, "tokens": [token.hex() for token in each.tokens],
                      "spans": each.spans})  # fmt: skip
        return 0
    colour = args.color == "always" or (args.color == "auto" and shows_colour(sys.stdout))
    say(shown(found, colour=colour, with_ids=args.ids, most=line_columns()))
    return 0


COMMAND = Command(_add_arguments, _run)
