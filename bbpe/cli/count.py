"""`bbpe count`: the pretokens of text files, to train from."""

from __future__ import annotations

import time
from argparse import ArgumentParser, Namespace
from dataclasses import asdict
from typing import Any

import bbpe
from bbpe.corpus.rowfiles import pyarrow_parquet
from bbpe.counting.counts import PretokenCounts

from .command import Command
from .counting import add_counting, add_progress, counting_options, is_streamed, progress_of, stdin_texts
from .outputs import check_output, inputs_of
from .streams import STDIN, STDIN_FILE, say, say_json


def _add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("files", nargs="+", metavar="FILE", help="files, globs and folders of text, or just -")
    parser.add_argument("-o", "--output", required=True, metavar="PATH", help="where to save the counts, as Parquet")
    parser.add_argument("--pattern", default="gpt2", help="split pattern, a name or a regex (default: gpt2)")
    parser.add_argument("--special-token", action="append", default=[], metavar="TEXT", help="may be given repeatedly")
    add_counting(parser)
    add_progress(parser)
    parser.add_argument("--json", action="store_true", help="write the result as a JSON object")


def _run(args: Namespace) -> int:
    check_output(args.output, "the counts", inputs_of(files=args.files))
    pyarrow_parquet()
    started = time.perf_counter()
    counts = _count(args)
    counts.save(args.output)
    seconds = time.perf_counter() - started
    if args.json:
        say_json({"output": args.output, **asdict(counts.summary), "seconds": round(seconds, 3)})
    else:
        say(f"{counts.summary}; in {seconds:.1f} s; saved {args.output}")
    return 0


def _count(args: Namespace) -> PretokenCounts:
    options: dict[str, Any] = {
        "pattern": args.pattern,
        "special_tokens": args.special_token,
        "document": args.document,
        "progress": progress_of(args),
        **counting_options(args),
    }
    if STDIN not in args.files:
        return bbpe.count(args.files, text_field=args.text_field, format=args.input_format, **options)
    if len(args.files) > 1:
        raise ValueError("- (standard input) does not go with other files")
    if is_streamed(args):
        return bbpe.count(STDIN_FILE, text_field=args.text_field, format=args.input_format, **options)
    return bbpe.count_from_iterator(stdin_texts(args.document), **options)


COMMAND = Command("count", "Count the pretokens of text files.", _add_arguments, _run)
