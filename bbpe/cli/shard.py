"""`bbpe shard`: a corpus as files of ids that training reads, at once or in parts on many machines."""

from __future__ import annotations

import shlex
from argparse import ArgumentParser, ArgumentTypeError, Namespace, _ArgumentGroup
from collections.abc import Callable, Sequence
from typing import Any

from bbpe.counting.options import reporting
from bbpe.records import asdict
from bbpe.shards.estimate import estimate_shards
from bbpe.shards.formats import FORMATS
from bbpe.shards.load import Shards
from bbpe.shards.part import Totals
from bbpe.shards.plan import ShardPlan, open_plan
from bbpe.shards.run import finish_shards, plan_shards, run_parts, threads_of
from bbpe.shards.state import numbers_of
from bbpe.text import counted, sized

from .command import DOCUMENT, FILES, Command, add_special, add_threads, add_tokenizer, load_named
from .parsers import UsageError
from .streams import (
    add_field,
    add_json,
    add_on_error,
    add_progress,
    add_reading,
    named_file,
    progress_of,
    say,
    say_json,
)


def _add_arguments(parser: ArgumentParser) -> None:
    corpus = parser.add_argument_group("Corpus and tokenizer", "Not needed where --part or --finish use a stored plan.")
    corpus.add_argument("files", nargs="*", type=named_file, metavar="FILE", help=FILES)
    add_tokenizer(corpus, required=False)
    add_reading(corpus)
    add_field(corpus, "--id-field", "with the ids of documents, with olmo and parquet")
    add_field(corpus, "--messages-field", "with the messages of chats, which are written with a mask of what to learn")
    corpus.add_argument("--document", choices=("file", "line"), default="file", help=DOCUMENT)
    add_on_error(corpus)
    form = parser.add_argument_group("Shards", "What to write.")
    form.add_argument("-o", "--output", required=True, metavar="FOLDER", help=PLACE)
    form.add_argument("--format", choices=tuple(FORMATS), default="megatron", help="The format to write.")
    add_ends(form)
    add_special(form)
    add_dtype(form, "auto", "the narrowest that fits")
    add_parts(form, empty="skip")
    add_work(parser)


def add_ends(form: _ArgumentGroup) -> None:
    """Add the tokens around documents."""
    at = "each document: its text, or its id."
    form.add_argument("--eos", type=token, metavar="TOKEN", help=f"The token at the end of {at}")
    form.add_argument("--bos", type=token, metavar="TOKEN", help=f"The token at the beginning of {at}")


def add_dtype(form: _ArgumentGroup, default: str | None, says: str, option: str = "--dtype") -> None:
    """Add the type of ids; `says` describes the default."""
    how = f"The type of the ids, such as uint16. [default: {says}]"
    form.add_argument(option, default=default, metavar="TYPE", help=how)


def add_parts(form: _ArgumentGroup, *, empty: str) -> None:
    """Add the size of parts, and what they do with documents without text."""
    form.add_argument("--part-size", default="256MB", metavar="SIZE", help="About how much input a part has.")
    how = "What to do with empty documents."
    form.add_argument("--empty", choices=("skip", "keep"), default=empty, help=how)


def add_work(parser: ArgumentParser) -> None:
    """Add the options for what is done of a plan, and how."""
    work = parser.add_argument_group("Work", "By default all of it. Run the same command again to resume.")
    step = work.add_mutually_exclusive_group()
    step.add_argument("--plan-only", action="store_true", help="Save the plan, and show what it will take.")
    some = "Write these parts, such as 3,17-19; or every Nth part from part I on, as I/N with I from 0 to N - 1."
    step.add_argument("--part", type=_some, metavar="PARTS", help=some)
    step.add_argument("--finish", action="store_true", help="Sum up the parts when all are there.")
    parser.set_defaults(kept="finished parts are kept: run the same command again to go on")
    replan = "Replace a plan without a finished part, even while another run writes one."
    work.add_argument("--replan", action="store_true", help=replan)
    add_threads(work)
    add_progress(parser)
    add_json(parser)


#: Where `-o` puts shards.
PLACE = "The folder of the plan and of the shards."
#: The options for what is done of a plan, and how; all others make one.
_WORK = ("output", "part", "finish", "threads", "progress", "json")
#: The most tasks of the array that a plan proposes, and the most cores of each: one part has one reader.
_TASKS, _CORES = 64, 8


def token(text: str) -> str | int:
    """Read a token, or the id of one."""
    return int(text) if text.isascii() and text.isdigit() else text


def _some(text: str) -> Callable[[int], Sequence[int]]:
    """Read the parts to write; returns what gives their numbers, for the number of all parts."""
    first, slash, count = text.partition("/")
    if slash:
        if not (first.isdecimal() and count.isdecimal() and int(first) < int(count)):
            raise ArgumentTypeError(f"expected I/N with I from 0 to N - 1, such as 0/64, not {text!r}")
        return lambda parts: range(int(first), parts, int(count))
    try:
        numbers = numbers_of(text)
    except ValueError as error:
        raise ArgumentTypeError(f"{error}; or I/N, such as 0/64") from None
    return lambda parts: _known(numbers, parts)


def _known(numbers: list[int], parts: int) -> list[int]:
    if numbers[-1] >= parts:
        raise UsageError(f"--part names part {numbers[-1]}; the plan has {counted(parts, 'part')}, counted from 0")
    return numbers


def stored_plan(args: Namespace, instead: str) -> ShardPlan:
    """Return the plan that is stored; `UsageError` on options that make one, which need `instead`."""
    for name, option in args.parser.given.items():
        if name not in _WORK:
            problem = f"{option} makes a plan, and the stored one is used"
            raise UsageError(f"{problem}; expected {instead} with it, or neither")
    return open_plan(args.output)


def _run(args: Namespace) -> int:
    return run_steps(args, _plan)


def run_steps(args: Namespace, plan_of: Callable[[Namespace], ShardPlan]) -> int:
    """Do what is asked of the plan that `plan_of` returns, and say what was done."""
    if args.finish and args.threads is not None:
        raise UsageError("--threads is given, but --finish encodes nothing; expected it with --part or alone")
    plan = plan_of(args)
    if args.plan_only:
        _show_plan(plan, args)
        return 0
    if not args.finish:
        numbers = range(len(plan)) if args.part is None else args.part(len(plan))
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
        return stored_plan(args, "files and a tokenizer (-t)")
    if not args.files or args.tokenizer is None:
        raise UsageError("expected files and a tokenizer (-t), or --part or --finish for a plan that is stored")
    options: dict[str, Any] = {
        name: getattr(args, name)
        for name in (
            "format eos bos dtype text_field id_field messages_field input_format document part_size empty on_error"
        ).split()
    }
    tokenizer = load_named(args.tokenizer, args.pattern)
    special = "all" if args.special else ()
    return plan_shards(args.files, args.output, tokenizer, replan=args.replan, allowed_special=special, **options)


def _show_plan(plan: ShardPlan, args: Namespace) -> None:
    """Write what the plan will take, and the lines that have a cluster write it."""
    # how many ids and documents others' files have is known, and copying them takes no longer than reading
    found = None if plan.policy.reading is not None else estimate_shards(plan)
    cores = threads_of(plan, args.threads)
    tasks = min(len(plan), _TASKS)
    folder, threads = shlex.quote(str(plan.folder)), "" if args.threads is None else f" --threads {args.threads}"
    part = f"bbpe shard -o {folder} --part $SLURM_ARRAY_TASK_ID/{tasks}{threads}"
    commands = [
        # each task, and not the shell that submits them, replaces the variable
        f"sbatch --array=0-{tasks - 1} --cpus-per-task={min(cores, _CORES)} --wrap {shlex.quote(part)}",
        f"bbpe shard -o {folder} --finish",
    ]
    files = len({source.path for part in plan.parts for source in part})
    if args.json:
        facts = {"parts": len(plan), "files": files, "size": plan.size} if found is None else found.as_dict()
        say_json({"output": args.output, **facts, "commands": commands})
        return
    say(f"{counted(len(plan), 'part')}: {plan.folder}")
    lines = [f"{counted(files, 'file')}, {sized(plan.size)}"] if found is None else found.lines(cores)
    for line in [*lines, *commands]:
        say(line)


def _write(plan: ShardPlan, numbers: Sequence[int], args: Namespace) -> Totals:
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
