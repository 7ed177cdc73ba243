"""Texts and ids line by line: each line of an input becomes a line of the output, as soon as it is there."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from .command import add_special, add_tokenizer
from .parsers import UsageError
from .streams import add_reading, chunks_of, files_of, flush, label_of, watched, write

if TYPE_CHECKING:
    from bbpe.corpus.fields import FieldName
    from bbpe.corpus.files import Format
    from bbpe.pipeline.special_tokens import Selection
    from bbpe.tokenizer import Tokenizer


def add_texts(parser: ArgumentParser, *, several: bool = False) -> None:
    """Add the texts of a command, its tokenizer or its tokenizers, and how all of them are read."""
    what = "Files, globs and folders of text; - is standard input. [default: -]"
    parser.add_argument("files", nargs="*", metavar="FILE", help=what)
    add_tokenizer(parser, several=several)
    add_reading(parser)
    add_special(parser)


def add_pieces(parser: Any) -> None:
    """Add that tokens are spelled, to a parser or a group."""
    how = "Use tokens as the vocabulary spells them, such as SentencePiece's pieces, instead of ids."
    parser.add_argument("--pieces", action="store_true", help=how)


def add_lines(parser: ArgumentParser) -> None:
    """Add the arguments of commands that convert line by line."""
    parser.add_argument("--lines", action="store_true", help="Take each line as a text, and write a line for it.")
    buffered = "With --lines, write each line as soon as it is there."
    parser.add_argument("--line-buffered", action="store_true", help=buffered)


def check_lines(args: Namespace) -> None:
    """Raise `UsageError` on what is about lines where there are none."""
    if args.line_buffered and not args.lines:
        raise UsageError("--line-buffered needs --lines")


def selection_of(args: Namespace) -> Selection:
    """Return the special tokens that the arguments allow in texts."""
    return "all" if args.special else ()


def lines_of(name: str, input_format: Format | None = "text", text_field: FieldName = "text") -> Iterator[list[bytes]]:
    """Yield the lines of a file without their ends, as many at a time as are read; arguments as in `chunks_of`."""
    torn: list[bytes] = []
    for chunk in chunks_of(name, input_format, text_field):
        first, *lines = chunk.split(b"\n")
        torn.append(first)
        if lines:
            yield [b"".join(torn), *lines[:-1]]
            torn = [lines[-1]]
    if any(torn):
        yield [b"".join(torn)]


def convert_lines(args: Namespace, convert: Callable[[list[bytes], str, int], Sequence[str]]) -> int:
    """Write the lines that `convert` returns for those of all inputs, and return the exit status.

    `convert` takes lines, the name of their input for messages, and the number of the first line.
    """
    input_format: Any = getattr(args, "input_format", "text")
    text_field: Any = getattr(args, "text_field", "text")
    with watched(args, "convert", unit="lines", writes=True) as watch:
        for name in files_of(args.files):
            number = 1
            for lines in watch.over(lines_of(name, input_format, text_field), len):
                write("".join(f"{line}\n" for line in convert(lines, label_of(name), number)).encode())
                number += len(lines)
                if args.line_buffered:
                    flush()
    return 0


def encoded(args: Namespace, tokenizer: Tokenizer) -> Callable[[list[bytes], str, int], Sequence[str]]:
    """Return what encodes lines to ids, tokens or pieces, as the arguments say."""
    from bbpe.spec.models import UnigramModel

    spelled = speller(args, tokenizer)
    allowed = selection_of(args)
    model = tokenizer.spec.model
    if args.sample is not None and not (model is None or (isinstance(model, UnigramModel) and not args.special)):
        raise UsageError("--sample needs a tokenizer of BPE, or one of Unigram without --special")

    def rows_of(lines: list[bytes]) -> list[list[int]]:
        if args.sample is None:
            return tokenizer.encode_batch(lines, allowed_special=allowed)
        if model is None:
            return [tokenizer.encode(line, allowed_special=allowed, dropout=args.sample) for line in lines]
        return [tokenizer.encode_sampled(line, alpha=args.sample) for line in lines]

    return lambda lines, _label, _number: [" ".join(map(spelled, row)) for row in rows_of(lines)]


def speller(args: Namespace, tokenizer: Tokenizer) -> Callable[[int], str]:
    """Return what writes an id: the id, the token in the byte alphabet, or the key of the vocabulary."""
    from bbpe.text import bytes_to_alphabet

    if args.pieces:
        return {token_id: key for key, token_id in tokenizer.get_vocab().items()}.__getitem__
    return (lambda token_id: bytes_to_alphabet(tokenizer.id_to_token(token_id))) if args.tokens else str
