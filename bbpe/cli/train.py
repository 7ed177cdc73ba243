"""`bbpe train`: a tokenizer from text files."""

from __future__ import annotations

import time
from argparse import ArgumentParser, BooleanOptionalAction, Namespace
from pathlib import Path
from typing import Any

import bbpe
from bbpe import formats
from bbpe.core.count import PretokenTable
from bbpe.counting.counts import PretokenCounts
from bbpe.formats.saving import proven
from bbpe.tokenizer import Tokenizer

from .command import Command, add_format, positive
from .counting import add_counting, add_progress, counting_options, is_streamed, progress_of, stdin_texts
from .outputs import check_output, inputs_of
from .streams import STDIN, STDIN_FILE, say, say_json

_WORD_OPTIONS = ("model", "alphabet", "end_of_word", "word_start", "lowercase", "unk_token", "score", "max_alphabet")
_UNIGRAM_OPTIONS = ("character_coverage", "byte_fallback", "user_defined_symbols")


def _add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("files", nargs="*", metavar="FILE", help="files, globs and folders of text, or just -")
    parser.add_argument("--counts", metavar="PATH", help="train on counts that `bbpe count` saved, instead of files")
    parser.add_argument("--vocab-size", type=positive, required=True, metavar="N", help="tokens in all")
    parser.add_argument("-o", "--output", required=True, metavar="PATH", help="where to save the tokenizer")
    add_format(parser)
    default = "default: that of the counts, or gpt2; of unigram none, but letters are apart from all else"
    parser.add_argument("--pattern", help=f"split pattern, a name or a regex ({default})")
    parser.add_argument("--model", choices=("bpe", "wordpiece", "unigram"), default="bpe", help="(default: bpe)")
    parser.add_argument("--alphabet", choices=("bytes", "chars"), help="of BPE (default: bytes)")
    parser.add_argument("--end-of-word", metavar="TEXT", help="of BPE of characters, such as </w>")
    parser.add_argument("--word-start", metavar="TEXT", help="of BPE of characters (U+2581, without --end-of-word)")
    parser.add_argument("--lowercase", action=BooleanOptionalAction, help="for chars (off) and wordpiece (on)")
    parser.add_argument("--unk-token", metavar="TEXT", help="for chars (<unk>) and wordpiece ([UNK])")
    parser.add_argument("--score", choices=("pmi", "frequency"), help="of wordpiece (default: pmi)")
    parser.add_argument("--max-alphabet", type=positive, metavar="N", help="most characters of chars and wordpiece")
    parser.add_argument("--character-coverage", type=float, metavar="X", help="of unigram (default: 0.9995)")
    parser.add_argument("--byte-fallback", action=BooleanOptionalAction, help="of unigram (on)")
    parser.add_argument("--user-defined-symbols", nargs="+", metavar="TEXT", help="of unigram: always tokens")
    parser.add_argument("--special-token", action="append", default=[], metavar="TEXT", help="may be given repeatedly")
    parser.add_argument("--min-frequency", type=positive, default=1, metavar="N", help="least count of a merge (1)")
    parser.add_argument("--max-token-length", type=positive, metavar="N", help="longest token, in bytes")
    ties = "(default: ids; strings with --end-of-word)"
    parser.add_argument("--tie-break", choices=("ids", "bytes", "first", "strings"), help=ties)
    parser.add_argument("--pad-vocab-to", type=positive, default=1, metavar="N", help="reserve tokens up to a multiple")
    add_counting(parser)
    add_progress(parser)
    parser.add_argument("--json", action="store_true", help="write the result as a JSON object")


def _run(args: Namespace) -> int:
    _check_sources(args)
    output_format = args.format or formats.format_of(Path(args.output))
    inputs = inputs_of(files=args.files, named=[args.counts])
    check_output(args.output, "the tokenizer", inputs, output_format=output_format)
    counts = None if args.counts is None else bbpe.load_counts(args.counts, pattern=args.pattern)
    proven(_prototype(args, counts).spec, args.output, Tokenizer, format=args.format, drop=args.drop)
    started = time.perf_counter()
    tokenizer = _train(args, counts)
    seconds = time.perf_counter() - started
    tokenizer.save(args.output, format=args.format, drop=args.drop)
    facts = {
        "output": args.output,
        "vocab_size": tokenizer.vocab_size,
        "merges": len(tokenizer.merges),
        "seconds": round(seconds, 3),
        "fingerprint": tokenizer.fingerprint,
    }
    if args.json:
        say_json(facts)
    else:
        say(f"{facts['vocab_size']:,} tokens, {facts['merges']:,} merges, in {seconds:.1f} s; saved {args.output}")
    return 0


def _prototype(args: Namespace, counts: PretokenCounts | None) -> Tokenizer:
    """Return what the options make of one line, which the output can hold if it can hold what they make of a corpus."""
    options = _options(args) | {"progress": False}
    if counts is not None:
        line = PretokenTable()
        for pretoken in (b"low", b" lower", b" lowest"):
            line.add(pretoken, 2)
        few = PretokenCounts.of_table(line, counts.kind)
        return bbpe.train_from_counts(few, args.vocab_size, **options, **_counts_options(args))
    return bbpe.train_from_iterator(["low lower lowest"], args.vocab_size, **options, **_text_options(args))


def _train(args: Namespace, counts: PretokenCounts | None) -> Tokenizer:
    options = _options(args)
    if counts is not None:
        options |= _counts_options(args) | {"max_memory": args.max_memory}
        return bbpe.train_from_counts(counts, args.vocab_size, **options)
    options |= _text_options(args) | {"document": args.document, **counting_options(args)}
    if STDIN not in args.files or is_streamed(args):
        files = [STDIN_FILE] if STDIN in args.files else args.files
        return bbpe.train(files, args.vocab_size, text_field=args.text_field, format=args.input_format, **options)
    return bbpe.train_from_iterator(stdin_texts(args.document), args.vocab_size, **options)


def _options(args: Namespace) -> dict[str, Any]:
    options: dict[str, Any] = {
        "min_frequency": args.min_frequency,
        "max_token_length": args.max_token_length,
        "tie_break": args.tie_break,
        "pad_vocab_to": args.pad_vocab_to,
        "progress": progress_of(args),
    }
    return options | {name: getattr(args, name) for name in _UNIGRAM_OPTIONS if getattr(args, name) is not None}


def _counts_options(args: Namespace) -> dict[str, Any]:
    return {"model": args.model, "special_tokens": args.special_token or None}


def _text_options(args: Namespace) -> dict[str, Any]:
    words = {name: getattr(args, name) for name in _WORD_OPTIONS}
    return {**words, "pattern": args.pattern, "special_tokens": args.special_token}


def _check_sources(args: Namespace) -> None:
    """Raise `ValueError` where files, standard input and counts do not go together."""
    if args.counts is not None and args.files:
        raise ValueError("--counts does not go with files to count")
    words = args.model == "wordpiece" or any(getattr(args, name) is not None for name in _WORD_OPTIONS[1:])
    if args.counts is not None and words:
        raise ValueError("--counts does not go with --model wordpiece and the options of words; expected files")
    if args.counts is None and not args.files:
        raise ValueError("there is nothing to train on; expected files, - (standard input) or --counts")
    if STDIN in args.files and len(args.files) > 1:
        raise ValueError("- (standard input) does not go with other files")


COMMAND = Command("train", "Train a tokenizer on text files.", _add_arguments, _run)
