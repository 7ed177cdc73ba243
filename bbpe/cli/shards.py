"""`bbpe shards`: check, merge and show what `bbpe shard` wrote."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

import bbpe
from bbpe.records import asdict

from .command import Command, load_named, positive, share, whole
from .parsers import UsageError
from .streams import say, say_json


def _add_arguments(parser: ArgumentParser) -> None:
    actions = parser.add_subparsers(title="actions", metavar="ACTION", required=True)
    verify = actions.add_parser("verify", help="Read all files and list faults; the exit status is 1 if there are any.")
    verify.add_argument("folder", metavar="FOLDER", help="that bbpe shard wrote")
    verify.add_argument("-t", "--tokenizer", metavar="NAME", help="the tokenizer that should have written them")
    verify.add_argument(
        "--sample", type=_sample, default=0.001, metavar="SHARE", help="of parts to encode again; 0 for none"
    )
    verify.add_argument("--seed", type=whole, default=0, metavar="N", help="chooses these parts (default: 0)")
    verify.set_defaults(action=_verify)
    merge = actions.add_parser("merge", help="Merge shards, in order or shuffled, into one part or more.")
    merge.add_argument("folders", nargs="+", metavar="FOLDER", help="that bbpe shard wrote, in order")
    merge.add_argument("-o", "--output", required=True, metavar="FOLDER", help="where the merged shards are written")
    merge.add_argument("--shuffle", type=whole, metavar="SEED", help="random order of documents (default: as is)")
    merge.add_argument("--shard-size", type=positive, metavar="N", help="ids of each part, about (default: one part)")
    merge.add_argument("--json", action="store_true", help="write the result as a JSON object")
    merge.set_defaults(action=_merge)
    show = actions.add_parser("show", help="Show what shards hold, or the text and ids of a document.")
    show.add_argument("folder", metavar="FOLDER", help="that bbpe shard wrote")
    show.add_argument("document", nargs="?", type=whole, metavar="N", help="the number of a document, from 0")
    show.add_argument("--source", action="store_true", help="show where the document comes from as well")
    show.add_argument("--json", action="store_true", help="write the result as a JSON object")
    show.set_defaults(action=_show)


def _sample(text: str) -> float:
    return 0.0 if text in ("0", "0.0") else share(text)


def _run(args: Namespace) -> int:
    status: int = args.action(args)
    return status


def _verify(args: Namespace) -> int:
    tokenizer = None if args.tokenizer is None else load_named(args.tokenizer)
    faults = bbpe.verify_shards(args.folder, tokenizer, sample=args.sample, seed=args.seed)
    for fault in faults:
        say(fault)
    if not faults:
        say(f"no faults: {args.folder}")
    return int(bool(faults))


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
    policy = {name: value for name, value in done.plan.policy.as_json().items() if value not in (None, [])}
    facts = {"folder": args.folder, "parts": len(done.plan), **done.plan.identity, **policy, **asdict(done.totals)}
    if args.json:
        say_json(facts)
        return 0
    for key, value in facts.items():
        say(f"{key:<14} {value}")
    return 0


COMMAND = Command(_add_arguments, _run)
