"""`bbpe shard`: a corpus as files of ids that training reads, at once or in parts on many machines."""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError, Namespace
from typing import Any

from bbpe.counting.options import reporting
from bbpe.records import asdict
from bbpe.shards.formats import FORMATS
from bbpe.shards.load import Shards
from bbpe.shards.part import Totals
from bbpe.shards.plan import ShardPlan, open_plan
from bbpe.shards.run import finish_shards, plan_shards, run_parts, threads_of
from bbpe.text import counted

from .command import Command, add_pattern, load_named, positive
from .parsers import UsageError
from .streams import add_field, add_progress, add_reading, named_file, progress_of, say, say_json


def _add_arguments(parser: ArgumentParser) -> None:
    corpus = parser.add_argument_group("Corpus and tokenizer", "not needed where --part or --finish use a stored plan")
    corpus.add_argument("files", nargs="*", type=named_file, metavar="FILE", help="files, globs and folders")
    corpus.add_argument("-t", "--tokenizer", metavar="NAME", help="a file, a folder, a published name, or a model")
    add_pattern(parser)
    add_reading(corpus)
    add_field(corpus, "--id-field", "with ids of documents, which olmo and parquet write")
    add_field(corpus, "--messages-field", "with the messages of chats, written with a mask")
    corpus.add_argument("--document", choices=("file", "line"), default="file", help="of text files (default: file)")
    form = parser.add_argument_group("Shards")
    form.add_argument("-o", "--output", required=True, metavar="FOLDER", help="where the plan and the shards are")
    form.add_argument("--format", choices=tuple(FORMATS), default="megatron", help="(default: megatron)")
    form.add_argument("--eos", type=_token, metavar="TOKEN", help="after each document: a token, or the number of one")
    form.add_argument("--bos", type=_token, metavar="TOKEN", help="before each document")
    form.add_argument("--special", action="store_true", help="special tokens in texts become their ids, not text")
    form.add_argument("--dtype", default="auto", metavar="TYPE", help="of ids (default: the narrowest that fits)")
    form.add_argument("--part-size", default="256MB", metavar="SIZE", help="of input, about (default: 256MB)")
    form.add_argument("--empty", choices=("skip", "keep"), default="skip", help="empty documents (default: skip)")
    form.add_argument("--on-error", choices=("raise", "skip"), default="raise", help="wrong lines (default: raise)")
    work = parser.add_argument_group("Work", "by default all of it; the same command again goes on where it was")
    step = work.add_mutually_exclusive_group()
    step.add_argument("--plan-only", action="store_true", help="store the plan, and say how many parts it has")
    step.add_argument("--part", type=_share, metavar="I/N", help="every Nth part from part I on, I from 0 to N - 1")
    step.add_argument("--finish", action="store_true", help="sum up the parts when all are there")
    work.add_argument("--threads", type=positive, metavar="N", help="(default: one for each core)")
    add_progress(parser)
    parser.add_argument("--json", action="store_true", help="write the result as a JSON object")


def _token(text: str) -> str | int:
    return int(text) if text.isascii() and text.isdigit() else text


def _share(text: str) -> tuple[int, int]:
    first, _, count = text.partition("/")
    if not (first.isdecimal() and count.isdecimal() and int(first) < int(count)):
        raise ArgumentTypeError(f"expected I/N with I from 0 to N - 1, such as 0/64, not {text!r}")
    return int(first), int(count)


def _run(args: Namespace) -> int:
    plan = _plan(args)
    if args.plan_only:
        if args.json:
            say_json({"output": args.output, "parts": len(plan)})
        else:
            say(f"{counted(len(plan), 'part')}: {plan.folder}")
        return 0
    if not args.finish:
        numbers = range(len(plan)) if args.part is None else range(args.part[0], len(plan), args.part[1])
        totals = _write(plan, numbers, args)
        if args.part is not None:
            _show(args, totals, f"{len(numbers):,} of {counted(len(plan), 'part')}")
            return 0
    done: Shards = finish_shards(plan)
    _show(args, done.totals, f"{counted(len(plan), 'part')} of {plan.policy.format}")
    return 0


def _plan(args: Namespace) -> ShardPlan:
    """Return the plan that the arguments describe, or the stored one where they describe none."""
    if not args.files and args.tokenizer is None and (args.finish or args.part is not None):
        return open_plan(args.output)
    if not args.files or args.tokenizer is None:
        raise UsageError("expected files and a tokenizer (-t), or --part or --finish for a plan that is stored")
    options: dict[str, Any] = {
        name: getattr(args, name)
        for name in (
            "format eos bos dtype text_field id_field messages_field input_format document part_size empty on_error"
        ).split()
    }
    tokenizer = load_named(args.tokenizer, args.pattern)
    return plan_shards(args.files, args.output, tokenizer, allowed_special="all" if args.special else (), **options)


def _write(plan: ShardPlan, numbers: range, args: Namespace) -> Totals:
    totals = Totals()
    with reporting(progress_of(args)) as report:
        for part in run_parts(plan, numbers, threads=threads_of(plan, args.threads), report=report):
            totals += part
    return totals


def _show(args: Namespace, totals: Totals, what: str) -> None:
    if args.json:
        say_json({"output": args.output, **asdict(totals)})
    else:
        say(f"{totals}; {what}: {args.output}")


COMMAND = Command(_add_arguments, _run)
