"""`bbpe tokens`: how many tokens texts have, by file or folder and tokenizer; and texts cut to a number of tokens."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from typing import TYPE_CHECKING

import bbpe
from bbpe.encoding.chunks import KINDS
from bbpe.report.terminal import line_columns

from .command import Command, load_tokenizer, positive, tokenizers_of, whole
from .lines import add_texts, lines_of, selection_of
from .outputs import check_output, inputs_of
from .parsers import UsageError
from .streams import (
    STDIN,
    Watch,
    add_json,
    add_progress,
    as_files,
    chunks_of,
    files_of,
    label_of,
    names_of,
    progress_of,
    say,
    say_json,
    size_of,
    watched,
    write,
)  # fmt: skip

if TYPE_CHECKING:
    from bbpe.tokenizer import Tokenizer


def _add_arguments(parser: ArgumentParser) -> None:
    add_texts(parser, several=True)
    by = "Write a table of documents, bytes and tokens, with a row for each file or folder."
    parser.add_argument("--by", choices=("file", "folder"), help=by)
    table = "Where to save this table, a .parquet or .json file."
    parser.add_argument("-o", "--output", metavar="PATH", help=table)
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--per-line", action="store_true", help="Count the tokens of each line.")
    form.add_argument("--truncate", type=positive, metavar="N", help="Write the first N tokens of each text, as text.")
    form.add_argument("--chunk", type=positive, metavar="N", help="Cut each text into chunks of at most N tokens.")
    overlap = "Begin each chunk with the last tokens of the chunk before it, at most N. [default: 0]"
    parser.add_argument("--overlap", type=whole, metavar="N", help=overlap)
    boundary = "Where chunks end, if such a place is in the chunk. [default: token]"
    parser.add_argument("--boundary", choices=KINDS, help=boundary)
    add_json(parser)
    add_progress(parser)


def _run(args: Namespace) -> int:
    for option in ("overlap", "boundary"):
        if args.chunk is None and getattr(args, option) is not None:
            raise UsageError(f"--{option} is of chunks; expected it with --chunk N")
    if args.by is not None or args.output is not None or len(args.tokenizer) > 1:
        return _run_table(args)
    (args.tokenizer,) = args.tokenizer
    tokenizer = load_tokenizer(args)
    if args.per_line:
        with watched(args, "count", unit="lines", writes=True) as watch:
            _count_lines(args, tokenizer, watch)
    elif args.truncate is not None:
        with watched(args, "truncate", writes=True) as watch:
            _write_beginnings(args, tokenizer, watch)
    elif args.chunk is not None:
        with watched(args, "chunk", unit="characters", writes=True) as watch:
            _write_chunks(args, tokenizer, watch)
    else:
        with watched(args, "count", size_of(args.files)) as watch:
            counts = _counts_of_files(args, tokenizer, watch)
        _report_counts(args, counts)
    return 0


def _run_table(args: Namespace) -> int:
    """Count by several tokenizers, or of several sources."""
    from bbpe.shards.source_tokens import suffix_of

    if args.per_line or args.truncate is not None or args.chunk is not None:
        raise UsageError("--per-line, --truncate and --chunk go with one tokenizer, and without --by and --output")
    if args.by is not None and STDIN in names_of(args.files):
        raise UsageError(f"--by {args.by} goes with files, and standard input has no name")
    if args.output is not None:
        suffix_of(args.output, "output")
    check_output(args.output, "the table", inputs_of(files=args.files, named=args.tokenizer))
    toks = tokenizers_of(args)
    with as_files(names_of(args.files)) as files:
        found = bbpe.count_tokens(
            files, toks, by=args.by, allowed_special=selection_of(args), text_field=args.text_field,
            input_format=args.input_format, progress=progress_of(args),
        )  # fmt: skip
    if args.output is not None:
        found.save(args.output)
    if args.json:
        say_json(found.as_dict())
    else:
        say(found.text(line_columns()))
    return 0


def _counts_of_files(args: Namespace, tokenizer: Tokenizer, watch: Watch) -> dict[str, int]:
    from .encode import counts_of

    counts: dict[str, int] = {}
    for name, count in counts_of(args, tokenizer, watch):
        counts[name] = counts.get(name, 0) + count
    return counts


def _report_counts(args: Namespace, counts: dict[str, int]) -> None:
    total = sum(counts.values())
    if args.json:
        say_json({"files": counts, "tokens": total})
    elif not args.files:
        say(str(total))
    else:
        rows = [*counts.items(), *([("total", total)] if len(counts) != 1 else [])]
        width = len(str(total))
        for name, count in rows:
            say(f"{count:>{width}} {name}")


def _count_lines(args: Namespace, tokenizer: Tokenizer, watch: Watch) -> None:
    for name in files_of(args.files):
        number = 0
        for lines in watch.over(lines_of(name, args.input_format, args.text_field), len):
            for count in tokenizer.count_tokens_batch(lines, allowed_special=selection_of(args)).tolist():
                number += 1
                if args.json:
                    say_json({"file": label_of(name), "line": number, "tokens": count})
                else:
                    say(str(count))


def _write_beginnings(args: Namespace, tokenizer: Tokenizer, watch: Watch) -> None:
    allowed = selection_of(args)
    for name in files_of(args.files):
        chunks: Iterator[bytes] = watch.over(chunks_of(name, args.input_format, args.text_field), len)
        text = b"".join(chunks)
        kept = tokenizer.truncate(text, args.truncate, allowed_special=allowed)
        if args.json:
            count = tokenizer.count_tokens(kept, allowed_special=allowed)
            say_json({"file": label_of(name), "tokens": count, "text": kept.decode("utf-8", "replace")})
        else:
            write(kept)


def _write_chunks(args: Namespace, tokenizer: Tokenizer, watch: Watch) -> None:
    """Write the start, end and number of tokens of each chunk; the positions are characters."""
    for name in files_of(args.files):
        text = b"".join(chunks_of(name, args.input_format, args.text_field)).decode("utf-8", "replace")
        chunks = tokenizer.chunk(
            text, args.chunk, overlap=args.overlap or 0, boundary=args.boundary or "token",
            allowed_special=selection_of(args),
        )  # fmt: skip
        for chunk in watch.over(chunks, lambda chunk: chunk.end - chunk.start):
            if args.json:
                say_json({"file": label_of(name), **chunk._asdict()})
            else:
                say(f"{chunk.start}\t{chunk.end}\t{chunk.tokens}")


COMMAND = Command(_add_arguments, _run)
