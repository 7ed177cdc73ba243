"""`bbpe serve`: a playground in the browser, on this machine alone."""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError, Namespace
from functools import partial

import bbpe

from .command import Command, add_tokenizer, load_named, short_names
from .parsers import UsageError
from .streams import flush, say


def _add_arguments(parser: ArgumentParser) -> None:
    add_tokenizer(parser, several=True, required=False, default="one that is published and on this machine")
    port = "The port of the server; 0 is any free one."
    parser.set_defaults(kept="")
    parser.add_argument("--port", type=_port, default=8642, metavar="N", help=port)


def _port(text: str) -> int:
    if text.isdecimal() and int(text) < 1 << 16:
        return int(text)
    raise ArgumentTypeError(f"expected a number from 0 to 65535, not {text!r}")


def _run(args: Namespace) -> int:
    from bbpe.report.serve import Playground

    loaders = {
        short: partial(load_named, name, args.pattern)
        for short, name in zip(short_names(args.tokenizer), args.tokenizer, strict=True)
    }
    chosen = list(loaders)[:5]
    for name in _published():
        loaders.setdefault(name, partial(bbpe.get_encoding, name))
    if not loaders:
        raise UsageError("there is no tokenizer; expected -t, or a published one on this machine (`bbpe fetch NAME`)")
    for name in chosen:
        loaders[name] = partial(_same, loaders[name]())  # a file that cannot be read is an error now, not in the page
    try:
        playground = Playground(loaders, chosen or list(loaders)[:1], args.port)
    except OSError as error:
        raise OSError(f"port {args.port}: {error.strerror}; choose another by --port, 0 for any free one") from None
    with playground as server:
        say(f"open {server.url} in a browser; Ctrl-C ends the server")
        flush()
        server.serve_forever()
    return 0


def _same(tok: bbpe.Tokenizer) -> bbpe.Tokenizer:
    return tok


def _published() -> list[str]:
    """Return the names of published tokenizers that are on this machine."""
    from bbpe.published.find import MissingError, found
    from bbpe.published.table import PUBLISHED

    names = []
    for name, row in PUBLISHED.items():
        try:
            found(row)
        except (MissingError, OSError):
            continue
        names.append(name)
    return names


COMMAND = Command(_add_arguments, _run)
