"""`bbpe counts`: add up saved counts, and show what they hold."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from functools import reduce
from operator import add

import bbpe
from bbpe.counting.counts import COUNTS, PretokenCounts
from bbpe.records import asdict
from bbpe.report.terminal import line_columns, wrapped
from bbpe.text import counted, shortened

from .command import Command, add_pattern, number, positive
from .outputs import check_output, inputs_of
from .parsers import Actions, UsageError
from .streams import add_json, named_file, say, say_json


def _add_arguments(parser: ArgumentParser) -> None:
    actions = Actions(parser)
    merge = actions.add("merge", "Add up saved counts; the order of the files is that of the corpus.")
    merge.add_argument("files", nargs="+", type=named_file, metavar="FILE", help="Files that `bbpe count` saved.")
    merge.add_argument("-o", "--output", required=True, metavar="PATH", help="Where to save the sum, as Parquet.")
    weight = "How often to count a file; one for each file, in their order."
    merge.add_argument("--weight", action="append", type=number, metavar="W", help=weight)
    _add_kind(merge)
    merge.set_defaults(action=_merge)
    show = actions.add("show", "Show what a file of counts holds.")
    show.add_argument("file", type=named_file, metavar="FILE", help="A file that `bbpe count` saved.")
    most = "How many of the most common pretokens to show."
    show.add_argument("--top", type=positive, default=10, metavar="N", help=most)
    _add_kind(show)
    show.set_defaults(action=_show)


def _add_kind(parser: ArgumentParser) -> None:
    add_pattern(parser, "The split pattern of files without one, which other engines write.")
    add_json(parser)


def _run(args: Namespace) -> int:
    status: int = args.action(args)
    return status


def _merge(args: Namespace) -> int:
    check_output(args.output, "the sum", inputs_of(named=args.files), suffixes=COUNTS)
    if args.weight and len(args.weight) != len(args.files):
        times = "once" if len(args.weight) == 1 else counted(len(args.weight), "time")
        raise UsageError(f"--weight is given {times} for {counted(len(args.files), 'file')}; expected one for each")
    counts = reduce(add, (_load(args, number) for number in range(len(args.files))))
    counts.save(args.output)
    if args.json:
        say_json({"output": args.output, **asdict(counts.summary)})
    else:
        say(f"{counts.summary}; saved {args.output}")
    return 0


def _load(args: Namespace, number: int) -> PretokenCounts:
    counts = bbpe.load_counts(args.files[number], pattern=args.pattern)
    return counts.scale(args.weight[number]) if args.weight else counts


def _show(args: Namespace) -> int:
    counts = bbpe.load_counts(args.file, pattern=args.pattern)
    top = [(pretoken.decode("utf-8", "backslashreplace"), count) for pretoken, count in counts.most_common(args.top)]
    facts = {
        "file": args.file,
        "pattern": counts.pattern,
        "unicode": counts.spec.unicode,
        "special_tokens": list(counts.special_tokens),
        "document": counts.document,
        **asdict(counts.summary),
    }
    if args.json:
        say_json({**facts, "most_common": top})
        return 0
    for key, value in facts.items():
        for line in wrapped(f"{key:<14} {value}", line_columns(), 15):
            say(line)
    for pretoken, count in top:
        say(f"{count:>14,} {shortened(pretoken, 60, quoted=True)}")
    return 0


COMMAND = Command(_add_arguments, _run)
