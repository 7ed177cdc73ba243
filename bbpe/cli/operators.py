"""`bbpe shards status`, `verify` and `show`: what an operator of a long job looks at."""

from __future__ import annotations

import sys
import time
from argparse import ArgumentTypeError, Namespace
from typing import Any

from bbpe.lazy import np
from bbpe.records import asdict, replace
from bbpe.shards.load import Shards, stored_plan
from bbpe.shards.open_parts import lens_of
from bbpe.shards.state import IDLE
from bbpe.shards.status import Lookout, ShardsStatus
from bbpe.shards.verify import verified
from bbpe.text import counted, sized

from .command import add_tokenizer, load_named, positive, share_or_none, whole
from .parsers import Actions, Parser
from .shard import COMMAND as SHARD
from .streams import add_json, add_progress, progress_of, say, say_json

#: The folder of a command that reads shards.
WRITTEN = "A folder that `bbpe shard` wrote."
#: The seconds from one look to the next.
_LOOK = 5
#: Back to the first line of a terminal, and clear it.
_CLEAR = "\x1b[H\x1b[J"
#: Numbers that are names, and numbers of bytes.
_NAMES, _BYTES = ("bos", "eos", "shuffle"), ("input", "text", "part_size")
#: The bits that a length may have, and 0; lengths that are counted at once; the longest bar.
_BITS, _BLOCK, _BAR = 33, 1 << 20, 40
#: What the totals of shards are, for readers of `bbpe shards show`.
_MEANING = {
    "records": "that were read",
    "documents": "that were written",
    "empty": "documents without text, left out",
    "null": "records without a text",
    "refused": "records that cannot be read, left out",
    "input": "bytes of files, as they are on the disk",
    "text": "bytes of text, decompressed and without markup",
    "tokens": "ids that were written",
    "unknown": "ids of text that the vocabulary lacks",
    "checked": "documents of an old vocabulary that were encoded again",
    "not_canonical": "of these have other ids",
    "left": "documents that a mixture leaves out",
    "repeated": "documents that a mixture has again",
}


def add_status(actions: Actions) -> None:
    """Add `bbpe shards status`."""
    parser = actions.add(
        "status", "Show which parts are done; the exit status is 0 if the shards are finished, else 1."
    )
    parser.add_argument("folder", metavar="FOLDER", help="A folder that `bbpe shard` plans or writes.")
    parser.add_argument(
        "--watch", nargs="?", const=_LOOK, type=positive, metavar="SECONDS",
        help=f"Look again and again until all is summed up, every {_LOOK} seconds without a number.",
    )  # fmt: skip
    idle = "After how long without a write a part counts as not running any more."
    parser.add_argument("--idle", type=_seconds, default=IDLE, metavar="SECONDS", help=idle)
    add_json(parser)
    parser.set_defaults(action=_status, kept="")


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not seconds >= 0:
        raise ArgumentTypeError(f"expected a number of seconds, at least 0, not {text!r}")
    return seconds


def _status(args: Namespace) -> int:
    lookout, last = Lookout(stored_plan(args.folder), args.idle), None
    while True:
        status = _spelled(lookout.look())
        shown = _shown(status, args)
        # a log gets a line when something has changed
        if shown != last:
            say_json(status.as_dict()) if args.json else say(shown)
            sys.stdout.flush()
        last = shown
        if args.watch is None or status.summed:
            return int(not status.summed)
        time.sleep(args.watch)


def _spelled(status: ShardsStatus) -> ShardsStatus:
    """Return a status whose failures name the options of `bbpe shard`, which failed."""
    if not status.failed:
        return status
    parser = Parser(prog="bbpe shard")
    SHARD.add_arguments(parser)
    return replace(status, failed=tuple(replace(each, message=parser.spelled(each.message)) for each in status.failed))


def _shown(status: ShardsStatus, args: Namespace) -> str:
    is_screen = args.watch is not None and not args.json and sys.stdout.isatty()
    return (_CLEAR if is_screen else "") + str(status)


def add_verify(actions: Actions) -> None:
    """Add `bbpe shards verify`."""
    parser = actions.add("verify", "Read all files and list faults; the exit status is 1 if there are any.")
    parser.add_argument("folder", metavar="FOLDER", help=WRITTEN)
    add_tokenizer(parser, required=False, pattern=None, default="that of the plan")
    again = "Encode this share of the parts again and compare the ids; 0 for none."
    parser.add_argument("--sample", type=share_or_none, default=0.001, metavar="SHARE", help=again)
    parser.add_argument("--seed", type=whole, default=0, metavar="N", help="Choose these parts by this number.")
    add_progress(parser)
    parser.set_defaults(action=_verify)


def _verify(args: Namespace) -> int:
    tokenizer = None if args.tokenizer is None else load_named(args.tokenizer)
    found = verified(args.folder, tokenizer, sample=args.sample, seed=args.seed, progress=progress_of(args))
    for fault in found.faults:
        say(args.parser.spelled(fault, [args.folder]))
    if found.repair:
        say(f"repair: {found.repair}")
    say(f"{'checked' if found.faults else 'no faults'}: {args.folder}: {found.checked}")
    return int(bool(found.faults))


def facts_of(done: Shards, folder: str) -> dict[str, Any]:
    """Return what `bbpe shards show` tells of shards, by its names."""
    policy = {name: value for name, value in done.plan.policy.as_json().items() if value not in (None, [])}
    # what there is says more than what was wanted
    mixture = {} if policy.pop("mixture", None) is None or done.mixture is None else {"mixture": done.mixture.as_dict()}
    facts = {"folder": folder, "parts": len(done.plan), **done.plan.identity, **policy, **asdict(done.totals)}
    return {**facts, **mixture, "lengths": _lengths(done)}


def _lengths(done: Shards) -> list[dict[str, int]]:
    """Return how many documents have how many ids, by powers of two, from the shortest to the longest."""
    counts = np.zeros(_BITS, np.int64)
    for number in range(len(done.plan)):
        lengths = lens_of(done.plan, number)
        for start in range(0, len(lengths), _BLOCK):
            # the exponent is the number of bits, and a double holds any length
            bits = np.frexp(lengths[start : start + _BLOCK].astype(np.float64))[1]
            counts += np.bincount(bits, minlength=_BITS)
    found = np.flatnonzero(counts)
    return [
        {"first": (1 << bits) // 2, "last": max((1 << bits) - 1, 0), "documents": int(counts[bits])}
        for bits in (range(int(found[0]), int(found[-1]) + 1) if len(found) else ())
    ]


def say_facts(done: Shards, folder: str) -> None:
    """Write what shards hold, with what the numbers mean, and how long documents are."""
    facts = facts_of(done, folder)
    rows = facts.pop("lengths")
    facts.pop("mixture", None)
    for key, value in facts.items():
        if value is None:
            continue
        if key == "merged":
            value = f"{counted(len(value), 'folder')}; the options are those of the first"
        is_number = isinstance(value, int) and not isinstance(value, bool)
        words = [f"{value:,}" if is_number and key not in _NAMES else str(value)]
        words += [f"({sized(value)})"] if key in _BYTES and value >= 1000 else []
        words += [f" {_MEANING[key]}"] if key in _MEANING else []
        say(f"{key:<14} {' '.join(words)}")
    most = max((row["documents"] for row in rows), default=0)
    for row in rows:
        span = f"{row['first']:,}" if row["first"] == row["last"] else f"{row['first']:,} to {row['last']:,}"
        length = f"{span} {'token' if row['last'] == 1 else 'tokens'}"
        say(f"{length:>30} {row['documents']:>15,}  {'#' * -(-_BAR * row['documents'] // most)}".rstrip())
    if done.mixture is not None:
        say(f"\n{done.mixture}")
