"""`bbpe train`: a tokenizer from text files."""

from __future__ import annotations

import time
from argparse import ArgumentParser, BooleanOptionalAction, Namespace
from contextlib import nullcontext
from pathlib import Path
from typing import TypeAlias

import bbpe
from bbpe import formats
from bbpe.core.count import PretokenTable
from bbpe.counting.counts import PretokenCounts
from bbpe.counting.options import check_counted
from bbpe.formats.saving import proven
from bbpe.records import fields
from bbpe.spec.roles import lost_roles
from bbpe.text import counted, text_of_file
from bbpe.tokenizer import Tokenizer
from bbpe.training.train import LOGS

from .command import (
    FILES_OR_STDIN,
    TIE_BREAK,
    Command,
    add_corpus,
    add_counting,
    add_counts,
    add_format,
    add_saved,
    add_special_tokens,
    add_veto,
    add_vocab_size,
    counting_of,
    is_streamed,
    number,
    pattern_of,
    positive,
    stdin_texts,
)
from .outputs import check_output, inputs_of
from .parsers import UsageError
from .streams import STDIN, add_json, add_progress, progress_of, say, say_json, stdin_file

Model: TypeAlias = bbpe.BPE | bbpe.WordPiece | bbpe.Unigram

_MODELS: dict[str, type[bbpe.BPE] | type[bbpe.WordPiece] | type[bbpe.Unigram]] = {
    "bpe": bbpe.BPE,
    "wordpiece": bbpe.WordPiece,
    "unigram": bbpe.Unigram,
}


def _add_arguments(parser: ArgumentParser) -> None:
    corpus = add_corpus(parser)
    corpus.add_argument("files", nargs="*", metavar="FILE", help=FILES_OR_STDIN)
    add_counts(corpus)
    default = "default: that of the counts, or gpt2; for unigram, runs of letters and runs of others"
    corpus.add_argument("--pattern", type=pattern_of, help=f"The split pattern, a name or a regex. [{default}]")
    add_counting(parser, corpus)
    add_saved(parser)
    add_format(parser)
    _add_models(parser)
    _add_roles(parser)
    log = "Where to write the merges as they were learned: rank, parts, count and token, tab-separated."
    parser.add_argument("--log-merges", metavar="PATH", help=log)
    add_progress(parser)
    add_json(parser)


def _add_models(parser: ArgumentParser) -> None:
    """Add the options of models; each is a field of `bbpe.BPE`, `WordPiece` or `Unigram`, or of several of them."""
    group = parser.add_argument_group("Vocabulary", "What to learn.")
    add_vocab_size(group, required=True)
    group.add_argument("--model", choices=tuple(_MODELS), default="bpe", help="The kind of the model.")
    add_special_tokens(group)
    least = "The least count of a pair that is merged. [default: 1; not with unigram]"
    group.add_argument("--min-frequency", type=positive, metavar="N", help=least)
    longest = "The longest token in bytes. [default: no limit; not with chars and wordpiece]"
    group.add_argument("--max-token-length", type=positive, metavar="N", help=longest)
    padded = "Reserve special tokens up to a multiple of this. [not with chars and wordpiece]"
    group.add_argument("--pad-vocab-to", type=positive, metavar="N", help=padded)
    bpe = parser.add_argument_group("BPE", "For --model bpe alone.")
    bpe.add_argument("--alphabet", choices=("bytes", "chars"), help="What merges begin with. [default: bytes]")
    ties = f"{TIE_BREAK} [default: ids; with --end-of-word strings]"
    bpe.add_argument("--tie-break", choices=("ids", "bytes", "first", "strings"), help=ties)
    add_veto(bpe)
    end = "The mark after the last character of a word, such as </w>, with --alphabet chars."
    bpe.add_argument("--end-of-word", metavar="TEXT", help=end)
    start = "The mark before the first character of a word, with --alphabet chars. [default: U+2581]"
    bpe.add_argument("--word-start", metavar="TEXT", help=start)
    words = parser.add_argument_group("Words", "For --model wordpiece, and all but --score for --alphabet chars.")
    score = "What decides which pair is merged. [default: pmi]"
    words.add_argument("--score", choices=("pmi", "frequency"), help=score)
    lower = "Lowercase texts first. [default: on for wordpiece, off for chars]"
    words.add_argument("--lowercase", action=BooleanOptionalAction, help=lower)
    unknown = "The token for text that the vocabulary lacks. [default: [UNK] for wordpiece, <unk> for chars]"
    words.add_argument("--unk-token", metavar="TEXT", help=unknown)
    most = "Keep this many characters, the most frequent ones. [default: all]"
    words.add_argument("--max-alphabet", type=positive, metavar="N", help=most)
    unigram = parser.add_argument_group("Unigram", "For --model unigram alone.")
    coverage = "The share of the text whose characters are in the vocabulary. [default: 0.9995]"
    unigram.add_argument("--character-coverage", type=number, metavar="X", help=coverage)
    fallback = "Spell characters that the vocabulary lacks in bytes. [default: on]"
    unigram.add_argument("--byte-fallback", action=BooleanOptionalAction, help=fallback)
    always = "Texts that are always one token."
    unigram.add_argument("--user-defined-symbols", nargs="+", metavar="TEXT", help=always)


#: Roles of special tokens, and what a token with each is for; `--unk-token` is an option of models.
_ROLES = {
    "bos": "at the beginning of a text", "eos": "at the end of a text", "pad": "that fills up rows",
    "cls": "before a text that is classified", "sep": "between two texts", "mask": "in place of a hidden one",
}  # fmt: skip


def _add_roles(parser: ArgumentParser) -> None:
    what = "Special tokens that a model knows by their roles. They are saved in a folder, in tokenizer_config.json."
    group = parser.add_argument_group("Roles", what)
    for role, use in _ROLES.items():
        group.add_argument(f"--{role}-token", metavar="TEXT", help=f"The special token {use}.")
    chat = "The file with the chat template, in Jinja."
    group.add_argument("--chat-template", metavar="FILE", help=chat)


def _roles_of(args: Namespace) -> dict[str, str]:
    """Return the arguments of `Tokenizer.with_roles`."""
    given = {f"{role}_token": getattr(args, f"{role}_token") for role in _ROLES}
    if args.chat_template is not None:
        given["chat_template"] = text_of_file(Path(args.chat_template).read_bytes(), args.chat_template)
    return {name: text for name, text in given.items() if text is not None}


def _specials_of(args: Namespace, counts: PretokenCounts | None) -> list[str]:
    """Return the special tokens, at the end those that only have a role."""
    known = counts.special_tokens if counts is not None and not args.special_token else args.special_token
    named = (getattr(args, f"{role}_token") for role in _ROLES)
    return list(dict.fromkeys([*known, *(text for text in named if text is not None)]))


def _model_of(args: Namespace) -> Model:
    """Return the model with the options that were given.  Raises `UsageError` naming one of another model."""
    own = {field.name for field in fields(_MODELS[args.model])}
    given = {}
    for name in dict.fromkeys(field.name for kind in _MODELS.values() for field in fields(kind)):
        if getattr(args, name) is None:
            continue
        if name not in own:
            others = [model for model, kind in _MODELS.items() if name in {field.name for field in fields(kind)}]
            option = f"--{name.replace('_', '-')}"
            raise UsageError(f"{option} does not go with --model {args.model}; expected it with {' or '.join(others)}")
        given[name] = getattr(args, name)
    return _MODELS[args.model](**given)


def _run(args: Namespace) -> int:
    _check_sources(args)
    model = _model_of(args)
    output_format = args.format or formats.format_of(formats.file_path(args.output))
    inputs = inputs_of(files=args.files, named=[args.counts])
    check_output(args.output, "the tokenizer", inputs, output_format=output_format)
    # nor may one output replace the other
    check_output(args.log_merges, "the merges", inputs.add(args.output), suffixes=LOGS)
    counts = None if args.counts is None else bbpe.load_counts(args.counts, pattern=args.pattern)
    roles = _roles_of(args)
    specials = _specials_of(args, counts)
    _check_output(args, _prototype(args, model, counts, specials), roles)
    started = time.perf_counter()
    tokenizer = _train(args, model, counts, specials)
    if roles:
        tokenizer = tokenizer.with_roles(**roles)
    seconds = time.perf_counter() - started
    tokenizer.save(args.output, format=args.format, drop=args.drop)
    merges = len(tokenizer.merges)
    facts = {
        "output": args.output,
        "vocab_size": tokenizer.vocab_size,
        "merges": merges,
        "seconds": round(seconds, 3),
        "fingerprint": tokenizer.fingerprint,
    }
    if args.json:
        say_json(facts)
    else:
        # Unigram has no merges
        made = [counted(tokenizer.vocab_size, "token"), *([counted(merges, "merge")] if merges else [])]
        say(f"{', '.join(made)}, in {seconds:.1f} s; saved {args.output}")
    return 0


def _check_output(args: Namespace, like: Tokenizer, roles: dict[str, str]) -> None:
    """Check that the output holds what is trained, with its roles; `like` is a small one.  Raises `UsageError`."""
    if not roles:
        proven(like, args.output, format=args.format, drop=args.drop)
        return
    named = like.with_roles(**roles)
    _, kept = proven(named, args.output, format=args.format, drop=args.drop)
    lost = [f"--{name.replace('_', '-')}" for name in lost_roles(named.spec, kept.spec) if name in roles]
    if lost:
        raise UsageError(f"{args.output} has no place for {' and '.join(lost)}; save to a folder, such as -o model/")


def _prototype(
    args: Namespace, model: Model, counts: PretokenCounts | None, specials: list[str]
) -> Tokenizer:
    """Return what the options make of one line, which the output can hold if it can hold what they make of a corpus."""
    if counts is not None:
        line = PretokenTable()
        for pretoken in (b"low", b" lower", b" lowest"):
            line.add(pretoken, 2)
        few = PretokenCounts.of_table(line, counts.spec)
        return bbpe.train_from_counts(few, args.vocab_size, model=model, special_tokens=specials)
    return bbpe.train_from_iterator(
        ["low lower lowest"], args.vocab_size, model=model, pattern=args.pattern, special_tokens=specials
    )


def _train(args: Namespace, model: Model, counts: PretokenCounts | None, specials: list[str]) -> Tokenizer:
    if counts is not None:
        return bbpe.train_from_counts(
            counts, args.vocab_size, model=model, special_tokens=specials,
            max_memory=args.max_memory, threads=args.threads, progress=progress_of(args), log_merges=args.log_merges,
        )  # fmt: skip
    if STDIN not in args.files or is_streamed(args):
        with stdin_file() if STDIN in args.files else nullcontext(args.files) as files:
            return bbpe.train(
                files, args.vocab_size, model=model, pattern=args.pattern, special_tokens=specials,
                counting=counting_of(args), log_merges=args.log_merges,
            )  # fmt: skip
    return bbpe.train_from_iterator(
        stdin_texts(args), args.vocab_size, model=model, pattern=args.pattern,
        special_tokens=specials, counting=counting_of(args, files=False), log_merges=args.log_merges,
    )  # fmt: skip


def _check_sources(args: Namespace) -> None:
    """Raise `UsageError` where files, standard input and counts do not go together."""
    if args.counts is not None and args.files:
        raise UsageError("--counts does not go with files to count")
    if args.counts is not None:
        check_counted(counting_of(args), "counts")
    if args.counts is not None and (args.model == "wordpiece" or args.alphabet == "chars"):
        raise UsageError("--counts does not go with --model wordpiece and --alphabet chars; expected files")
    if args.counts is None and not args.files:
        raise UsageError("there is nothing to train on; expected files, - (standard input) or --counts")
    if STDIN in args.files and len(args.files) > 1:
        raise UsageError("- (standard input) does not go with other files")


COMMAND = Command(_add_arguments, _run)
