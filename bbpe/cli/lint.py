"""`bbpe lint`: what is wrong with a vocabulary."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

import bbpe
from bbpe.records import replace

from .command import Command, add_tokenizer, load_tokenizer, positive, whole
from .parsers import UsageError
from .streams import LINT, add_color, add_json, add_progress, add_reading, as_files, painted, progress_of, say, say_json

_EXAMPLES = 4


def _add_arguments(parser: ArgumentParser) -> None:
    what = "Files, globs and folders of text, to find tokens that are unused or rare in it."
    parser.add_argument("corpus", nargs="*", metavar="FILE", help=what)
    add_tokenizer(parser)
    add_reading(parser)
    few = "Report tokens that the text uses less often."
    parser.add_argument("--min-count", type=positive, default=10, metavar="N", help=few)
    shown = "How many examples of a finding to show."
    parser.add_argument("--examples", type=whole, default=_EXAMPLES, metavar="N", help=shown)
    details = "Show examples of all findings, why each matters, and what to do."
    parser.add_argument("--details", action="store_true", help=details)
    strict = "Exit with status 1 on warnings too, not only on errors."
    parser.add_argument("--strict", action="store_true", help=strict)
    add_json(parser)
    add_color(parser)
    add_progress(parser)


def _run(args: Namespace) -> int:
    from bbpe.corpus.files import corpus_paths

    for option, value, usual in (("--examples", args.examples, _EXAMPLES), ("--details", args.details, False)):
        if args.json and value != usual:
            raise UsageError(f"{option} does not go with --json, which has all of each finding; expected it without")
    with as_files(args.corpus) as files:
        corpus = corpus_paths(files) if files else None
        report = bbpe.lint(
            load_tokenizer(args), corpus, min_count=args.min_count, text_field=args.text_field,
            format=args.input_format, progress=progress_of(args),
        )  # fmt: skip
    report = replace(report, name=args.tokenizer)
    if args.json:
        say_json(report.as_dict())
    else:
        for line in report.lines(examples=args.examples, details=args.details):
            say(painted(line, LINT, args))
        if len(report) and not args.details:
            say("--details explains each finding")
    return int(bool(report.count("error") or (args.strict and report.count("warning"))))


COMMAND = Command(_add_arguments, _run)
