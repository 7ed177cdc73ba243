"""`bbpe shards`: watch, check, merge and show what `bbpe shard` writes, and convert shards of any program."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

import bbpe
from bbpe.records import asdict

from . import conversion
from .command import Command, positive, whole
from .operators import add_status, add_verify, facts_of, say_facts
from .parsers import UsageError
from .streams import say, say_json


def _add_arguments(parser: ArgumentParser) -> None:
    actions = parser.add_subparsers(title="actions", metavar="ACTION", required=True)
    add_status(actions)
    add_verify(actions)
    merge = actions.add_parser("merge", help="Merge shards, in order or shuffled, into one part or more.")
    merge.add_argument("folders", nargs="+", metavar="FOLDER", help="that bbpe shard wrote, in order")
    merge.add_argument("-o", "--output", required=True, metavar="FOLDER", help="where the merged shards are written")
    merge.add_argument("--shuffle", type=whole, metavar="SEED", help="random order of documents (default: as is)")
    merge.add_argument("--shard-size", type=positive, metavar="N", help="ids of each part, about (default: one part)")
    merge.add_argument("--json", action="store_true", help="write the result as a JSON object")
    merge.set_defaults(action=_merge)
    convert = actions.add_parser("convert", help="Write the ids of shards, of any program, in another format.")
    conversion.add_arguments(convert)
    convert.set_defaults(action=conversion.run)
    show = actions.add_parser("show", help="Show what shards hold, or the text and ids of a document.")
    show.add_argument("folder", metavar="FOLDER", help="that bbpe shard wrote")
    show.add_argument("document", nargs="?", type=whole, metavar="N", help="the number of a document, from 0")
    show.add_argument("--source", action="store_true", help="show where the document comes from as well")
    show.add_argument("--json", action="store_true", help="write the result as a JSON object")
    show.set_defaults(action=_show)


def _run(args: Namespace) -> int:
    status: int = args.action(args)
    return status


def _merge(args: Namespace) -> int:
    done = bbpe.merge_shards(args.folders, args.output, shuffle=args.shuffle, shard_size=args.shard_size)
    if args.json:
        say_json({"output": args.output, **asdict(done.totals)})
    else:
        say(f"{done.totals}: {args.output}")
    return 0


def _show(args: Namespace) -> int:
    done = bbpe.load_shards(args.folder)
    if args.document is not None:
        ids = done[args.document].tolist()
        text = done.plan.tokenizer.decode(ids)
        origin = asdict(done.source(args.document)) if args.source else {}
        if args.json:
            say_json({"document": args.document, "ids": ids, "text": text, **({"source": origin} if origin else {})})
        else:
            for key, value in origin.items():
                say(f"{key:<14} {'' if value is None else value}".rstrip())
            say(" ".join(map(str, ids)))
            say(text)
        return 0
    if args.source:
        raise UsageError("--source is given without the number of a document; expected FOLDER N --source")
    if args.json:
        say_json(facts_of(done, args.folder))
    else:
        say_facts(done, args.folder)
    return 0


COMMAND = Command(_add_arguments, _run)
