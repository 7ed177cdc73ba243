"""`bbpe shards`: watch, check, merge, mix and show what `bbpe shard` writes, and convert shards of any program."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import Any, get_args

import bbpe
from bbpe.records import asdict
from bbpe.shards.merge import Repeat
from bbpe.text import counted

from . import conversion
from .command import Command, positive, tokens, whole
from .operators import add_status, add_verify, facts_of, say_facts
from .parsers import UsageError
from .streams import say, say_json

_SOURCES = "that bbpe shard wrote, in order; FOLDER:WEIGHT for a mixture, such as out/web:0.6"


def _add_arguments(parser: ArgumentParser) -> None:
    actions = parser.add_subparsers(title="actions", metavar="ACTION", required=True)
    add_status(actions)
    add_verify(actions)
    merge = actions.add_parser("merge", help="Merge shards, whole or as a mixture, in order or shuffled.")
    merge.add_argument("folders", nargs="+", metavar="FOLDER[:WEIGHT]", help=_SOURCES)
    merge.add_argument("-o", "--output", required=True, metavar="FOLDER", help="where the merged shards are written")
    most = "of a mixture, such as 100B (default: as many as there are without repeating a document)"
    merge.add_argument("--tokens", type=tokens, metavar="N", help=most)
    merge.add_argument("--shuffle", type=whole, metavar="SEED", help="random order of documents (default: as is)")
    few = "a source of a mixture with too few tokens: an error (the default), or read it more than once"
    merge.add_argument("--repeat", choices=get_args(Repeat), default="error", help=few)
    merge.add_argument("--exact", action="store_true", help="cut one document of each source to end at the token")
    merge.add_argument("--shard-size", type=tokens, metavar="N", help="ids of each part, about (default: one part)")
    merge.add_argument("--threads", type=positive, metavar="N", help="(default: one for each core, at most 4)")
    merge.add_argument("--json", action="store_true", help="write the result as a JSON object")
    merge.set_defaults(action=_merge)
    convert = actions.add_parser("convert", help="Write the ids of shards, of any program, in another format.")
    conversion.add_arguments(convert)
    convert.set_defaults(action=conversion.run)
    blend = actions.add_parser("blend", help="Print Megatron's --data-path for sources with weights; copies nothing.")
    blend.add_argument("folders", nargs="+", metavar="FOLDER:WEIGHT", help="that bbpe shard wrote in Megatron's format")
    blend.add_argument("--json", action="store_true", help="write the weights and the paths as a JSON object")
    blend.set_defaults(action=_blend)
    show = actions.add_parser("show", help="Show what shards hold, or the text and ids of a document.")
    show.add_argument("folder", metavar="FOLDER", help="that bbpe shard wrote")
    show.add_argument("document", nargs="?", type=whole, metavar="N", help="the number of a document, from 0")
    show.add_argument("--source", action="store_true", help="show where the document comes from as well")
    show.add_argument("--json", action="store_true", help="write the result as a JSON object")
    show.set_defaults(action=_show)


def _run(args: Namespace) -> int:
    status: int = args.action(args)
    return status


def _sources(names: list[str], *, needs_weights: bool = False) -> Any:
    """Return folders, or pairs of a folder and its weight, as names of the command line have them."""
    found = [_source(name) for name in names]
    if len({isinstance(source, str) for source in found}) > 1:
        bare = next(source for source in found if isinstance(source, str))
        raise UsageError(f"{bare} has no weight, and others have one; give {bare}:WEIGHT, or no weights")
    if needs_weights and isinstance(found[0], str):
        raise UsageError(f"{found[0]} has no weight; give {found[0]}:WEIGHT")
    return found


def _source(name: str) -> str | tuple[str, float]:
    """Return a folder, or a folder and its weight; of a folder whose name ends like a weight, only the folder."""
    folder, colon, weight = name.rpartition(":")
    if not colon or not folder:
        return name
    is_there = [Path(each).is_dir() for each in (name, folder)]
    number = _weight(weight)
    if number is None:
        if is_there == [False, True]:
            expected = f"expected a number above 0, as in {folder}:0.6"
            raise UsageError(f"{name}: {weight!r} is no weight; {expected}")
        # such as a drive of Windows
        return name
    if all(is_there):
        raise UsageError(f"{name} is a folder, and so is {folder}; give {name}:WEIGHT for the one, or rename it")
    return name if is_there[0] else (folder, number)


def _weight(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if 0 < number < float("inf") else None


def _merge(args: Namespace) -> int:
    done = bbpe.merge_shards(
        _sources(args.folders), args.output, tokens=args.tokens, shuffle=args.shuffle, repeat=args.repeat,
        exact=args.exact, shard_size=args.shard_size, threads=args.threads,
    )  # fmt: skip
    if args.json:
        mixture = {} if done.mixture is None else {"mixture": done.mixture.as_dict()}
        say_json({"output": args.output, **asdict(done.totals), **mixture})
        return 0
    if done.mixture is not None:
        say(str(done.mixture))
    say(f"{done.totals}: {args.output}")
    return 0


def _blend(args: Namespace) -> int:
    blend = bbpe.blend_shards(_sources(args.folders, needs_weights=True))
    if args.json:
        say_json(blend.as_dict())
    else:
        say(str(blend))
    return 0


def _show(args: Namespace) -> int:
    done = bbpe.load_shards(args.folder)
    if args.document is not None:
        if args.document >= len(done):
            had = counted(len(done), "document")
            raise UsageError(f"N is {args.document}; {args.folder} has {had}, counted from 0")
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
