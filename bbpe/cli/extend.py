"""`bbpe extend`: more tokens for a tokenizer."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

import bbpe
from bbpe import formats
from bbpe.formats.saving import proven
from bbpe.records import replace
from bbpe.splitting.patterns import get_pattern
from bbpe.text import counted

from .command import (
    FILES,
    TIE_BREAK,
    Command,
    add_corpus,
    add_counting,
    add_counts,
    add_format,
    add_saved,
    add_tokenizer,
    add_veto,
    counting_of,
    load_named,
    positive,
)
from .outputs import check_output, inputs_of
from .parsers import UsageError
from .streams import add_json, add_progress, as_files, say, say_json


def _add_arguments(parser: ArgumentParser) -> None:
    corpus = add_corpus(parser)
    corpus.add_argument("files", nargs="*", metavar="FILE", help=FILES)
    add_counts(corpus)
    add_counting(parser, corpus)
    pattern = "The split pattern of the result, a name or a regex; one that does not split at blanks learns tokens of"
    add_tokenizer(parser, pattern=f"{pattern} several words. [default: that of the tokenizer]")
    add_saved(parser)
    add_format(parser)
    group = parser.add_argument_group("Vocabulary", "What to add.")
    group.add_argument("--add", type=positive, default=10_000, metavar="N", help="The number of new tokens.")
    least = "The least count of a pair that is merged."
    group.add_argument("--min-frequency", type=positive, default=1, metavar="N", help=least)
    longest = "The longest token in bytes. [default: no limit]"
    group.add_argument("--max-token-length", type=positive, metavar="N", help=longest)
    group.add_argument("--tie-break", choices=("ids", "bytes", "first"), default="ids", help=TIE_BREAK)
    add_veto(group)
    add_progress(parser)
    add_json(parser)


def _run(args: Namespace) -> int:
    if bool(args.files) == (args.counts is not None):
        raise UsageError("expected either files to learn from or --counts")
    output_format = args.format or formats.format_of(formats.file_path(args.output))
    inputs = inputs_of(files=args.files, tokenizer=args.tokenizer, named=[args.counts])
    check_output(args.output, "the tokenizer", inputs, output_format=output_format)
    tokenizer = _loaded(args.tokenizer, args.pattern)
    pattern = tokenizer.spec.pattern if args.pattern is None else get_pattern(args.pattern)
    expected = replace(tokenizer.spec, pattern=pattern)
    proven(bbpe.Tokenizer(expected), args.output, format=args.format, drop=args.drop)
    with as_files(args.files) as files:
        source: list[str] | bbpe.PretokenCounts = files
        if args.counts is not None:
            source = bbpe.load_counts(args.counts, pattern=pattern.steps)
        extended = bbpe.extend(
            tokenizer, source, args.add, min_frequency=args.min_frequency, max_token_length=args.max_token_length,
            tie_break=args.tie_break, forbid=args.forbid, max_words=args.max_words, pattern=args.pattern,
            counting=counting_of(args),
        )  # fmt: skip
    extended.save(args.output, format=args.format, drop=args.drop)
    added = len(extended) - len(tokenizer)
    if args.json:
        say_json({"output": args.output, "vocab_size": extended.vocab_size, "added": added,
                  "fingerprint": extended.fingerprint})  # fmt: skip
    else:
        say(f"{counted(added, 'new token')}, {len(extended):,} in all; saved {args.output}")
    return 0


def _loaded(name: str, pattern: str | None) -> bbpe.Tokenizer:
    """Load a tokenizer with its own pattern, or with another one if it has none."""
    try:
        return load_named(name)
    except bbpe.BBPEError:
        if pattern is None:
            raise
        return load_named(name, pattern)


COMMAND = Command(_add_arguments, _run)
