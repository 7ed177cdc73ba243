"""`bbpe eval`: a table of tokenizers on corpora, or a learning curve."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import Any

import bbpe

from .command import DOCUMENT, Command, add_threads, add_tokenizer, positive, short_names, tokenizers_of
from .outputs import check_output, inputs_of
from .parsers import UsageError
from .streams import EVAL, add_color, add_json, add_progress, add_reading, as_files, painted, progress_of, say, say_json


def _sizes(text: str) -> list[int]:
    """Read numbers of tokens, such as 4k,8k,16000."""
    return [positive(part) for part in text.split(",")]


def _add_arguments(parser: ArgumentParser) -> None:
    what = "Files, globs and folders of held-out text; each is a corpus."
    parser.add_argument("corpora", nargs="+", metavar="FILE", help=what)
    add_tokenizer(parser, several=True)
    add_reading(parser)
    parser.add_argument("--document", choices=("file", "line"), default="file", help=DOCUMENT)
    parity = "The corpus to compare the others with, where all are translations of one text."
    parser.add_argument("--parity", metavar="NAME", help=parity)
    sizes = "Measure smaller vocabularies of the tokenizer too, such as 4k,8k."
    parser.add_argument("--sizes", type=_sizes, metavar="N,N", help=sizes)
    add_threads(parser)
    form = parser.add_mutually_exclusive_group()
    add_json(form)
    form.add_argument("--markdown", action="store_true", help="Write the result as Markdown.")
    figure = "Draw a figure to this .svg, .pdf or .png file; needs `pip install 'bbpe[plot]'`."
    parser.add_argument("--plot", metavar="OUT.svg", help=figure)
    parser.add_argument("--html", metavar="OUT.html", help="Write the result as a page to this file.")
    add_color(parser)
    add_progress(parser)


def _run(args: Namespace) -> int:
    from bbpe.files import write_atomic

    inputs = inputs_of(files=args.corpora, named=args.tokenizer)
    check_output(args.plot, "the figure", inputs)
    check_output(args.html, "the page", inputs)
    toks = tokenizers_of(args)
    with as_files(args.corpora) as files:
        found = _measured(args, toks, dict(zip(short_names(args.corpora), files, strict=True)))
    if args.html:
        write_atomic(args.html, found.to_html().encode())
    if args.plot:
        found.plot(args.plot)
    if args.json:
        say_json(found.as_dict())
    else:
        say(found.table().markdown() if args.markdown else painted(str(found), EVAL, args))
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
