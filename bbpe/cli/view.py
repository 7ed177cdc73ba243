"""`bbpe view`: a page that shows the tokens of a file by several tokenizers."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from .command import Command, add_pattern, load_named, positive, short_names
from .outputs import check_output, inputs_of
from .streams import STDIN, chunks_of

if TYPE_CHECKING:
    from bbpe.text import Text
    from bbpe.tokenizer import Tokenizer

_MOST = 1 << 20


def add_tokenizers(parser: ArgumentParser) -> None:
    """Add the tokenizers to show side by side."""
    what = "a tokenizer: a file, a folder, or a published name; may be given repeatedly"
    parser.add_argument("-t", "--tokenizer", action="append", required=True, metavar="PATH", help=what)
    add_pattern(parser)
    parser.add_argument("--special", action="store_true", help="special tokens in the text are special, not plain text")


def tokenizers_of(args: Namespace) -> dict[str, Tokenizer]:
    """Load the tokenizers of `add_tokenizers` by short names."""
    loaded = [load_named(name, args.pattern) for name in args.tokenizer]
    return dict(zip(short_names(args.tokenizer), loaded, strict=True))


def _add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("file", nargs="?", default=STDIN, metavar="FILE", help="(default, and -: standard input)")
    add_tokenizers(parser)
    parser.add_argument("-o", "--output", required=True, metavar="OUT.html", help="where to save the page")
    most = "bytes to show of a longer file (default: 1,048,576)"
    parser.add_argument("--max-bytes", type=positive, default=_MOST, metavar="N", help=most)


def _run(args: Namespace) -> int:
    from bbpe.files import write_atomic
    from bbpe.report.view import to_html
    from bbpe.text import counted, shortened

    check_output(args.output, "the page", inputs_of(files=[args.file], named=args.tokenizer))
    data = bytearray()
    for chunk in chunks_of(args.file):
        data += chunk
        if len(data) > args.max_bytes:
            break
    text: Text = bytes(data)
    if len(data) > args.max_bytes:
        text = data[: args.max_bytes].decode("utf-8", "ignore")
        sys.stderr.write(f"bbpe: the page has the first {counted(args.max_bytes, 'byte')} of {shortened(args.file)}\n")
    page = to_html(text, tokenizers_of(args), allowed_special="all" if args.special else ())
    write_atomic(args.output, page.encode())
    return 0


COMMAND = Command(_add_arguments, _run)
