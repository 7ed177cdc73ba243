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
from .command import Command, add_threads, positive, whole
from .operators import WRITTEN, add_status, add_verify, facts_of, say_facts
from .parsers import Actions, UsageError
from .streams import add_json, add_progress, progress_of, say, say_json

_SOURCES = "Folders that `bbpe shard` wrote, in order; with weights for a mixture, such as out/web:0.6."

_BLENDED = "Folders that `bbpe shard` wrote in Megatron's format, with weights."


def _add_arguments(parser: ArgumentParser) -> None:
    actions = Actions(parser)
    add_status(actions)
    add_verify(actions)
    merge = actions.add("merge", "Merge shards, whole or as a mixture, in order or shuffled.")
    merge.add_argument("folders", nargs="+", metavar="FOLDER[:WEIGHT]", help=_SOURCES)
    merge.add_argument("-o", "--output", required=True, metavar="FOLDER", help="Where to write the merged shards.")
    most = "The tokens of a mixture, such as 100B. [default: as many as there are without repeats]"
    merge.add_argument("--tokens", type=positive, metavar="N", help=most)
    merge.add_argument("--shuffle", type=whole, metavar="SEED", help="Put documents in random order.")
    few = "What to do with a source of a mixture with too few tokens: fail, or read it more than once."
    merge.add_argument("--repeat", choices=get_args(Repeat), default="error", help=few)
    merge.add_argument("--exact", action="store_true", help="Cut a document of each source to end at the token.")
    ids = "About how many ids a part has. [default: all in one part]"
    merge.add_argument("--shard-size", type=positive, metavar="N", help=ids)
    add_threads(merge, most=4)
    add_json(merge)
    add_progress(merge)
    merge.set_defaults(action=_merge, kept="finished parts are kept: run the same command again to go on")
    convert = actions.add("convert", "Write the ids of shards, of any program, in another format.")
    conversion.add_arguments(convert)
    convert.set_defaults(action=conversion.run)
    blend = actions.add("blend", "Print Megatron's --data-path for sources with weights; copies nothing.")
    blend.add_argument("folders", nargs="+", metavar="FOLDER:WEIGHT", help=_BLENDED)
    add_json(blend)
    blend.set_defaults(action=_blend)
    show = actions.add("show", "Show what shards hold, or the text and ids of a document.")
    show.add_argument("folder", metavar="FOLDER", help=WRITTEN)
    show.add_argument("document", nargs="?", type=whole, metavar="N", help="The number of a document, from 0.")
    show.add_argument("--source", action="store_true", help="Show where the document comes from, too.")
    add_json(show)
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
        exact=args.exact, shard_size=args.shard_size, threads=args.threads, progress=progress_of(args),
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
                if value is not None:
                    say(f"{key:<14} {value}")
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
