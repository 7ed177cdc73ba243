"""`bbpe count`: the pretokens of text files, to train from."""

from __future__ import annotations

import time
from argparse import ArgumentParser, Namespace
from contextlib import nullcontext

import bbpe
from bbpe.corpus.rowfiles import pyarrow_parquet
from bbpe.counting.count import count_files, count_texts
from bbpe.counting.counts import COUNTS, PretokenCounts
from bbpe.records import asdict

from .command import (
    FILES_OR_STDIN,
    Command,
    add_corpus,
    add_counting,
    add_pattern,
    add_special_tokens,
    counting_of,
    is_streamed,
    options_of,
    stdin_texts,
)
from .outputs import check_output, inputs_of
from .parsers import UsageError
from .streams import STDIN, add_json, add_progress, progress_of, say, say_json, stdin_file


def _add_arguments(parser: ArgumentParser) -> None:
    corpus = add_corpus(parser)
    corpus.add_argument("files", nargs="*", metavar="FILE", help=FILES_OR_STDIN)
    shards = "Count the texts of shards that `bbpe shard` wrote, instead of files."
    corpus.add_argument("--shards", metavar="FOLDER", help=shards)
    add_pattern(corpus, "The split pattern, a name or a regex.", default="gpt2")
    add_special_tokens(corpus)
    add_counting(parser, corpus)
    parser.add_argument("-o", "--output", required=True, metavar="PATH", help="Where to save the counts, as Parquet.")
    add_progress(parser)
    add_json(parser)


def _run(args: Namespace) -> int:
    if bool(args.files) == (args.shards is not None):
        raise UsageError("expected either files to count or --shards")
    check_output(args.output, "the counts", inputs_of(files=args.files, named=[args.shards]), suffixes=COUNTS)
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
    if args.shards is not None:
        return _count_shards(args)
    is_stdin = STDIN in args.files
    if is_stdin and len(args.files) > 1:
        raise UsageError("- (standard input) does not go with other files")
    from_files = not is_stdin or is_streamed(args)
    how = counting_of(args, files=from_files)
    with how.reporting() as report:
        task = how.task(args.pattern, args.special_token)
        if not from_files:
            return count_texts(stdin_texts(args), task, report)
        with stdin_file() if is_stdin else nullcontext(args.files) as files:
            return count_files(files, task, report)


def _count_shards(args: Namespace) -> PretokenCounts:
    for option, value, usual in (
        ("--text-field", args.text_field, "text"), ("--input-format", args.input_format, None),
        ("--on-error", args.on_error, "raise"),
    ):  # fmt: skip
        if value != usual:
            raise UsageError(f"{option} does not go with --shards, whose documents are ids; expected it with files")
    return bbpe.count_shards(
        args.shards, pattern=args.pattern, special_tokens=args.special_token, progress=progress_of(args),
        **options_of(args),
    )  # fmt: skip


COMMAND = Command(_add_arguments, _run)
