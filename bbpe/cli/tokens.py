"""`bbpe tokens`: how many tokens texts have; and texts cut to a number of tokens."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from .command import Command, load_tokenizer, positive
from .lines import add_texts, lines_of, selection_of
from .streams import chunks_of, files_of, label_of, say, say_json, write

if TYPE_CHECKING:
    from bbpe.tokenizer import Tokenizer


def _add_arguments(parser: ArgumentParser) -> None:
    add_texts(parser)
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--per-line", action="store_true", help="count each line of text files")
    form.add_argument("--truncate", type=positive, metavar="N", help="write the first N tokens of a text, as text")
    form.add_argument("--chunk", type=positive, metavar="N", help="cut text files into chunks of at most N tokens")
    parser.add_argument("--json", action="store_true", help="write JSON objects: counts, or what is cut with its text")


def _run(args: Namespace) -> int:
    tokenizer = load_tokenizer(args)
    if args.per_line:
        _count_lines(args, tokenizer)
    elif args.truncate is not None:
        _write_beginnings(args, tokenizer)
    elif args.chunk is not None:
        _write_chunks(args, tokenizer)
    else:
        _count_files(args, tokenizer)
    return 0


def _count_files(args: Namespace, tokenizer: Tokenizer) -> None:
    from .encode import counts_of

    counts: dict[str, int] = {}
    for name, count in counts_of(args, tokenizer):
        counts[name] = counts.get(name, 0) + count
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


def _count_lines(args: Namespace, tokenizer: Tokenizer) -> None:
    for name in files_of(args.files):
        number = 0
        for lines in lines_of(name, args.input_format):
            for count in tokenizer.count_tokens_batch(lines, allowed_special=selection_of(args)).tolist():
                number += 1
                if args.json:
                    say_json({"file": label_of(name), "line": number, "tokens": count})
                else:
                    say(str(count))


def _write_beginnings(args: Namespace, tokenizer: Tokenizer) -> None:
    allowed = selection_of(args)
    for name in files_of(args.files):
        kept = tokenizer.truncate(b"".join(chunks_of(name, args.input_format)), args.truncate, allowed_special=allowed)
        if args.json:
            count = tokenizer.count_tokens(kept, allowed_special=allowed)
            say_json({"file": label_of(name), "tokens": count, "text": kept.decode("utf-8", "replace")})
        else:
            write(kept)


def _write_chunks(args: Namespace, tokenizer: Tokenizer) -> None:
    """Write the start, end and number of tokens of each chunk; the positions are characters."""
    for name in files_of(args.files):
        text = b"".join(chunks_of(name, args.input_format)).decode("utf-8", "replace")
        for start, end, count in tokenizer.chunk(text, args.chunk, allowed_special=selection_of(args)):
            if args.json:
                found = {"start": start, "end": end, "tokens": count, "text": text[start:end]}
                say_json({"file": label_of(name), **found})
            else:
                say(f"{start}\t{end}\t{count}")


COMMAND = Command(_add_arguments, _run)
