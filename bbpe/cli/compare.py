"""`bbpe compare`: how two tokenizers differ."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

import bbpe

from .command import TOKENIZER, Command, add_pattern, load_named, positive, short_names
from .outputs import PAGES, check_output, inputs_of
from .streams import (
    COMPARE,
    add_color,
    add_json,
    add_progress,
    add_reading,
    as_files,
    painted,
    progress_of,
    say,
    say_json,
)


def _add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("left", metavar="A", help=TOKENIZER)
    parser.add_argument("right", metavar="B", help="The second tokenizer, named in the same way.")
    what = "Files, globs and folders of text to split with both. [default: tokens and other hard texts]"
    parser.add_argument("corpus", nargs="*", metavar="FILE", help=what)
    add_pattern(parser)
    add_reading(parser)
    parser.add_argument("--most", type=positive, default=20, metavar="N", help="How many pretokens to list.")
    form = parser.add_mutually_exclusive_group()
    add_json(form)
    form.add_argument("--markdown", action="store_true", help="Write the result as Markdown.")
    parser.add_argument("--html", metavar="OUT.html", help="Write the result as a page to this file.")
    add_color(parser)
    add_progress(parser)


def _run(args: Namespace) -> int:
    from bbpe.corpus.files import corpus_paths
    from bbpe.files import write_atomic

    inputs = inputs_of(files=args.corpus or None, named=[args.left, args.right])
    check_output(args.html, "the page", inputs, suffixes=PAGES)
    left, right = load_named(args.left, args.pattern), load_named(args.right, args.pattern)
    names = short_names([args.left, args.right])
    with as_files(args.corpus) as files:
        corpus = corpus_paths(files) if files else None
        found = bbpe.compare(
            left, right, corpus, names=(names[0], names[1]), most=args.most, text_field=args.text_field,
            format=args.input_format, progress=progress_of(args),
        )  # fmt: skip
    if args.html:
        write_atomic(args.html, found.to_html().encode())
    if args.json:
        say_json(found.as_dict())
    else:
        say(found.to_markdown() if args.markdown else painted(str(found), COMPARE, args))
    return 0


COMMAND = Command(_add_arguments, _run)
