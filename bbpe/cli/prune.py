"""`bbpe prune`: fewer tokens, and the new ids of those that stay."""

from __future__ import annotations

import io
from argparse import ArgumentParser, Namespace

import bbpe
from bbpe import formats
from bbpe.files import write_atomic
from bbpe.formats.saving import proven
from bbpe.lazy import np
from bbpe.text import counted

from .command import Command, add_counts, add_format, add_saved, add_threads, add_tokenizer, load_tokenizer, positive
from .outputs import ARRAYS, check_output, inputs_of
from .parsers import UsageError
from .streams import add_json, add_on_error, add_progress, add_reading, as_files, progress_of, say, say_json


def _add_arguments(parser: ArgumentParser) -> None:
    add_tokenizer(parser)
    add_saved(parser)
    add_format(parser)
    new_ids = "Where to save the new id of each old one, or -1, a .npy file."
    parser.add_argument("--map", metavar="PATH", help=new_ids)
    keep = "The number of tokens to keep in all; the last merges are dropped."
    parser.add_argument("--keep", type=positive, metavar="N", help=keep)
    used = "Keep only the tokens that these texts use."
    parser.add_argument("--used-in", nargs="+", metavar="FILE", help=used)
    add_counts(parser)
    few = "The uses that a token needs to be kept, with --used-in or --counts."
    parser.add_argument("--min-count", type=positive, default=1, metavar="N", help=few)
    add_reading(parser)
    add_on_error(parser)
    add_threads(parser)
    add_progress(parser)
    add_json(parser)


def _run(args: Namespace) -> int:
    if args.used_in is not None and args.counts is not None:
        raise UsageError("--used-in does not go with --counts")
    if args.keep is None and args.used_in is None and args.counts is None:
        raise UsageError("nothing says what to keep; expected --keep, --used-in or --counts")
    output_format = args.format or formats.format_of(formats.file_path(args.output))
    inputs = inputs_of(files=args.used_in, tokenizer=args.tokenizer, named=[args.counts])
    check_output(args.output, "the tokenizer", inputs, output_format=output_format)
    # nor may one output replace the other
    check_output(args.map, "the map", inputs.add(args.output), suffixes=ARRAYS)
    tokenizer = load_tokenizer(args)
    proven(tokenizer, args.output, format=args.format, drop=args.drop)
    with as_files(args.used_in or ()) as files:
        source: list[str] | bbpe.PretokenCounts | None = files or None
        if args.counts is not None:
            source = bbpe.load_counts(args.counts, pattern=tokenizer.spec.pattern.steps)
        pruned, new_ids = bbpe.prune(
            tokenizer, args.keep, used_in=source, min_count=args.min_count,
            counting=bbpe.Counting(
                threads=args.threads, text_field=args.text_field, format=args.input_format, on_error=args.on_error,
                progress=progress_of(args),
            ),
        )  # fmt: skip
    pruned.save(args.output, format=args.format, drop=args.drop)
    if args.map is not None:
        buffer = io.BytesIO()
        np.save(buffer, new_ids)
        write_atomic(args.map, buffer.getvalue())
    dropped = len(tokenizer) - len(pruned)
    if args.json:
        say_json({"output": args.output, "map": args.map, "vocab_size": pruned.vocab_size, "dropped": dropped,
                  "fingerprint": pruned.fingerprint})  # fmt: skip
    else:
        say(f"{counted(dropped, 'token')} dropped, {len(pruned):,} kept; saved {args.output}")
    return 0


COMMAND = Command(_add_arguments, _run)
