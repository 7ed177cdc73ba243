"""`bbpe eval`: a table of tokenizers on corpora, or a learning curve."""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError, Namespace
from typing import Any

import bbpe

from .command import Command, add_pattern, load_named, positive, short_names
from .outputs import check_output, inputs_of
from .parsers import UsageError
from .streams import add_progress, add_reading, as_files, progress_of, say, say_json


def _size(text: str) -> int:
    """Read a number of tokens, such as 32000 or 32k."""
    number, factor = (text[:-1], 1000) if text[-1:] in ("k", "K") else (text, 1)
    if not number.isdecimal() or not int(number):
        raise ArgumentTypeError(f"expected numbers of tokens such as 4k,8k,16000, not {text!r}")
    return int(number) * factor


def _sizes(text: str) -> list[int]:
    return [_size(part) for part in text.split(",")]


def _add_arguments(parser: ArgumentParser) -> None:
    what = "files, globs and folders of held-out text; each is a corpus"
    parser.add_argument("corpora", nargs="+", metavar="FILE", help=what)
    tokenizer = "a tokenizer: a file, a folder, or a published name; may be given repeatedly"
    parser.add_argument("-t", "--tokenizer", action="append", required=True, metavar="PATH", help=tokenizer)
    add_pattern(parser)
    add_reading(parser)
    by = "what is one document (default: file); intervals resample documents"
    parser.add_argument("--document", choices=("file", "line"), default="file", help=by)
    parser.add_argument("--parity", metavar="NAME", help="the corpus that others are compared with (parallel text)")
    parser.add_argument("--sizes", type=_sizes, metavar="N,N", help="curves of smaller vocabularies, such as 4k,8k")
    parser.add_argument("--threads", type=positive, metavar="N", help="(default: one for each core)")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="write one JSON object, with all counts")
    form.add_argument("--markdown", action="store_true", help="write the table in Markdown")
    parser.add_argument("--plot", metavar="OUT.svg", help="draw a figure (.svg, .pdf or .png; extra `plot`)")
    parser.add_argument("--html", metavar="OUT.html", help="write a page")
    add_progress(parser)


def _run(args: Namespace) -> int:
    from bbpe.files import write_atomic

    inputs = inputs_of(files=args.corpora, named=args.tokenizer)
    check_output(args.plot, "the figure", inputs)
    check_output(args.html, "the page", inputs)
    toks = {name: load_named(name, args.pattern) for name in args.tokenizer}
    toks = dict(zip(short_names(list(toks)), toks.values(), strict=True))
    with as_files(args.corpora) as files:
        found = _measured(args, toks, dict(zip(short_names(args.corpora), files, strict=True)))
    if args.html:
        write_atomic(args.html, found.to_html().encode())
    if args.plot:
        found.plot(args.plot)
    if args.json:
        say_json(found.as_dict())
    else:
        say(found.table().markdown() if args.markdown else str(found))
    return 0


def _measured(args: Namespace, toks: dict[str, bbpe.Tokenizer], corpora: dict[str, str]) -> Any:
    if args.sizes:
        for option, value, usual in (
            ("--parity", args.parity, None), ("--document", args.document, "file"), ("--threads", args.threads, None),
        ):  # fmt: skip
            if value != usual:
                raise UsageError(f"{option} does not go with --sizes; expected it without")
        return bbpe.learning_curve(
            toks, args.sizes, corpora, text_field=args.text_field, format=args.input_format, progress=progress_of(args)
        )
    return bbpe.evaluate(
        toks, corpora, parity=args.parity, document=args.document, text_field=args.text_field,
        format=args.input_format, threads=args.threads, progress=progress_of(args),
    )  # fmt: skip


COMMAND = Command(_add_arguments, _run)
